"""Built-in tools with fewer parameters, as some toolsets offer them; those they stand for do the work."""
