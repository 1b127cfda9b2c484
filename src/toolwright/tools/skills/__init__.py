"""Skills at work: run as calls, and offered as tools of their own."""
