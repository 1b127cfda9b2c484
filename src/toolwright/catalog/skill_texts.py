"""What a model reads of skills (pure): the list of them, instructions with arguments, prompts with input."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from toolwright.catalog.skill_reading import READ
from toolwright.contracts.skills import Skill

LONGEST_ABOUT: Final = 1_536
"""Characters of one description in the list."""
SHARE_OF_WINDOW: Final = 100
"""The list's descriptions take at most one part in so many of a model's window."""
LEAST_CHARS: Final = 2_000
_CHARS_OF_A_TOKEN: Final = 4
_SHORTEST_ABOUT: Final = 24
"""Less than this says nothing; only names are listed then."""
_MOST_NAMES_CHARS: Final = 16_000
_ARGUMENT: Final = re.compile(r"\$ARGUMENTS(?:\[(\d{1,3})\])?|\$(\d{1,3})(?!\d)|\$([A-Za-z][A-Za-z0-9_-]*)")
_SETTING: Final = re.compile(r"\$\{(SKILL_DIR|SESSION_ID)\}")
_FIELD: Final = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_MOST_LISTED: Final = 50
SCRIPT_OUTPUT: Final = "script_output"


# --- the list ---------------------------------------------------------------------------------


def budget(window: int) -> int:
    """Return how many characters the descriptions may take, for a model with so many tokens of window."""
    return max(LEAST_CHARS, window * _CHARS_OF_A_TOKEN // SHARE_OF_WINDOW)


def listing(skills: Sequence[Skill], most_chars: int, *, search: str = "") -> str:
    """Return the skills that a model may take up, one on a line. Names always, texts while there is room.

    Where not all descriptions fit, the longest are cut first. ``search`` is the tool that finds more.
    """
    longest = _longest(sorted(len(skill.about) for skill in skills), most_chars)
    lines: list[str] = []
    room = _MOST_NAMES_CHARS
    for number, skill in enumerate(skills):
        room -= len(skill.name) + 3
        if room < 0:
            found = f"; find them with {search}" if search else ""
            lines.append(f"… and {len(skills) - number} more{found}")
            break
        lines.append(_line(skill, longest))
    return "\n".join(lines)


def _line(skill: Skill, longest: int) -> str:
    mark = "" if skill.trusted else " (from this project, which is not trusted)"
    about = skill.about
    if len(about) > longest:
        about = f"{about[: longest - 1].rstrip()}…" if longest >= _SHORTEST_ABOUT else ""
    return f"- {skill.name}{mark}: {about}" if about else f"- {skill.name}{mark}"


def _longest(lengths: Sequence[int], most: int) -> int:
    """Return the length to which descriptions are cut so that together they fit; ``lengths`` grow."""
    left = most
    for number, length in enumerate(lengths):
        share = left // (len(lengths) - number)
        if min(length, LONGEST_ABOUT) > share:
            return min(share, LONGEST_ABOUT)
        left -= min(length, LONGEST_ABOUT)
    return LONGEST_ABOUT


# --- instructions -----------------------------------------------------------------------------


def with_arguments(skill: Skill, arguments: str, *, session_id: str = "") -> str:
    """Return instructions with what follows the skill put in: ``$ARGUMENTS``, ``$0``, ``$name``.

    Instructions that name no place for arguments have them at the end. A place for which nothing is given
    stays as it is where it may be something else, such as a ``$1`` of a shell.
    """
    given = _words(arguments)
    named = dict(zip(skill.arguments, given, strict=False))
    used = False

    def put(found: re.Match[str]) -> str:
        nonlocal used
        number = found[1] or found[2]
        if number is not None:
            value = given[int(number)] if int(number) < len(given) else None
        elif found[3] is not None:
            value = named.get(found[3], "" if found[3] in skill.arguments else None)
        else:
            value = arguments
        used = used or value is not None
        return found[0] if value is None else value

    settings = {"SKILL_DIR": skill.folder, "SESSION_ID": session_id}
    text = _ARGUMENT.sub(put, _SETTING.sub(lambda found: settings[found[1]], skill.instructions))
    return text if used or not arguments.strip() else f"{text}\n\nARGUMENTS: {arguments}"


def taken_up(skill: Skill, arguments: str) -> str:
    """Return instructions with their arguments, between marks, with the files beside them."""
    return between_marks(skill, with_arguments(skill, arguments))


def between_marks(skill: Skill, text: str) -> str:
    """Return instructions, or a part of them, as a model reads them, with the files beside them."""
    return f'<skill name="{skill.name}">\n{text}\n\n{files_of(skill)}'.rstrip() + "\n</skill>"


def files_of(skill: Skill) -> str:
    """Return where the files of a skill are, besides those that say what it is; nothing without any."""
    beside = [path for path in skill.files if path not in READ]
    return f"Files of this skill, in {skill.folder}: {named(beside)}." if beside else ""


def named(paths: Sequence[str]) -> str:
    """Return paths in a line that is not too long."""
    more = f" and {len(paths) - _MOST_LISTED} more" if len(paths) > _MOST_LISTED else ""
    return ", ".join(paths[:_MOST_LISTED]) + more


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # a quotation mark without its partner
        return arguments.split()


# --- prompts ----------------------------------------------------------------------------------


def rendered(template: str, input: Mapping[str, Any], *, script_output: str | None = None) -> str:
    """Return a prompt with input put in for ``{{name}}``; what it does not name follows as JSON.

    What is put in is never looked at again: no input can ask for another.
    """
    values = dict(input) if script_output is None else {**input, SCRIPT_OUTPUT: script_output}
    used: set[str] = set()

    def put(found: re.Match[str]) -> str:
        name = found[1]
        used.add(name)
        return _as_text(values[name]) if name in values else ""

    text = _FIELD.sub(put, template)
    rest = {name: value for name, value in values.items() if name not in used}
    return text if not rest else f"{text}\n\n```json\n{json.dumps(rest, ensure_ascii=False, indent=2)}\n```"


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def fields_of(template: str) -> Iterator[str]:
    """Yield the names that a prompt puts in, each as often as it stands there."""
    for found in _FIELD.finditer(template):
        yield found[1]
