"""What an analysed command consists of: units, words, redirects, and warnings about the whole."""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Literal


class Dynamic(Enum):
    """Why a word has no fixed text."""

    STATUS = auto()
    """``$?`` and its like: always a number."""
    PARAMETER = auto()
    SUBSTITUTION = auto()
    COMPLEX = auto()
    ARITHMETIC = auto()
    BRACE = auto()
    GLOB = auto()
    TILDE = auto()


class Flag(Enum):
    """Something about the whole command that keeps it from being allowed automatically."""

    FUNCTION = auto()
    ARITHMETIC = auto()
    COMPLEX_EXPANSION = auto()
    LOOP_VARIABLE = auto()
    CODE_VARIABLE = auto()
    TOO_LONG = auto()
    TOO_MANY_UNITS = auto()
    CONTROL_CHARACTERS = auto()


HOLE = "\x00"
"""Stands in ``Word.shape`` for an expansion whose value is unknown."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word. ``text`` is what the program receives, or None when only the shell can know."""

    source: str
    text: str | None
    shape: str
    """Quotes removed; expansions are holes; unquoted wildcards, braces and tildes stay as written."""
    spelled: str
    """Quotes removed; expansions as written."""
    kinds: frozenset[Dynamic] = frozenset()

    @property
    def literal(self) -> bool:
        return self.text is not None


def plain_word(text: str) -> Word:
    """A word that needs no quotes."""
    return Word(text, text, text, text)


def value_of(word: Word) -> Word:
    """What stands behind the first ``=`` of a word."""
    text = word.text.partition("=")[2] if word.text is not None else None
    shape, spelled = word.shape.partition("=")[2], word.spelled.partition("=")[2]
    return Word(word.source, text, shape, spelled, word.kinds)


UNKNOWN_WORD = Word("$?", None, HOLE, HOLE, frozenset({Dynamic.PARAMETER}))
"""A word that will exist when the command runs, of which nothing is known (``xargs`` adds such)."""


@dataclass(frozen=True, slots=True)
class Assignment:
    name: str
    source: str
    value: Word


def assignment_in(word: Word) -> Assignment:
    """What a word such as ``name=value`` sets; the value is empty where there is no ``=``."""
    return Assignment(word.shape.partition("=")[0].removesuffix("+"), word.source, value_of(word))


Trail = tuple[str, ...]
"""The targets of ``cd`` on the way to a directory; empty where the command line started."""

Trails = frozenset[Trail] | None
"""Every directory a command may run in; None when that cannot be known."""

START: Trails = frozenset({()})


@dataclass(frozen=True, slots=True)
class Heredoc:
    """A here-document or here-string: data for most programs, a script for a shell."""

    body: str
    literal: bool
    """Whether nothing in the body is expanded, so that it is what the program reads."""


@dataclass(frozen=True, slots=True)
class Redirect:
    operator: str
    descriptor: str
    target: Word | None
    source: str
    heredoc: Heredoc | None = None
    trails: Trails = START
    inherited: bool = False
    """Written on something around the command; a pipe in between may have replaced it."""

    @property
    def reads(self) -> bool:
        """Whether the target is read, not written."""
        return self.operator in {"<", "<&"}


UnitKind = Literal["command", "declaration", "assignment", "test"]


@dataclass(frozen=True, slots=True)
class Unit:
    """One simple command anywhere in a command line."""

    kind: UnitKind
    source: str
    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    trails: Trails = START

    @property
    def program(self) -> str | None:
        """The literal name of the program, with its directory if one was written."""
        return self.words[0].text if self.words else None


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything that can be said about a command without running it."""

    command: str
    units: tuple[Unit, ...]
    group_redirects: tuple[Redirect, ...] = ()
    """Redirects of lists, loops and sub-shells; those of units are with the units."""
    flags: frozenset[Flag] = field(default_factory=frozenset)
    parsable: bool = True
    background: bool = False

    @property
    def redirects(self) -> tuple[Redirect, ...]:
        own = tuple(redirect for unit in self.units for redirect in unit.redirects)
        return self.group_redirects + own
