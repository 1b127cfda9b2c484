"""Everything a command line would run, seen through wrappers and scripts, for rules that deny or ask."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from toolwright.shell.analysis import Walk
from toolwright.shell.evaluated import command_texts, declared, evaluates_unknown, hidden_texts
from toolwright.shell.operands import FileAccess, Operand, operands_of
from toolwright.shell.patterns import collapsed
from toolwright.shell.scripts import BASH_RUNS, portable, scripts_of, without_git_options
from toolwright.shell.units import Analysis, Assignment, Flag, Redirect, Trails, Unit, Word
from toolwright.shell.whole import is_free
from toolwright.shell.wrappers import MAX_GUESSES, peeled, program_name

MAX_DEPTH = 12
MAX_WORDS = 20_000
"""Words looked at in one command before the rest is left to the coarse scan."""

_OPAQUE_FLAGS = frozenset({Flag.COMPLEX_EXPANSION, Flag.ARITHMETIC, Flag.CODE_VARIABLE})


@dataclass(frozen=True, slots=True)
class Reached:
    """One program that would run: directly, inside a wrapper, or inside a script."""

    words: tuple[Word, ...]
    trails: Trails
    unit: Unit | None = None
    """The unit itself where nothing had to be peeled."""
    assignments: tuple[Assignment, ...] = ()


@dataclass
class Reach:
    """What a command reaches. ``opaque`` means that some of it cannot be known."""

    programs: list[Reached] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    """Texts that could not be parsed; only the coarse scan applies."""
    opaque: bool = False
    _words: int = 0

    @cached_property
    def spelled(self) -> "tuple[tuple[Reached, tuple[str, ...]], ...]":
        """Every program with its spellings."""
        return tuple((reached, spellings(reached)) for reached in self.programs)

    @cached_property
    def files(self) -> tuple[tuple[Operand, Trails], ...]:
        """Every file that recognised programs and redirects would reach, and from where."""
        named = [
            (operand, reached.trails)
            for reached in self.programs
            if reached.words
            for operand in operands_of(reached.words)
        ]
        for redirect in self.redirects:
            if redirect.target is not None and redirect.heredoc is None and not is_free(redirect):
                access: FileAccess = "read" if redirect.reads else "write"
                named.append((Operand(redirect.target, access), redirect.trails))
        return tuple(named)

    def add(self, unit: Unit, depth: int) -> None:
        """Follow one unit through wrappers and scripts."""
        self.redirects.extend(unit.redirects)
        self.programs.append(Reached(unit.words, unit.trails, unit, unit.assignments))
        self._look_for_code(unit.words, unit.assignments, unit, depth)
        if unit.words:
            self._follow(unit.words, unit, depth)

    def _look_for_code(
        self, words: tuple[Word, ...], assignments: tuple[Assignment, ...], unit: Unit, depth: int
    ) -> None:
        """Find code in plain text: a builtin evaluates its words behind ``command`` or ``time`` too."""
        assignments = (*assignments, *declared(words))
        for text in hidden_texts(words, assignments):
            self._give_up(text)
        self.opaque = self.opaque or evaluates_unknown(words, assignments)
        for value in command_texts(assignments):
            self.opaque = self.opaque or not value.literal
            if value.spelled:
                self._script(value.spelled.removeprefix("!"), unit, depth + 1)

    def _follow(self, words: tuple[Word, ...], unit: Unit, depth: int) -> None:
        if not words[0].literal:
            self.opaque = True
            return
        if unit.kind == "test":
            return
        if depth > MAX_DEPTH or self._words > MAX_WORDS:
            self._give_up(unit.source)
            return
        inside = peeled(words)
        guesses = inside.inner if inside is not None else ()
        if inside is not None:
            self._look_for_code((), inside.assignments, unit, depth)
        if len(guesses) >= MAX_GUESSES:
            self._give_up(unit.source)
        for inner in guesses:
            self._program(inner, unit, depth)
        scripts = scripts_of(words, unit.redirects)
        self.opaque = self.opaque or scripts.opaque
        for inner in scripts.inner:
            self._program(inner, unit, depth)
        foreign = program_name(words) not in BASH_RUNS
        for text in scripts.texts:
            if foreign and not portable(text):
                self._give_up(text)
            self._script(text, unit, depth + 1)
        if program_name(words) == "git":
            bare = without_git_options(words)
            if len(bare) != len(words):
                self.programs.append(Reached(bare, unit.trails))

    def _give_up(self, text: str) -> None:
        """Leave a text to the coarse scan, which has no limits."""
        self.opaque = True
        if text not in self.loose:
            self.loose.append(text)

    def _program(self, words: tuple[Word, ...], unit: Unit, depth: int) -> None:
        self._words += len(words)
        if self._words > MAX_WORDS:
            self._give_up(unit.source)
            return
        self.programs.append(Reached(words, unit.trails))
        self._look_for_code(words, (), unit, depth)
        self._follow(words, unit, depth + 1)

    def _script(self, text: str, outer: Unit, depth: int) -> None:
        """Follow a script given as text; what the outer program may read, the programs in it may read too."""
        self._words += len(text) // 4
        if depth > MAX_DEPTH or self._words > MAX_WORDS:
            self._give_up(text)
            return
        walk = Walk(text, trails=outer.trails).run()
        if not walk.parsable:
            self._give_up(text)
        self.opaque = self.opaque or bool(walk.flags & _OPAQUE_FLAGS)
        self.redirects.extend(walk.group_redirects)
        documents = tuple(
            replace(redirect, inherited=True) for redirect in outer.redirects if redirect.heredoc is not None
        )
        for unit in walk.units:
            self.add(replace(unit, redirects=(*unit.redirects, *documents)) if documents else unit, depth)


def reach(analysis: Analysis) -> Reach:
    """Everything the command would run."""
    found = Reach(redirects=list(analysis.group_redirects))
    if not analysis.parsable:
        found.loose.append(analysis.command)
    found.opaque = not analysis.parsable or bool(analysis.flags & _OPAQUE_FLAGS)
    for unit in analysis.units:
        found.add(unit, 0)
    return found


def spellings(reached: Reached) -> tuple[str, ...]:
    """Every way of writing a reached program that a rule may name it by, blanks collapsed."""
    return tuple(dict.fromkeys(collapsed(text) for text in dict.fromkeys(_texts(reached))))


def _texts(reached: Reached) -> Iterator[str]:
    words = reached.words
    if words:
        resolved = [word.spelled if word.text is None else word.text for word in words]
        yield " ".join(resolved)
        if "/" in resolved[0]:
            yield " ".join((resolved[0].rsplit("/", 1)[-1], *resolved[1:]))
        yield " ".join([word.source for word in words])
    if reached.unit is not None:
        yield reached.unit.source
    if reached.assignments:
        before = " ".join(assignment.source for assignment in reached.assignments)
        yield " ".join((before, *(word.source for word in words)))


def known_start(reached: Reached) -> str | None:
    """The text before the first word that only the shell knows; None when all words are known."""
    known: list[str] = []
    for word in reached.words:
        if word.text is None:
            if not known:
                return None
            head = word.shape.split("\x00", 1)[0] if "\x00" in word.shape else ""
            return collapsed(" ".join(known)) + " " + head
        known.append(word.text if known else word.text.rsplit("/", 1)[-1])
    return None
