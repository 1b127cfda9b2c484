"""What a person accepted of MCP servers, kept."""
