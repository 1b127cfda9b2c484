"""The tools that ship. One tool is one ``.py`` and one ``.md``; its path is its canonical name."""
