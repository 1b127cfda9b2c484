"""How files of each kind become something a model can read. Everything here blocks."""
