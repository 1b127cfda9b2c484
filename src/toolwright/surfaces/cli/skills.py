"""``toolwright skills``: see, write, check, install and run skills."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from toolwright.surfaces.cli.agents import AsJson
from toolwright.surfaces.cli.call import Allow, Folder, Input, Json, NoInput, Plain, Raw

if TYPE_CHECKING:
    from toolwright.catalog.skill_folders import KnownSkills
    from toolwright.settings import Loaded

_LIST = """List the skills that can be used here, and whose each is.

\b
Examples:
  toolwright skills list
  toolwright skills list --json
"""
_SHOW = """Show one skill: its files, what it permits, and its instructions, or one of its files.

\b
Examples:
  toolwright skills show review-changes
  toolwright skills show review-changes --file references/checklist.md
"""
_NEW = """Write a new skill to begin with.

\b
Examples:
  toolwright skills new release-notes
  toolwright skills new word-count --script
"""
_VALIDATE = """Check skills: how they are written, the published rules of Agent Skills, files they speak of.

Without PATH, all of this project and your own. Ends with 1 when one has an error; --strict also counts
keys that no published rule knows.

\b
Examples:
  toolwright skills validate ./my-skill
  toolwright skills validate --strict --json
"""
_INSTALL = """Install a skill from a folder or a zip archive: for you, or with --project for this project.

Links, paths that lead out, more than one skill and more than 100 MiB are refused. What has scripts or
permissions is shown and asked about first.

\b
Examples:
  toolwright skills install ./my-skill
  toolwright skills install my-skill.zip --project --yes
"""
_REMOVE = """Remove a skill of yours, or with --project one of this project.

\b
Example:
  toolwright skills rm my-skill
"""
_RUN = """Run a skill as a call: its script, its prompt, or both, with every check a call has.

\b
Examples:
  toolwright skills run table-profile '{"path": "data.csv"}' --raw
  echo '{"text": "..."}' | toolwright skills run summarize-text -
"""

OfProject = Annotated[bool, typer.Option("--project", help="In this project, not for you.")]
Name = Annotated[str, typer.Argument(help="Name of the skill.")]


def register(app: typer.Typer) -> None:
    """Add the ``skills`` commands."""
    group = typer.Typer(
        help="See, write, check, install and run skills.", no_args_is_help=True, rich_markup_mode=None
    )
    group.command("list", help=_LIST)(list_skills)
    group.command("show", help=_SHOW)(show)
    group.command("new", help=_NEW)(new)
    group.command("validate", help=_VALIDATE)(validate)
    group.command("install", help=_INSTALL)(install)
    group.command("rm", help=_REMOVE)(remove)
    group.command("run", help=_RUN)(run)
    app.add_typer(group, name="skills")


def list_skills(as_json: AsJson = False) -> None:
    """Print the skills that can be used."""
    from toolwright.surfaces.cli import skill_facts

    loaded, known = _known()
    if as_json:
        skill_facts.print_json(skill_facts.list_data(known))
    else:
        skill_facts.print_list(known)
        skill_facts.print_notes(known, loaded)


def show(
    name: Name,
    file: Annotated[str, typer.Option(metavar="PATH", help="Print this file of the skill.")] = "",
    as_json: AsJson = False,
) -> None:
    """Print one skill."""
    from toolwright.surfaces.cli import skill_facts

    known = _known()[1].find(name)
    if file:
        skill_facts.print_file(known.skill, file)
    elif as_json:
        skill_facts.print_json(skill_facts.skill_data(known, whole=True))
    else:
        skill_facts.print_skill(known)


def new(
    name: Annotated[str, typer.Argument(help="Its name: small letters, digits and hyphens.")],
    description: Annotated[str, typer.Option(metavar="TEXT", help="What it does and when to use it.")] = "",
    script: Annotated[bool, typer.Option("--script", help="With a script that runs as a call.")] = False,
    of_project: OfProject = False,
    here: Annotated[str, typer.Option("--in", metavar="FOLDER", help="In this folder instead.")] = "",
) -> None:
    """Write a skill."""
    from toolwright.surfaces.cli import skill_changes

    folder = here or skill_changes.skills_folder(_loaded(), of_project=of_project)
    place = skill_changes.write_new(folder, name, description=description, script=script)
    typer.echo(f"{place}\nWrite its instructions, then: toolwright skills validate {place}")


def validate(
    paths: Annotated[list[str] | None, typer.Argument(metavar="[PATH]...", help="Folders of skills.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Insist on every published rule.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check skills."""
    from toolwright.surfaces.cli import skill_facts, skill_reports

    if paths:
        reports = [skill_reports.report(path, strict=strict) for path in paths]
    else:
        reports = skill_reports.reports(_known()[1], strict=strict)
    if as_json:
        skill_facts.print_json([report.data() for report in reports])
    else:
        skill_facts.print_reports(reports)
    if any(report.is_broken for report in reports):
        raise typer.Exit(1)


def install(
    source: Annotated[str, typer.Argument(metavar="PATH", help="A folder, or a zip archive.")],
    of_project: OfProject = False,
    replace: Annotated[bool, typer.Option("--replace", help="Take the place of one that is there.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Install a skill."""
    from toolwright.surfaces.cli import skill_changes

    folder = skill_changes.skills_folder(_loaded(), of_project=of_project)
    place = skill_changes.install_from(source, folder, replace=replace, unasked=yes)
    typer.echo(f"installed: {place}")


def remove(name: Name, of_project: OfProject = False) -> None:
    """Remove a skill."""
    from toolwright.surfaces.cli import skill_changes

    folder = skill_changes.skills_folder(_loaded(), of_project=of_project)
    typer.echo(f"removed: {skill_changes.remove_from(folder, name)}")


def run(
    name: Name,
    input: Input = "{}",
    json: Json = False,
    plain: Plain = False,
    raw: Raw = False,
    folder: Folder = ".",
    allow: Allow = None,
    no_input: NoInput = False,
) -> None:
    """Run a skill and draw what came of it. Ends like ``toolwright call``."""
    from toolwright.surfaces.cli.calling import Form, Request
    from toolwright.surfaces.cli.calling import run as run_calls

    if json + plain + raw > 1:
        raise typer.BadParameter("--json, --plain and --raw exclude each other")
    form: Form = "json" if json else "raw" if raw else "plain" if plain else "terminal"
    request = Request(
        name=name.replace("-", "_"),
        input=input,
        form=form,
        folder=folder,
        allow=tuple(allow or ()),
        may_ask=not no_input,
        skill=name,
    )
    raise typer.Exit(run_calls(request))


def _loaded() -> "Loaded":
    from toolwright import settings

    return settings.load(os.getcwd(), environ=os.environ)


def _known() -> "tuple[Loaded, KnownSkills]":
    from toolwright.wiring.skills import project_skills

    loaded = _loaded()
    return loaded, project_skills(loaded)
