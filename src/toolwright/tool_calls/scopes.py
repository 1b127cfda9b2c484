"""Scopes that can be left early, made without asking each time which event loop is running."""

from functools import cache

import anyio


def cancel_scope() -> anyio.CancelScope:
    """Return a new cancel scope. On a running event loop only."""
    return _of_this_loop()()


@cache
def _of_this_loop() -> type[anyio.CancelScope]:
    return type(anyio.CancelScope())
