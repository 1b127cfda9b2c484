"""Places to run programs in: bubblewrap, none at all, and a scripted one for tests."""
