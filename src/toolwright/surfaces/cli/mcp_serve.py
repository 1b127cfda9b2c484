"""``toolwright mcp serve``: our tools for other agents, over standard input and output."""

import os
from typing import Annotated

import typer

from toolwright.surfaces.cli.call import Allow, Ask, Deny, Features, Mode, Modules, Toolset

_SERVE = """Offer tools, agents and files to another agent over standard input and output.

The program that starts this speaks the Model Context Protocol. Every call goes through rules, hooks and the
sandbox as any other; what would be asked is put to the person in front of that program, where it can show
questions, and refused with a reason where it cannot. For many clients over HTTP see 'toolwright serve': it
answers at /mcp.

\b
Examples:
  toolwright mcp serve
  toolwright mcp serve --dir ~/project --allow 'Bash(make *)'
  toolwright mcp serve --tool read --tool grep --no-agents
  claude mcp add toolwright -- toolwright mcp serve --dir .
"""

Folder = Annotated[str, typer.Option("--dir", metavar="FOLDER", help="The folder to work in.")]
Names = Annotated[
    list[str] | None, typer.Option("--tool", metavar="NAME", help="Offer only these built-in tools.")
]
Agents = Annotated[bool, typer.Option("--agents/--no-agents", help="Offer agents as tools and prompts.")]
Skills = Annotated[bool, typer.Option("--skills/--no-skills", help="Offer skills as tools.")]
ModelName = Annotated[str, typer.Option("--model", help="The model of agents that name none.")]


def add_to(group: typer.Typer) -> None:
    """Add the command to the group of commands about the protocol."""
    group.command(help=_SERVE)(serve)


def serve(
    folder: Folder = ".",
    tool: Names = None,
    tools: Modules = None,
    agents: Agents = True,
    skills: Skills = True,
    model: ModelName = "",
    mode: Mode = "",
    allow: Allow = None,
    ask: Ask = None,
    deny: Deny = None,
    toolset: Toolset = "",
    feature: Features = None,
) -> None:
    """Serve."""
    from toolwright.surfaces.cli.mcp_serving import Asked, run

    asked = Asked(
        environ=dict(os.environ),
        folder=folder,
        names=None if tool is None else tuple(tool),
        modules=tuple(tools or ()),
        agents=agents,
        skills=skills,
        model=model,
        mode=mode,
        allow=tuple(allow or ()),
        ask=tuple(ask or ()),
        deny=tuple(deny or ()),
        toolset=toolset,
        features=tuple(feature or ()),
    )
    run(asked)
