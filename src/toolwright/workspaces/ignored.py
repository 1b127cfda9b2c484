"""Reading ``.gitignore`` files, for searching without ripgrep. Same rules, pure Python."""

import re
from dataclasses import dataclass

from toolwright.workspaces.globs import BadGlob, path_expression


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    expression: re.Pattern[str]
    negated: bool
    folders_only: bool


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """The rules of one ignore file; ``folder`` is where it stands, relative to the search, ``""`` on top."""

    folder: str
    rules: tuple[IgnoreRule, ...]


def read_rules(text: str) -> tuple[IgnoreRule, ...]:
    """Parse an ignore file. Lines that are no pattern are skipped, as git does."""
    rules = (_rule(line) for line in text.splitlines())
    return tuple(rule for rule in rules if rule is not None)


def _rule(line: str) -> IgnoreRule | None:
    line = line.rstrip(" ") if not line.endswith("\\ ") else line
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    pattern = line[1:] if negated else line.removeprefix("\\") if line[:2] in {"\\#", "\\!"} else line
    folders_only = pattern.endswith("/")
    body = pattern.strip("/")
    if not body:
        return None
    anchored = "/" in pattern.rstrip("/")
    literal = body.replace("{", "[{]")  # ignore files know no braces
    try:
        text = path_expression(literal if "/" in body or not anchored else f"./{literal}")
    except BadGlob:
        return None
    if anchored and "/" not in body:
        text = text.replace("(?:[^\\0]*/)?", "", 1)
    return IgnoreRule(re.compile(text, re.DOTALL), negated, folders_only)


def is_ignored(path: str, *, is_folder: bool, files: tuple[IgnoreFile, ...]) -> bool:
    """Whether the last matching rule of all files above ``path`` ignores it; deeper files win."""
    for file in reversed(files):
        inner = path[len(file.folder) + 1 :] if file.folder else path
        for rule in reversed(file.rules):
            if rule.folders_only and not is_folder:
                continue
            if rule.expression.fullmatch(inner):
                return not rule.negated
    return False
