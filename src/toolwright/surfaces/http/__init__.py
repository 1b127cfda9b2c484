"""The doors over HTTP: each dialect translates its requests, answers and events, and decides nothing."""
