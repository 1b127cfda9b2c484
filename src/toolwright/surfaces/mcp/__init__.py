"""The engine as a server of tools: what it has is offered to other agents over the Model Context Protocol."""
