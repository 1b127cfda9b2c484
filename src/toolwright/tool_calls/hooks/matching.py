"""Which tools a hook speaks of, and what a further condition is asked."""

import re
from collections.abc import Callable, Iterable

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.hooks import HookInput

ConditionMatches = Callable[[str, HookInput], bool]
"""Whether a permission rule, written as text, speaks of the call in an event."""

_LIST_OF_NAMES = re.compile(r"[A-Za-z0-9_\-,|\s]*")
_SEPARATORS = re.compile(r"[,|]")


def name_test(matcher: str) -> Callable[[Iterable[str]], bool]:
    """Return a test over all names of a tool.

    Empty or ``*`` takes every tool, plain words are exact names separated by ``|`` or commas, and
    anything else is a regular expression searched for anywhere. May raise SettingsError.
    """
    if matcher.strip() in {"", "*"}:
        return lambda _: True
    if _LIST_OF_NAMES.fullmatch(matcher):
        wanted = frozenset(name.strip() for name in _SEPARATORS.split(matcher))
        return lambda names: any(name in wanted for name in names)
    try:
        pattern = re.compile(matcher)
    except re.error as error:
        raise SettingsError(f"The hook matcher {matcher!r} is no regular expression: {error}.") from error
    return lambda names: any(pattern.search(name) for name in names)
