"""Agents that agents start, without sessions: for tests, and to look at tools with."""
