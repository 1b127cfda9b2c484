"""Where notes are kept: in memory, or in a SQLite file with an index of words."""
