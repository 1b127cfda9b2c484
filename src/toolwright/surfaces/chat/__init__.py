"""Talking to a session at a terminal. What is decided here is decided by pure functions; the rim draws it."""
