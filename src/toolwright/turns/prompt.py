"""The system prompt, put together from named parts in a stable order. Pure.

The same inputs give the same bytes, so a provider can keep what it has read of them: what every session
shares stands first, what changes most easily stands last, and nothing is asked of the clock.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

from toolwright.catalog.context_files import ContextFile, ContextFiles
from toolwright.contracts.definitions import NO_LIMITS, AgentDefinition, RunLimits, SkillDefinition
from toolwright.contracts.mounts import Mount

_TEXTS = os.path.join(os.path.dirname(__file__), "prompt_parts")
_CLOSING = re.compile(r"<(?=\s*(?:/\s*)?context_file)", re.IGNORECASE)
_LINE_BREAKS = re.compile(r"[\0-\x1f\x7f\x85\u2028\u2029]+")
_NO_FILES = ContextFiles()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where a session works, as it was when the session began."""

    cwd: str
    platform: str
    """Such as ``Linux 6.8, x86_64``."""
    date: str
    """The day on which the session began. It stays that day, so that the prompt stays the same."""
    more_folders: tuple[str, ...] = ()
    git_branch: str | None = None
    """None where there is no repository."""

    @classmethod
    def recorded(cls, members: Mapping[str, Any]) -> "Surroundings | None":
        """Return what the log of a session says of them; None where an older version wrote nothing."""
        if not members:
            return None
        return cls(**{**members, "more_folders": tuple(members["more_folders"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSkills:
    """What is told of skills."""

    listing: str = ""
    """Those that the model may take up, one on a line."""
    reader: str = ""
    """The tool it takes them up with, as it is offered."""
    starting: Sequence[tuple[str, str]] = ()
    """Names and instructions of those that the agent starts with."""


NO_PROMPT_SKILLS = PromptSkills()


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptInputs:
    """All that a system prompt is made of."""

    agent: AgentDefinition
    surroundings: Surroundings | None
    """None for a session that works in no project."""
    tool_sections: Sequence[str] = ()
    """What tools want said about them beyond their descriptions, in the order in which they are offered."""
    skills: PromptSkills = NO_PROMPT_SKILLS
    context: ContextFiles = _NO_FILES
    limits: RunLimits = NO_LIMITS
    """Those in force, not only those of the agent."""
    is_child: bool = False
    mounts: Sequence[Mount] = ()
    commands_see_mounts: bool = True
    """Off where commands run without a sandbox: only tools for files see them then."""


def system_parts(inputs: PromptInputs) -> tuple[str, ...]:
    """Return the parts of the prompt: what all sessions share first, what changes most easily last.

    Identity, rules of work, whom a child works for, what tools say, the agent's own instructions, skills,
    surroundings, folders, context files, limits. Instructions that replace the prompt stand for the first
    two.
    No part is empty.
    """
    agent = inputs.agent
    own = agent.system.strip()
    replaced = agent.replaces_prompt and bool(own)
    parts = (
        own if replaced else f"{part_text('identity')}\n\n{part_text('work')}",
        part_text("child") if inputs.is_child else "",
        "\n\n".join(section.strip() for section in inputs.tool_sections if section.strip()),
        "" if replaced or not own else f"# Your instructions\n\n{own}",
        _skills(agent.skill_folders),
        _listed_skills(inputs.skills),
        _surroundings(inputs.surroundings) if inputs.surroundings is not None else "",
        _mounts(inputs),
        _context(inputs.context),
        _limits(inputs.limits),
    )
    return tuple(part for part in parts if part)


@cache
def part_text(name: str) -> str:
    """Return one of our own texts; they stand beside this module."""
    with open(os.path.join(_TEXTS, f"{name}.md"), encoding="utf-8") as file:
        return file.read().strip()


def _surroundings(here: Surroundings) -> str:
    facts = [("Working directory", here.cwd)]
    facts += [("Another folder you may work in", folder) for folder in here.more_folders]
    facts += [
        ("Platform", here.platform),
        ("Day on which this session began", here.date),
        ("Git branch at that time", "no repository" if here.git_branch is None else here.git_branch),
    ]
    return "\n".join(["# Where you are", "", *(f"- {label}: {_one_line(fact)}" for label, fact in facts)])


def _skills(skills: Sequence[SkillDefinition]) -> str:
    if not skills:
        return ""
    lines = (f"- {_one_line(one.name)} ({one.path}/SKILL.md): {_one_line(one.description)}" for one in skills)
    return "\n".join([part_text("skills"), "", *lines])


def _mounts(inputs: PromptInputs) -> str:
    if not inputs.mounts:
        return ""
    lines = ["# Folders besides your own", ""]
    if not inputs.commands_see_mounts:
        lines += ["Tools for files see them; commands do not.", ""]
    for mount in inputs.mounts:
        access = "read and write" if mount.writable else "read only"
        about = f": {_one_line(mount.about)}" if mount.about else ""
        lines.append(f"- {_one_line(mount.path)} ({access}){about}")
    return "\n".join(lines)


def _listed_skills(skills: PromptSkills) -> str:
    blocks = [f'<skill name="{name}">\n{text}\n</skill>' for name, text in skills.starting]
    if skills.starting:
        blocks.insert(0, part_text("starting_skills"))
    if skills.listing:
        blocks += [part_text("listed_skills").replace("{reader}", skills.reader), skills.listing]
    return "\n\n".join(["# Skills", *blocks]) if blocks else ""


def _one_line(text: str) -> str:
    """Names of files and branches are chosen by others; none of them may begin a line of its own."""
    return _LINE_BREAKS.sub(" ", text)


def _context(context: ContextFiles) -> str:
    if not context.files and not context.left_out:
        return ""
    blocks = [_context_file(file) for file in context.files]
    blocks += [f"{_one_line(path)} is left out here because of its length." for path in context.left_out]
    return "\n\n".join([part_text("context"), *blocks])


def _context_file(file: ContextFile) -> str:
    head = f'<context_file path="{escape(_one_line(file.path))}" from="{file.origin}">'
    cut = ""
    if file.is_cut:
        cut = f"\n[The first {len(file.text):,} of {file.whole:,} characters; read the file for the rest.]"
    return f"{head}\n{_CLOSING.sub('‹', file.text)}{cut}\n</context_file>"


def _limits(limits: RunLimits) -> str:
    lines = list(_limit_lines(limits))
    if not lines:
        return ""
    intro = (
        "One run, from a task to its answer, ends at once when it has used up any of these, your agents' use "
    )
    return "\n".join(["# Limits", "", f"{intro}included. Return what you have before that.", "", *lines])


def _limit_lines(limits: RunLimits) -> Iterator[str]:
    if limits.rounds is not None:
        yield f"- {limits.rounds:,} requests to a model"
    if limits.calls is not None:
        yield f"- {limits.calls:,} tool calls"
    for tool, count in sorted(limits.calls_per_tool.items()):
        yield f"- {count:,} calls of {_one_line(tool)}"
    if limits.tokens is not None:
        yield f"- {limits.tokens:,} tokens"
    if limits.cost is not None:
        yield f"- {limits.cost:,g} dollars"
    if limits.seconds is not None:
        yield f"- {limits.seconds:,g} seconds of running"
