"""Identifiers: a type prefix and 128 random bits, never sequential."""

import secrets

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"


def new_id(prefix: str) -> str:
    """Return a fresh id such as ``call_3k2…``; the suffix holds at least 128 random bits."""
    return f"{prefix}_{secrets.token_hex(16)}"


def new_task_id(kind: str) -> str:
    """Return a background task id: one letter for the kind and eight base-36 characters."""
    return kind + "".join(secrets.choice(_ALPHABET) for _ in range(8))
