"""The Managed Agents dialect: agents, environments, sessions and what belongs to them, under ``/v1``."""
