"""What the command line says about skills. Their texts may be a stranger's, so all of it is made safe."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import typer

from toolwright.catalog.skill_folders import KnownSkill, KnownSkills, read_skill_file
from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.skills import Skill
from toolwright.settings import Loaded
from toolwright.surfaces.cli.agent_facts import print_json
from toolwright.surfaces.cli.tables import console
from toolwright.surfaces.rendering.safety import marked

if TYPE_CHECKING:
    from toolwright.surfaces.cli.skill_reports import SkillReport

__all__ = [
    "list_data",
    "print_file",
    "print_json",
    "print_list",
    "print_notes",
    "print_reports",
    "print_skill",
    "skill_data",
]
_LONGEST_DESCRIPTION = 120
_MOST_BYTES = 4 * 1_048_576


# --- as data --------------------------------------------------------------------------------


def list_data(known: KnownSkills) -> dict[str, Any]:
    """All skills as JSON data."""
    return {
        "skills": [skill_data(one) for one in known.skills],
        "broken": [{"path": one.path, "problem": str(one)} for one in known.broken],
        "notices": list(known.notices),
    }


def skill_data(known: KnownSkill, *, whole: bool = False) -> dict[str, Any]:
    """One skill as JSON data; ``whole`` adds all that its folder says."""
    skill = known.skill
    data: dict[str, Any] = {
        "name": skill.name,
        "description": skill.description,
        "scope": skill.scope,
        "folder": skill.folder,
        "category": skill.category,
        "runs": skill.can_run,
        "tool": skill.tool_name if skill.exposed and skill.can_run else None,
        "for_models": skill.for_models,
        "trusted": skill.trusted,
        "hides": list(known.hides),
        "findings": [str(finding) for finding in known.findings],
    }
    return data | dataclasses.asdict(skill) if whole else data


# --- for people -----------------------------------------------------------------------------


def print_list(known: KnownSkills) -> None:
    """One line for each skill, and for each that it hides."""
    from rich.table import Table
    from rich.text import Text

    out = console()
    if not known.skills:
        out.print("There are no skills here. Write one: toolwright skills new NAME.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("SKILL", "FROM", "USE", "DESCRIPTION"):
        table.add_column(title, overflow="fold")
    for one in known.skills:
        text = Text(_shortened(marked(one.skill.description)))
        for path in one.hides:
            text.append(f"\nin place of {marked(path, strict=True)}", "yellow")
        name = Text(marked(one.skill.name, strict=True), "bold")
        table.add_row(name, one.skill.scope, _use(one.skill), text)
    out.print(table)


def print_notes(known: KnownSkills, loaded: Loaded) -> None:
    """What a person should know, on standard error."""
    for broken in known.broken:
        typer.echo(marked(f"broken: {broken}"), err=True)
    for notice in (*loaded.notices, *known.notices):
        typer.echo(marked(f"note: {notice}"), err=True)


def print_skill(known: KnownSkill) -> None:
    """Everything about one skill."""
    from rich.text import Text

    out, skill = console(), known.skill
    out.print(Text(marked(skill.name, strict=True), "bold"), Text(skill.scope, "dim"))
    out.print(Text(marked(skill.description)), soft_wrap=True)
    for label, value in _facts(known):
        out.print(Text(f"{label}: ", "dim") + Text(marked(value)), soft_wrap=True)
    for finding in known.findings:
        style = "red" if finding.severity == "error" else "yellow"
        out.print(Text(f"{finding.severity}: ", style) + Text(marked(str(finding))), soft_wrap=True)
    text = skill.instructions or skill.template
    if text:
        out.print()
        out.print(Text(marked(text)), soft_wrap=True)


def print_file(skill: Skill, path: str) -> None:
    """One file of a skill. Raises DefinitionError where there is none that is a text."""
    try:
        content = read_skill_file(skill, path, _MOST_BYTES)
    except OSError as problem:
        there = ", ".join(skill.files)
        raise DefinitionError(f"{path!r} cannot be read: {problem.strerror}. There are: {there}.") from None
    if len(content) > _MOST_BYTES:
        raise DefinitionError(f"{path!r} is larger than {_MOST_BYTES:,} bytes.")
    try:
        typer.echo(marked(content.decode("utf-8-sig")))
    except UnicodeDecodeError:
        raise DefinitionError(f"{path!r} is no text.") from None


def print_reports(found: "Sequence[SkillReport]") -> None:
    """One line for each skill, and one for each finding."""
    from rich.text import Text

    out = console()
    if not found:
        out.print("There is no skill in this project or among your own.")
    for report in found:
        word, style = ("broken", "bold red") if report.is_broken else ("ok", "green")
        out.print(Text(f"{word:<7}", style) + Text(marked(report.path, strict=True)), soft_wrap=True)
        for finding in report.findings:
            style = "red" if finding.severity == "error" else "yellow"
            text = Text(f"  {finding.severity:<8} ", style) + Text(marked(str(finding)))
            out.print(text, soft_wrap=True)


def _facts(known: KnownSkill) -> Iterator[tuple[str, str]]:
    """What there is to say; what a skill says nothing of is left out."""
    skill = known.skill
    facts = {
        "folder": skill.folder,
        "in place of": ", ".join(known.hides),
        "use": _use(skill),
        "more on when to use it": skill.when_to_use,
        "allowed tools": ", ".join(skill.allowed_tools),
        "arguments": " ".join(skill.arguments),
        "script": skill.entry and f"{skill.entry}, at most {skill.timeout:g} s{_reads_only(skill)}",
        "category": skill.category,
        "capabilities": ", ".join(skill.capabilities),
        "version": skill.version,
        "license": skill.license,
        "compatibility": skill.compatibility,
        "metadata": ", ".join(f"{name}={value}" for name, value in skill.metadata.items()),
        "files": ", ".join(skill.files),
    }
    yield from ((label, value) for label, value in facts.items() if value)


def _reads_only(skill: Skill) -> str:
    return ", may write nothing" if skill.reads_only else ""


def _use(skill: Skill) -> str:
    uses = []
    if skill.for_models:
        uses.append("read" if skill.trusted else "read, not trusted")
    if skill.exposed and skill.can_run:
        uses.append(f"tool {skill.tool_name}")
    elif (skill.entry and skill.can_run) or (skill.can_run and not skill.for_models):
        uses.append("run")
    return ", ".join(uses) or "person"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_DESCRIPTION else f"{line[: _LONGEST_DESCRIPTION - 1]}…"
