"""The Engine API: tasks that are executed, followed as server-sent events, and answered by people."""
