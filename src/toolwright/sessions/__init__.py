"""Durable conversations: the log of each, what is known from it, and who works on it."""
