"""Every key of a skill, in ``SKILL.md`` and in ``skill.json``, for readers and for the reference. A table."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SkillKey:
    """One key. ``takes`` and ``means`` are for people."""

    name: str
    takes: str
    means: str
    published: bool = False
    """One of the published rules of Agent Skills."""


FRONT_MATTER: Final = (
    SkillKey(
        "name",
        "small letters, digits, single hyphens; at most 64",
        "Its name, which is that of its folder. Needed.",
        published=True,
    ),
    SkillKey(
        "description",
        "1 to 1,024 characters",
        "What it does and when to use it: all that a model knows of it at first. Needed.",
        published=True,
    ),
    SkillKey("license", "a text", "Its license, or the file that holds it.", published=True),
    SkillKey("compatibility", "1 to 500 characters", "What it needs to be there.", published=True),
    SkillKey("metadata", "texts by name", "Whatever else; `version` is shown.", published=True),
    SkillKey(
        "allowed-tools",
        "permission rules with blanks or commas between them, or a list",
        "What runs unasked once it is taken up, until a person speaks again. A person is asked first.",
        published=True,
    ),
    SkillKey("when_to_use", "a text", "More on when to use it."),
    SkillKey(
        "disable-model-invocation", "`true`, `false`", "No model is told of it, and none can take it up."
    ),
    SkillKey(
        "arguments", "names", "What `$name` in its instructions stands for, in the order of the arguments."
    ),
    SkillKey("version", "a text", "Its version."),
    SkillKey("category", "a text", "What it belongs to."),
    SkillKey("capabilities", "words", "What it can do; searched for words."),
)
RUNNING: Final = (
    SkillKey(
        "name", "small letters, digits, `-`, `_`; at most 64", "Its name; without it, that of its folder."
    ),
    SkillKey("description", "a text", "What it does. Needed where there is no `SKILL.md`."),
    SkillKey("category", "a text", "What it belongs to."),
    SkillKey("capabilities", "a list of texts", "What it can do."),
    SkillKey("confidence", "a number from 0 to 1", "How sure its author is of it; 1 when nothing is said."),
    SkillKey("version", "a text", "Its version."),
    SkillKey("input_schema", "a JSON Schema of an object", "What it takes; anything when nothing is said."),
    SkillKey(
        "entry",
        "a path in the folder",
        "The script; when nothing is said `script.py`, else the only one at the top.",
    ),
    SkillKey(
        "timeout_seconds", "a number, at most 600", "What the script may take; 60 when nothing is said."
    ),
    SkillKey(
        "read_only",
        "`true`, `false`",
        "The script may write nothing and reach nobody; then it runs unasked in the sandbox.",
    ),
    SkillKey("expose_as_tool", "`true`, `false`", "Offered as a tool, under its name with `_` for `-`."),
    SkillKey("allowed_tools", "a list of permission rules", "The same as `allowed-tools`."),
)
