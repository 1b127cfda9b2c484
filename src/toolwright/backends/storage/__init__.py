"""Places that keep the logs of sessions."""
