"""Patterns over absolute paths: ``*`` stays within a name, ``**`` goes down any number of folders (pure)."""

import posixpath
import re
from functools import lru_cache


@lru_cache(maxsize=1024)
def place_pattern(pattern: str, *, cwd: str, home: str) -> re.Pattern[str]:
    """Return what matches the paths that a pattern means. Relative ones start where the session does.

    A pattern that ends with ``/**`` also means the folder itself.
    """
    if pattern == "~" or pattern.startswith("~/"):
        pattern = home + pattern[1:]
    whole = posixpath.join(cwd, pattern)
    below = whole.endswith("/**")
    body = _body(whole.removesuffix("/**") if below else whole)
    return re.compile(f"{body}(?:/.*)?" if below else body, re.DOTALL)


def _body(pattern: str) -> str:
    pieces: list[str] = []
    for part in re.split(r"(\*\*/|\*\*|\*|\?)", pattern):
        match part:
            case "**/":
                pieces.append("(?:.*/)?")
            case "**":
                pieces.append(".*")
            case "*":
                pieces.append("[^/]*")
            case "?":
                pieces.append("[^/]")
            case _:
                pieces.append(re.escape(part))
    return "".join(pieces)
