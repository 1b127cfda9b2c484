"""Places where bash runs code hidden in plain text: array subscripts, prompts, start-up files."""

import re

from toolwright.shell.units import Assignment, Word, assignment_in
from toolwright.shell.wrappers import program_name

_EVALUATING = frozenset({
    "[[", "[", "test", "printf", "declare", "typeset", "local", "export", "readonly", "read", "let", "unset",
    "mapfile", "readarray", "wait", "getopts", "set", "shift", "return", "exit", "ulimit", "break",
    "continue",
})  # fmt: skip
"""Programs that may take a word for an array element or an arithmetic expression."""
_ARITHMETIC = frozenset({"-eq", "-ne", "-lt", "-gt", "-le", "-ge"})
_NAMING = frozenset({"unset", "read", "mapfile", "readarray", "getopts", "let", "declare", "typeset", "local",
                     "export", "readonly"})  # fmt: skip
_INSIDE = re.compile(r"`|\$\(")
_CODE_NAME = re.compile(
    r"BASH_ENV|ENV|PS[0124]|PROMPT_COMMAND|LD_PRELOAD|LD_AUDIT|SHELLOPTS|BASHOPTS|BASH_FUNC_.*", re.DOTALL
)
"""Variables of which bash runs the value, or a file that the value names."""
_COMMAND_NAME = re.compile(
    r"\w*(?:EDITOR|PAGER|ASKPASS|SSH_COMMAND|PROXY_COMMAND|EXTERNAL_DIFF|BROWSER|_RSH)|VISUAL|GIT_SSH"
    r"|LESSOPEN|LESSCLOSE|GIT_CONFIG_(?:VALUE_\d+|PARAMETERS)"
)
"""Variables that hold a command which other programs run."""
_NUMBER = re.compile(r"[-+]?\d+")
_LITERAL_NAME = re.compile(r"-\w+|[A-Za-z_]\w*(?:\+?=.*)?|<|-", re.DOTALL)


def names_code(name: str) -> bool:
    """Whether bash would run the value of a variable of this name."""
    return _CODE_NAME.fullmatch(name.split("[", 1)[0]) is not None


def declared(words: tuple[Word, ...]) -> tuple[Assignment, ...]:
    """The variables that a builtin names and may set; the value is empty where none is given."""
    name = program_name(words)
    if name == "printf" and words[1:2] and words[1].shape == "-v":
        return tuple(map(assignment_in, words[2:3]))
    return tuple(map(assignment_in, words[1:])) if name in _NAMING else ()


def command_texts(assignments: tuple[Assignment, ...]) -> tuple[Word, ...]:
    """The values of variables that hold a command which other programs run."""
    return tuple(item.value for item in assignments if _COMMAND_NAME.fullmatch(item.name))


def hidden_texts(words: tuple[Word, ...], assignments: tuple[Assignment, ...]) -> tuple[str, ...]:
    """Literal texts of a program and of the variables set for it that bash may still expand."""
    texts = [item.value.spelled for item in assignments]
    if program_name(words) in _EVALUATING:
        texts += [word.spelled for word in words[1:]]
    return tuple(text for text in texts if _INSIDE.search(text))


def evaluates_unknown(words: tuple[Word, ...], assignments: tuple[Assignment, ...]) -> bool:
    """Whether bash may evaluate something here of which the text is not known."""
    if any(names_code(item.name) for item in assignments):
        return True
    name = program_name(words)
    if name not in _EVALUATING:
        return False
    words = words[1:]
    if name in {"[[", "[", "test"}:
        return _tests_unknown(words)
    if name == "printf":
        return any(word.text is None for word in words[1:2] if words[0].text == "-v") or (
            any(word.text is None and word.shape.startswith("-") for word in words[:1])
        )
    if name == "let":
        return not all(_NUMBER.fullmatch(word.text or "") for word in words)
    return name in _NAMING and not all(_names_plainly(word) for word in words)


def _tests_unknown(words: tuple[Word, ...]) -> bool:
    texts = [word.text for word in words]
    for place, text in enumerate(texts):
        beside = (*words[max(place - 1, 0) : place], *words[place + 1 : place + 2])
        if text in _ARITHMETIC and not all(_NUMBER.fullmatch(word.text or "") for word in beside):
            return True
        if text in {"-v", "-R"} and not all(_names_plainly(word) for word in words[place + 1 : place + 2]):
            return True
    return False


def _names_plainly(word: Word) -> bool:
    """The name a builtin would set is plain, whatever its value."""
    return _LITERAL_NAME.fullmatch(word.shape) is not None and not word.shape.split("=", 1)[0].count("\x00")
