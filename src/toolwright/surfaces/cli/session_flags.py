"""The options with which ``run`` and ``chat`` say which session is meant and what it may do."""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolwright.surfaces.cli.completing import session_ids

if TYPE_CHECKING:
    from toolwright.surfaces.cli.session_options import SessionOptions
Model = Annotated[str, typer.Option("--model", "-m", metavar="MODEL", help="Who is asked: provider/model.")]
Agent = Annotated[str, typer.Option(metavar="NAME", help="The agent that works; see `toolwright agents`.")]
Mode = Annotated[
    str,
    typer.Option(
        "--permission-mode",
        "--mode",
        metavar="MODE",
        help="default, acceptEdits, plan, dontAsk or bypassPermissions.",
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(metavar="RULE", help="Allow what RULE says, this time; may be repeated."),
]
Ask = Annotated[list[str] | None, typer.Option(metavar="RULE", help="Ask about what RULE says.")]
Deny = Annotated[list[str] | None, typer.Option(metavar="RULE", help="Refuse what RULE says.")]
Continue = Annotated[
    bool, typer.Option("--continue", "-c", help="Go on with the session of this folder that was used last.")
]
Resume = Annotated[
    str,
    typer.Option(
        metavar="ID",
        help="Go on with a session; the beginning of its id is enough.",
        autocompletion=session_ids,
    ),
]
Folder = Annotated[str, typer.Option("--dir", metavar="FOLDER", help="The folder to work in.")]
Toolset = Annotated[
    str, typer.Option(metavar="NAME", help="Names to offer the tools under: default, harness, engine, …")
]
Modules = Annotated[
    list[str] | None, typer.Option(metavar="MODULE", help="A module or .py file with tools of your own.")
]
Vaults = Annotated[
    list[str] | None,
    typer.Option("--vault", metavar="NAME", help="Show MCP servers what this vault holds; may be repeated."),
]
Rounds = Annotated[int | None, typer.Option(metavar="N", min=1, help="Ask the model at most N times.")]
Calls = Annotated[int | None, typer.Option(metavar="N", min=1, help="Run at most N calls.")]
Cost = Annotated[float | None, typer.Option(metavar="DOLLARS", min=0.0, help="Spend at most so much.")]
Seconds = Annotated[float | None, typer.Option(metavar="S", min=0.0, help="Work for at most S seconds.")]


def with_session(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options of ``chosen`` besides its own; it is given what they say first."""
    shared = inspect.signature(chosen).parameters
    own = list(inspect.signature(command).parameters.values())[1:]

    def whole(**typed: Any) -> None:
        command(chosen(**{name: typed.pop(name) for name in shared}), **typed)

    both = [*shared.values(), *own]
    keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in both]
    whole.__annotations__ = {parameter.name: parameter.annotation for parameter in both}
    vars(whole)["__signature__"] = inspect.Signature(keywords)
    return whole


def chosen(
    model: Model = "",
    agent: Agent = "",
    permission_mode: Mode = "",
    allow: Allow = None,
    ask: Ask = None,
    deny: Deny = None,
    continues: Continue = False,
    resume: Resume = "",
    folder: Folder = ".",
    toolset: Toolset = "",
    tools: Modules = None,
    vaults: Vaults = None,
    max_rounds: Rounds = None,
    max_calls: Calls = None,
    max_cost: Cost = None,
    max_seconds: Seconds = None,
) -> "SessionOptions":
    """Return what a person typed about the session."""
    from toolwright.surfaces.cli.session_options import SessionOptions

    return SessionOptions(
        folder=folder,
        model=model,
        agent=agent,
        mode=permission_mode,
        toolset=toolset,
        allow=tuple(allow or ()),
        ask=tuple(ask or ()),
        deny=tuple(deny or ()),
        max_rounds=max_rounds,
        max_calls=max_calls,
        max_cost=max_cost,
        max_seconds=max_seconds,
        tools=tuple(tools or ()),
        vaults=tuple(vaults or ()),
        continues=continues,
        resume=resume,
    )
