"""A skill: instructions for one kind of work, the files beside them, and a script that may do part of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from toolwright.contracts.tool import Schema

AnyInput: Schema = {"type": "object"}
"""What a skill takes that says nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A skill, however it was written. Frozen: what changes on disk makes another one."""

    name: str
    description: str
    """What it does and when to use it."""
    scope: str = ""
    """Whose it is: ``project``, ``user``, ``package``, ``agent``, or a scope that a door has given it."""
    folder: str = ""
    """Where its files lie; empty where it has none."""
    form: Literal["SKILL.md", "skill.json"] = "SKILL.md"
    """The file that makes a skill of the folder."""
    instructions: str = ""
    """What a model reads when it takes the skill up."""
    template: str = ""
    """What a model is asked when the skill runs as a call, with ``{{name}}`` for its input."""
    entry: str = ""
    """The script that runs first when the skill runs as a call: a path in the folder."""
    input_schema: Schema = field(default_factory=lambda: dict(AnyInput))
    timeout: float = 60.0
    """Seconds that the script may take."""
    reads_only: bool = False
    """The script may write nothing and reach nobody; the sandbox sees to it."""
    exposed: bool = False
    """Offered as a tool of its own."""
    category: str = ""
    capabilities: tuple[str, ...] = ()
    confidence: float = 1.0
    version: str = ""
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    allowed_tools: tuple[str, ...] = ()
    """Permission rules that allow, from when it is taken up until a person speaks again."""
    arguments: tuple[str, ...] = ()
    """Names of what follows it when it is taken up: ``$name`` in its instructions."""
    when_to_use: str = ""
    """More on when to use it."""
    for_models: bool = True
    """Off: only a person takes it up."""
    files: tuple[str, ...] = ()
    """Paths of all its files, in the folder."""
    digest: str = ""
    """Of what it was read from: another text is another skill."""
    trusted: bool = True
    """Off: its text is a stranger's, its scripts do not run, and it permits nothing."""

    @property
    def about(self) -> str:
        """What it is for, on one line."""
        return " ".join(f"{self.description} {self.when_to_use}".split())

    @property
    def can_run(self) -> bool:
        """Whether a call can run it, and not only read it."""
        return self.trusted and bool(self.entry or self.template)

    @property
    def tool_name(self) -> str:
        """The name it is offered under as a tool."""
        return self.name.replace("-", "_")


@dataclass(frozen=True, slots=True)
class TakenUp:
    """What came of taking a skill up."""

    rules: tuple[str, ...] = ()
    """Rules that allow now because of it."""
    notes: tuple[str, ...] = ()
    """Which of its rules do not count, and why."""


class SkillShelf(Protocol):
    """The skills of one session."""

    def listed(self) -> Sequence[Skill]:
        """Return the skills that the model may take up, in the order of the alphabet."""
        ...

    def find(self, name: str) -> Skill | None:
        """Return the skill with this name, also one that only a person takes up."""
        ...

    def is_taken_up(self, skill: Skill, arguments: str) -> bool:
        """Whether the model has these very instructions in sight."""
        ...

    def take_up(self, skill: Skill, arguments: str, *, call_id: str) -> TakenUp:
        """Let its rules count, and note that the model has its instructions once this call is over.

        Safe to repeat.
        """
        ...


@dataclass(frozen=True, slots=True)
class SkillFinding:
    """One thing about how a skill is written. An error has to be put right before it is passed on."""

    severity: Literal["error", "warning"]
    text: str
    line: int | None = None
    published: bool = False
    """It breaks a published rule of Agent Skills."""

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line else self.text


@dataclass(frozen=True, slots=True)
class SkillReading:
    """A skill that can be used, and what its author should know about how it was read."""

    skill: Skill
    findings: tuple[SkillFinding, ...] = ()

    @property
    def conforms(self) -> bool:
        """Whether every published rule is kept."""
        return not any(finding.published for finding in self.findings)
