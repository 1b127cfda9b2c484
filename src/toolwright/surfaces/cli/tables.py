"""Where commands print tables and lists for people."""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH_OF_A_FILE = 200


def console() -> "Console":
    """Standard output. What is printed is never read as markup, and not folded for a narrow pipe."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDTH_OF_A_FILE
    return Console(highlight=False, markup=False, emoji=False, width=width)
