"""The gate for outgoing connections: a guarded client, a filtering proxy for sandboxes, an in-memory one."""
