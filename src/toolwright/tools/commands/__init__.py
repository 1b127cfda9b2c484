"""What tools that run programs share: setting a command up, following it, wording how it ended."""
