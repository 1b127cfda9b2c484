"""What can be swapped. Each folder fits one port and knows only ``contracts``."""
