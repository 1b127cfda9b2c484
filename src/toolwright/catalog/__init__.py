"""What has been defined in files: agents, and the context a project gives them."""
