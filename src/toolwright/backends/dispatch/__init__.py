"""Who works on which session."""
