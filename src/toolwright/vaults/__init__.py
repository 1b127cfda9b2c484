"""Credentials for other servers: sealed at rest, matched by address, opened at the last moment."""
