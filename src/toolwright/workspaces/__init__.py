"""Where tools act: roots, race-free files, what was read, which hosts may be reached."""
