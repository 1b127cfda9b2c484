"""What time it is."""
