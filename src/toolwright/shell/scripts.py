"""Programs that run a script given as text: shells, ``eval``, ``trap`` and their like."""

import re
from dataclasses import dataclass
from itertools import pairwise

from toolwright.shell.units import Redirect, Word, plain_word
from toolwright.shell.wrappers import program_name, with_hole

SHELLS = frozenset({
    "bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "yash", "csh", "tcsh",
})  # fmt: skip
_VALUE_OPTIONS = frozenset({
    "-o", "+o", "-O", "+O", "--rcfile", "--init-file",
})  # fmt: skip
_SCRIPT_OPTIONS: dict[str, tuple[str, ...]] = {
    "su": ("c", "--command", "--session-command"),
    "runuser": ("c", "--command", "--session-command"),
    "script": ("c", "--command"),
    "flock": ("c", "--command"),
    "compgen": ("C",),
    "complete": ("C",),
    "mapfile": ("C",),
    "readarray": ("C",),
}
"""Short option letter and long options whose value is a script."""

_FIND_ACTIONS = frozenset({
    "-exec", "-execdir", "-ok", "-okdir",
})  # fmt: skip
_GIT_GLOBAL_VALUES = frozenset({
    "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix",
    "--attr-source",
})  # fmt: skip
_GIT_COMMAND_KEYS = re.compile(
    r"(?i)(?:alias\..*|.*(?:pager|editor|sshcommand|fsmonitor|external|textconv|command|cmd|helper|program"
    r"|askpass|clean|smudge|process|driver|uploadpack|receivepack))=(.*)",
    re.DOTALL,
)


BASH_RUNS = frozenset({
    "bash", "eval", "trap", "alias", "compgen", "complete", "mapfile", "readarray", "env", "coproc",
})  # fmt: skip
"""Programs whose scripts bash runs; others may use a shell that reads some texts differently."""

_BASH_ONLY = re.compile(
    r"\$['\"]|&>|\|&|[<>]\(|<<<|\(\(|\[\[|;;?&|[+)]?=\(|\+=|[<>{]\s*\w+\}[<>]"
    r"|\b(?:function|select|coproc|time)\b|[^\x00-\x7f]"
)


def portable(script: str) -> bool:
    """Whether every shell reads the script as bash does."""
    return _BASH_ONLY.search(script) is None


@dataclass(frozen=True, slots=True)
class Scripts:
    """The scripts a program would run. ``opaque``: it also runs something that cannot be seen."""

    texts: tuple[str, ...] = ()
    inner: tuple[tuple[Word, ...], ...] = ()
    opaque: bool = False


NONE = Scripts()


def scripts_of(words: tuple[Word, ...], redirects: tuple[Redirect, ...]) -> Scripts:
    """What a simple command runs besides the program it names."""
    name = program_name(words)
    if name in SHELLS:
        return _shell(words, redirects)
    if name == "env":
        return _split_string(words)
    if name in _SCRIPT_OPTIONS:
        return _by_option(words, _SCRIPT_OPTIONS[name])
    match name:
        case "eval" | "watch" | "parallel" | "coproc":
            rest = [word for word in words[1:] if word.text != "--"]
            return _joined(rest, opaque=name == "eval" and not all(word.literal for word in rest))
        case "trap":
            operands = [word for word in words[1:] if word.text != "--"]
            return _joined(operands[:1], opaque=any(not word.literal for word in operands[:1]))
        case "alias":
            values = [word.spelled.partition("=")[2] for word in words[1:]]
            return Scripts(tuple(value for value in values if value))
        case "hash":
            paths = [
                words[place + 1 :] for place, word in enumerate(words[:-1]) if word.shape.startswith("-")
            ]
            return Scripts(inner=tuple(paths))
        case "source" | ".":
            return Scripts(opaque=True)
        case "find":
            return _find(words)
        case "git":
            return _git(words)
        case _:
            return NONE


def _joined(words: list[Word], *, opaque: bool) -> Scripts:
    text = " ".join(_visible(word) for word in words)
    return Scripts((text,) if text else (), opaque=opaque)


def _visible(word: Word) -> str:
    return word.spelled if word.text is None else word.text


