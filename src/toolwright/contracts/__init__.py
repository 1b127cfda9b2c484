"""The hallway: words and ports. No logic beyond construction, no I/O, nothing of ours imported."""
