"""Files named in a message: ``Look at @src/app.py`` (pure)."""

import re
from collections.abc import Callable, Iterable, Sequence
from heapq import nsmallest

_MENTION = re.compile(r'(?<![^\s(\[{])@(?:"([^"\n]+)"|([^\s"]\S*))')
_BEGUN = re.compile(r'(?<![^\s(\[{])@(?:"([^"\n]*)|([^\s"]*))\Z')
_AFTERWARDS = ".,;:!?)]}'\""


def mentioned(text: str, exists: Callable[[str], bool]) -> Sequence[str]:
    """Return the files that a message names and that there are, each once, in their order.

    A full stop or bracket behind a name does not belong to it, unless the file is named so.
    """
    found: dict[str, None] = {}
    for quoted, plain in _MENTION.findall(text):
        spellings = (quoted,) if quoted else (plain, plain.rstrip(_AFTERWARDS))
        path = next((path for path in spellings if path and exists(path)), None)
        if path is not None:
            found[path] = None
    return list(found)


def begun(text: str) -> str | None:
    """Return what is typed of a file's name right before the cursor; None when none is being typed."""
    found = _BEGUN.search(text)
    return None if found is None else found[1] if found[1] is not None else found[2]


def written(path: str) -> str:
    """Return a path as it is named in a message."""
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"


def ranked(paths: Iterable[str], typed: str, most: int) -> Sequence[str]:
    """Return the paths that hold the letters typed in their order, the likeliest first."""
    scored = ((score, path) for path in paths if (score := _score(path, typed)) is not None)
    return [path for _, path in nsmallest(most, scored)]


def _score(path: str, typed: str) -> tuple[int, int, int] | None:
    """The smaller, the likelier: in the file's own name before folders, in one piece before scattered."""
    path, typed = path.casefold(), typed.casefold()
    name = path.rsplit("/", 1)[-1]
    ways = (name.startswith(typed), path.startswith(typed), typed in name, typed in path)
    kind = next((place for place, fits in enumerate(ways) if fits), None)
    if kind is None:
        letters = iter(path)
        if not all(letter in letters for letter in typed):
            return None
        kind = len(ways)
    return kind, path.count("/"), len(path)
