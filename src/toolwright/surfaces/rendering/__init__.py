"""Views drawn for a terminal, for a log, for a machine."""
