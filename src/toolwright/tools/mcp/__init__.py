"""Servers that offer tools over the Model Context Protocol, as a client sees them."""
