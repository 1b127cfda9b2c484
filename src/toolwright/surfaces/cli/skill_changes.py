"""The work behind ``toolwright skills`` that changes something: writing, installing and removing skills."""

import json
import os
import sys
from typing import TYPE_CHECKING, Final

import typer

from toolwright.catalog.skill_packages import Package, install, package, package_at, remove
from toolwright.catalog.skill_rules import broken_by_name
from toolwright.contracts.errors import DefinitionError, SettingsError
from toolwright.settings import SETTINGS_FOLDER, user_folder
from toolwright.surfaces.rendering.safety import marked

if TYPE_CHECKING:
    from toolwright.settings import Loaded

_SKILL: Final = """---
name: {name}
description: {description}
---
# {title}

Say here how the work is done, step by step, as you would tell a colleague who is new to it.

1. What to look at first, and what to leave alone.
2. What to do, in which order, with which commands.
3. How to see that it worked, and what to report.

Keep this under 500 lines. What is needed only sometimes belongs into a file beside it, such as
`references/`, and is named here when it is to be read.
"""
_SCRIPT: Final = '''"""Reads its input as JSON from standard input; what it prints is the result."""

import json
import sys

given = json.load(sys.stdin)
text = given["text"]
print(json.dumps({"words": len(text.split()), "characters": len(text)}))
'''
_RUNNING: Final = {
    "version": "1",
    "entry": "scripts/run.py",
    "read_only": True,
    "expose_as_tool": True,
    "timeout_seconds": 30,
    "input_schema": {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The text to look at."}},
        "required": ["text"],
        "additionalProperties": False,
    },
}
_DESCRIPTION: Final = "Says what this skill does, in a few words. Use it when the task is of that kind."


def skills_folder(loaded: "Loaded", *, of_project: bool) -> str:
    """Return the folder that skills are kept in: the project's, or the user's own."""
    if of_project:
        return os.path.join(loaded.project, SETTINGS_FOLDER, "skills")
    return os.path.join(user_folder(loaded.environ), "skills")


def write_new(folder: str, name: str, *, description: str, script: bool) -> str:
    """Write a skill to begin with; return where. May raise DefinitionError."""
    wrong = next(broken_by_name(name, ""), None)
    if wrong is not None or not name:
        raise DefinitionError(f"the name {name[:80]!r} {wrong or 'is empty.'}")
    place = os.path.join(folder, name)
    if os.path.lexists(place):
        raise DefinitionError(f"{place} is there already.")
    title = name.replace("-", " ").capitalize()
    text = _SKILL.format(name=name, title=title, description=json.dumps(description or _DESCRIPTION))
    files = {"SKILL.md": text.encode()}
    if script:
        files["scripts/run.py"] = _SCRIPT.encode()
        files["skill.json"] = (json.dumps(_RUNNING, indent=2) + "\n").encode()
    return install(package(files, folder=name), folder)


def install_from(source: str, folder: str, *, replace: bool, unasked: bool) -> str:
    """Install a skill and return where it is.

    Raises DefinitionError, and SettingsError where somebody would have to be asked and nobody can be.
    """
    found = package_at(os.path.expanduser(source))
    _tell(found)
    if not unasked and (found.scripts or found.reading.skill.allowed_tools):
        _ask(found)
    return install(found, folder, replace=replace)


def remove_from(folder: str, name: str) -> str:
    """Remove a skill and return where it was. Raises DefinitionError."""
    place = os.path.join(folder, name)
    if "/" in name or name in {"", ".", ".."} or not os.path.lexists(place):
        raise DefinitionError(f"there is no skill {name[:80]!r} in {folder}.")
    remove(place)
    return place


def _tell(found: Package) -> None:
    skill = found.reading.skill
    size = sum(len(content) for content in found.files.values())
    typer.echo(marked(f"{skill.name}: {skill.description}"), err=True)
    typer.echo(f"  {len(found.files)} files, {size:,} bytes", err=True)
    if found.scripts:
        typer.echo(marked(f"  scripts: {', '.join(found.scripts[:20])}"), err=True)
    if skill.allowed_tools:
        typer.echo(marked(f"  lets run unasked, once loaded: {', '.join(skill.allowed_tools)}"), err=True)
    for finding in found.reading.findings:
        typer.echo(marked(f"  {finding.severity}: {finding}"), err=True)


def _ask(found: Package) -> None:
    if not sys.stdin.isatty():
        raise SettingsError(
            f"{found.name} has scripts or permissions, and nobody can be asked about them; look at it, then "
            "install it with --yes."
        )
    if not typer.confirm("Install it?", err=True):
        raise typer.Exit(1)
