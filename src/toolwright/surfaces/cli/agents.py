"""``toolwright agents``: see which agents there are, and whether their files are right."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from toolwright.catalog.folders import KnownAgents
    from toolwright.settings import Loaded

_LIST = """List the agents that can be used here, and where each is defined.

\b
Examples:
  toolwright agents list
  toolwright agents list --json
"""
_SHOW = """Show one agent: its file, what it may use, and its instructions.

\b
Example:
  toolwright agents show explore
"""
_VALIDATE = """Check agent files: how they are written, their rules, tools and hooks. Nothing of them is run.

Without FILE, all of this project and your own. Ends with 1 when a file cannot be used.

\b
Examples:
  toolwright agents validate
  toolwright agents validate reviewer.md --json
"""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the ``agents`` commands."""
    group = typer.Typer(help="See and check agents.", no_args_is_help=True, rich_markup_mode=None)
    group.command("list", help=_LIST)(list_agents)
    group.command("show", help=_SHOW)(show)
    group.command("validate", help=_VALIDATE)(validate)
    app.add_typer(group, name="agents")


def list_agents(as_json: AsJson = False) -> None:
    """Print the agents that can be used."""
    from toolwright.surfaces.cli import agent_facts

    loaded, known = _known()
    if as_json:
        agent_facts.print_json(agent_facts.list_data(known))
    else:
        agent_facts.print_list(known)
        agent_facts.print_notes(known, loaded)


def show(name: Annotated[str, typer.Argument(help="Name of the agent.")], as_json: AsJson = False) -> None:
    """Print one agent."""
    from toolwright.surfaces.cli import agent_facts

    agent = _known()[1].find(name)
    if as_json:
        agent_facts.print_json(agent_facts.agent_data(agent, whole=True))
    else:
        agent_facts.print_agent(agent)


def validate(
    files: Annotated[list[str] | None, typer.Argument(metavar="[FILE]...", help="Agent files.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check files."""
    from toolwright.surfaces.cli import agent_facts, agent_reports
    from toolwright.wiring.agents import AgentChecks

    loaded, known = _known()
    checks = AgentChecks(loaded, [agent.definition.name for agent in known.agents])
    reports = agent_reports.reports_on_files(files, checks) if files else agent_reports.reports(known, checks)
    if as_json:
        agent_facts.print_json([report.data() for report in reports])
    else:
        agent_facts.print_reports(reports)
    if any(report.is_broken for report in reports):
        raise typer.Exit(1)


def _known() -> "tuple[Loaded, KnownAgents]":
    from toolwright import settings
    from toolwright.catalog.folders import known_agents

    loaded = settings.load(os.getcwd(), environ=os.environ)
    user = settings.user_folder(loaded.environ)
    return loaded, known_agents(loaded.project, user, trusted=loaded.trusted)
