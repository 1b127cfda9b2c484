"""Which absolute paths the words of a command mean, in every directory the command may run in."""

import os.path
from dataclasses import dataclass
from itertools import pairwise

from toolwright.contracts.permissions import Mode, RuleSet
from toolwright.shell.reach import Reach
from toolwright.shell.units import HOLE, Dynamic, Trails, Word
from toolwright.tool_calls.permissions.subject import PathJudge

_HOMES = ("~", "$HOME", "${HOME}")
_HERE = ("$PWD", "${PWD}")
_NOT_LITERAL = frozenset({Dynamic.TILDE, Dynamic.GLOB, Dynamic.PARAMETER})


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a command is judged against."""

    rules: RuleSet
    paths: PathJudge
    mode: Mode
    cwd: str
    home: str

    @property
    def bare(self) -> bool:
        """Whether a rule allows the whole shell."""
        return any(rule.content is None for rule in self.rules.allow)


@dataclass(frozen=True, slots=True)
class Places:
    """The paths a word may mean. ``certain`` fails where links or an unknown directory could change them."""

    paths: tuple[str, ...]
    certain: bool


def places(text: str, trails: Trails, setting: Setting) -> Places:
    """Where a literal path leads from every directory the command may be in."""
    directories = [_directory(trail, setting) for trail in trails or ((),)]
    joined = [os.path.join(directory, text) for directory in directories]
    known = trails is not None or text.startswith("/")
    climbs = any(_climbs(path, setting.cwd) for path in joined)
    found = dict.fromkeys(_normal(path) for path in joined)
    return Places(tuple(found), known and not climbs and "\x00" not in text)


def _directory(trail: tuple[str, ...], setting: Setting) -> str:
    directory = setting.cwd
    for target in trail:
        if target.startswith("~"):
            target = setting.home + target[1:]
        directory = _normal(os.path.join(directory, target))
    return directory


def _normal(path: str) -> str:
    return "/" + os.path.normpath(path.replace("\x00", "\ufffd")).lstrip("/")


def _climbs(path: str, cwd: str) -> bool:
    """Whether ``..`` stands behind a name that may be a link; behind the working directory it is plain."""
    rest = path.removeprefix(cwd)
    parts = [part for part in rest.split("/") if part not in {"", "."}]
    return any(part == ".." and before != ".." for before, part in pairwise(parts))


def guessed(word: Word, trails: Trails, setting: Setting) -> tuple[str, ...]:
    """The paths a word means as far as can be told, for rules that refuse."""
    if word.text is not None:
        return places(word.text, trails, setting).paths
    if not word.kinds <= _NOT_LITERAL:
        return ()
    text = _spelled_out(word, setting)
    return () if HOLE in text else places(text, trails, setting).paths


def _spelled_out(word: Word, setting: Setting) -> str:
    for names, value in ((_HOMES, setting.home), (_HERE, setting.cwd)):
        for name in names:
            if word.spelled == name or word.spelled.startswith(f"{name}/"):
                return value + word.spelled[len(name) :]
    return word.shape


def reaches_unknown(found: Reach, setting: Setting) -> bool:
    """Whether a recognised program or a redirect reaches a file that cannot be told."""
    return not all(_is_certain(operand.word, trails, setting) for operand, trails in found.files)


def _is_certain(word: Word, trails: Trails, setting: Setting) -> bool:
    if word.text is None:
        return word.kinds == {Dynamic.TILDE} and bool(guessed(word, trails, setting))
    return places(word.text, trails, setting).certain


_EVERYTHING = frozenset({
    "*", ".", "./", "./*", ".*", "..", "../", "../*",
})  # fmt: skip


def removes_too_much(found: Reach, setting: Setting) -> str | None:
    """What a command would remove that no rule or mode may approve."""
    for operand, trails in found.files:
        if operand.access == "delete" and _too_much(operand.word, trails, setting):
            return operand.word.source
    return next((text for text in found.loose if _loosely_removes(text, setting)), None)


def _too_much(word: Word, trails: Trails, setting: Setting) -> bool:
    after = word.shape.split(HOLE)[1:]
    if any(part.startswith(("/", "*", "?", "[")) for part in after):
        return True
    if trails is None and word.shape in _EVERYTHING:
        return True
    paths = guessed(word, trails, setting)
    if _takes_all(word):
        paths = (*paths, *(os.path.dirname(path) for path in paths))
    return any(setting.paths.critical(path) for path in paths)


def _takes_all(word: Word) -> bool:
    """The last part is a wildcard for everything in a directory."""
    return Dynamic.GLOB in word.kinds and word.shape.rsplit("/", 1)[-1].strip("*.?") == ""


def _loosely_removes(text: str, setting: Setting) -> bool:
    from toolwright.shell.fallback import pieces

    for piece in pieces(text):
        words = piece.text.split(" ")
        for place, word in enumerate(words):
            if word.rsplit("/", 1)[-1] not in {"rm", "rmdir"}:
                continue
            operands = [other for other in words[place + 1 :] if not other.startswith("-")]
            if "$" in text or any(_loosely_critical(operand, setting) for operand in operands):
                return True
    return False


def _loosely_critical(operand: str, setting: Setting) -> bool:
    if operand.startswith("~"):
        operand = setting.home + operand[1:]
    paths = places(operand, frozenset({()}), setting).paths
    ends = [os.path.dirname(path) for path in paths if path.endswith("*")]
    return any(setting.paths.critical(path) for path in (*paths, *ends))
