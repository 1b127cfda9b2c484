"""Fields of the files of a catalog: each is read by a function that says what is wrong with it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from toolwright.catalog.values import shown

_IGNORED: Final = frozenset({"$schema", "$comment"})


class Unfit(ValueError):
    """A file says what cannot be meant. ``code`` is a stable word for it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Fields:
    """The members of one object, read one after the other; what nobody reads is told at the end."""

    def __init__(self, data: Mapping[str, Any], where: str = "") -> None:
        self._data = data
        self._where = where
        self._read: set[str] = set()

    def need(self, name: str, kind: "Kind") -> Any:
        """Return a member that must be there. May raise Unfit."""
        if name not in self._data:
            raise Unfit("missing_field", f"{self._path(name)} is missing")
        return self.get(name, kind)

    def get(self, name: str, kind: "Kind", default: Any = None) -> Any:
        """Return a member, or the default where it is not there. May raise Unfit."""
        self._read.add(name)
        if name not in self._data:
            return default
        try:
            return kind(self._data[name])
        except Unfit as problem:
            raise Unfit(problem.code, f"{self._path(name)} {problem}") from None

    def skip(self, *names: str) -> None:
        """Leave members to others."""
        self._read.update(names)

    def unread(self) -> tuple[str, ...]:
        """Say which members nobody knows."""
        names = sorted(set(self._data) - self._read - _IGNORED)
        return tuple(f"{self._path(name)} is not known here and counts for nothing" for name in names)

    def _path(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name


Kind = Callable[[Any], Any]


def text(value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise Unfit("invalid_field", f"takes a text, not {shown(value)}")
    return value


def filled(value: Any) -> str:
    """A text that is not empty."""
    if not text(value).strip():
        raise Unfit("invalid_field", "is empty")
    return str(value)


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise Unfit("invalid_field", f"takes true or false, not {shown(value)}")
    return value


def texts(value: Any) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Unfit("invalid_field", f"takes a list of texts, not {shown(value)}")
    return tuple(value)


def one_or_more(value: Any) -> tuple[str, ...]:
    """A text, or a list of texts."""
    return (value,) if isinstance(value, str) else texts(value)


def mapping(value: Any) -> Mapping[str, Any]:
    """An object."""
    if not isinstance(value, dict):
        raise Unfit("invalid_field", f"takes an object, not {shown(value)}")
    return value


def one_of(*words: str) -> Kind:
    """One of some words."""

    def read(value: Any) -> str:
        if value not in words:
            raise Unfit("invalid_field", f"takes one of {', '.join(words)}, not {shown(value)}")
        return str(value)

    return read
