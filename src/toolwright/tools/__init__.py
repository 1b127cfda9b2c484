"""What can be called: defining tools, naming them, and deciding which are offered."""