def _shell(words: tuple[Word, ...], redirects: tuple[Redirect, ...]) -> Scripts:
    """A shell runs the text after ``-c``, else a file, else what it reads."""
    place, from_text = 1, False
    while place < len(words):
        text = words[place].text
        if text is None:
            return Scripts(tuple(_visible(word) for word in words[place:]), opaque=True)
        if text in {"--", "-"}:
            place += 1
            break
        if text[:1] not in {"-", "+"}:
            break
        from_text = from_text or (not text.startswith("--") and "c" in text and text not in _VALUE_OPTIONS)
        place += 2 if text in _VALUE_OPTIONS or re.fullmatch(r"-[a-z]*[oO]", text) else 1
    operands = words[place:]
    if from_text:
        return _joined(list(operands[:1]), opaque=not operands or not operands[0].literal)
    documents = [redirect.heredoc for redirect in redirects if redirect.heredoc is not None]
    return Scripts(
        tuple(document.body for document in documents), opaque=bool(operands) or not _input_is_seen(redirects)
    )


def _input_is_seen(redirects: tuple[Redirect, ...]) -> bool:
    """Whether the standard input is one literal document and nothing else."""
    inputs = [item for item in redirects if item.operator.startswith("<")]
    if len(inputs) != 1 or inputs[0].inherited or inputs[0].descriptor not in {"", "0"}:
        return False
    document = inputs[0].heredoc
    return document is not None and document.literal


def _by_option(words: tuple[Word, ...], options: tuple[str, ...]) -> Scripts:
    letter, *long_options = options
    for place, word in enumerate(words[1:], start=1):
        text = _visible(word)
        if text == "--":
            break
        rest = words[place + 1 :]
        name, equals, value = text.partition("=")
        if len(name) > 3 and any(option.startswith(name) for option in long_options):
            following = [] if equals else [_visible(other) for other in rest[:1]]
            return Scripts((value, *following) if equals else tuple(following), opaque=not word.literal)
        if text.startswith("-") and not text.startswith("--") and letter in text:
            attached = text[text.index(letter) + 1 :]
            parts = (
                [attached, *(_visible(other) for other in rest)] if attached else list(map(_visible, rest))
            )
            known = word.literal and all(other.literal for other in rest[:1])
            return Scripts((parts[0], " ".join(parts)) if parts else (), opaque=not known)
    return NONE


def _split_string(words: tuple[Word, ...]) -> Scripts:
    """``env -S`` splits a text into words; those behind it are added as they are."""
    found = _by_option(words, ("S", "--split-string"))
    if not found.texts:
        return found
    first = found.texts[0].split()
    place = next(place for place, word in enumerate(words) if "S" in word.shape or "--s" in word.shape)
    guesses = tuple((*map(plain_word, first), *words[start:]) for start in (place + 1, place + 2))
    return Scripts(found.texts, guesses if first else (), found.opaque)


def _find(words: tuple[Word, ...]) -> Scripts:
    inner: list[tuple[Word, ...]] = []
    current: list[Word] | None = None
    for word in words[1:]:
        if word.text in _FIND_ACTIONS and current is None:
            current = []
        elif current is not None and word.text in {";", "+"}:
            inner.append(tuple(current))
            current = None
        elif current is not None:
            current.append(with_hole(word, "{}"))
    if current:
        inner.append(tuple(current))
    return Scripts(inner=tuple(part for part in inner if part))


def _git(words: tuple[Word, ...]) -> Scripts:
    texts: list[str] = []
    for word, value in pairwise(words):
        if word.text == "-c":
            found = _GIT_COMMAND_KEYS.fullmatch(_visible(value))
            if found:
                texts.append(found[1].removeprefix("!"))
    bare = without_git_options(words)
    if any(word.text == "foreach" for word in bare[1:3]):
        texts.append(" ".join(_visible(word) for word in bare[3:] if not _visible(word).startswith("-")))
    inner = [bare[3:]] if [word.text for word in bare[1:3]] == ["bisect", "run"] else []
    if len(bare) > 1 and bare[1].text == "rebase":
        texts.extend(_visible(value) for option, value in pairwise(bare)
                     if option.text in {"-x", "--exec"})  # fmt: skip
    return Scripts(tuple(texts), tuple(part for part in inner if part))


def without_git_options(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """A git command without the options that stand before its sub-command."""
    place = 1
    while place < len(words):
        text = words[place].text
        if text is None or not text.startswith("-"):
            break
        place += 2 if text in _GIT_GLOBAL_VALUES else 1
    return (words[0], *words[place:])
