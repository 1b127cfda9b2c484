"""``toolwright call``: run calls through the whole pipeline from the command line."""

from typing import Annotated

import typer

EPILOG = """\b
Examples:
  toolwright call read '{"file_path": "README.md", "limit": 5}'
  toolwright call grep '{"pattern": "TODO", "path": "src"}' --json
  toolwright call bash '{"command": "make"}' --allow 'Bash(make)'
  echo '{"path": "."}' | toolwright call list_dir -
  toolwright call --batch calls.jsonl --no-input
"""


Name = Annotated[str, typer.Argument(help="The tool, by any of its names.")]
Input = Annotated[str, typer.Argument(help="Its input as JSON; - reads standard input.")]
Batch = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        help='Run a file of JSON lines {"name": …, "input": …} as one block; - reads standard input.',
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object a call.")]
Plain = Annotated[bool, typer.Option("--plain", help="Print without colour, fit for a log.")]
Raw = Annotated[bool, typer.Option("--raw", help="Print exactly what a model reads.")]
Folder = Annotated[str, typer.Option("--dir", metavar="FOLDER", help="The folder to work in.")]
Mode = Annotated[
    str, typer.Option(metavar="MODE", help="default, acceptEdits, plan, dontAsk or bypassPermissions.")
]
Allow = Annotated[
    list[str] | None,
    typer.Option(metavar="RULE", help="Allow what RULE says, for this run; may be repeated."),
]
Ask = Annotated[list[str] | None, typer.Option(metavar="RULE", help="Ask about what RULE says.")]
Deny = Annotated[list[str] | None, typer.Option(metavar="RULE", help="Refuse what RULE says.")]
Toolset = Annotated[
    str, typer.Option(metavar="NAME", help="Names to offer the tools under: default, harness, engine, …")
]
Modules = Annotated[
    list[str] | None, typer.Option(metavar="MODULE", help="A module or .py file with tools of your own.")
]
Features = Annotated[
    list[str] | None, typer.Option(metavar="GATE", help="Open a feature gate; GATE=off closes it.")
]
Session = Annotated[str, typer.Option(metavar="NAME", help="Calls of one session share tasks and results.")]
NoInput = Annotated[bool, typer.Option("--no-input", help="Never ask; refuse instead.")]
ScreenReader = Annotated[
    bool, typer.Option("--screen-reader", help="Words only: no boxes, bars and spinners.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=EPILOG)(call)


def call(
    name: Name = "",
    input: Input = "{}",
    batch: Batch = "",
    json: Json = False,
    plain: Plain = False,
    raw: Raw = False,
    folder: Folder = ".",
    mode: Mode = "",
    allow: Allow = None,
    ask: Ask = None,
    deny: Deny = None,
    toolset: Toolset = "",
    tools: Modules = None,
    feature: Features = None,
    session: Session = "local",
    no_input: NoInput = False,
    screen_reader: ScreenReader = False,
) -> None:
    """Run one call, or a block of calls, through every step, and draw what came of it.

    Ends with 0 when all calls are done, 1 when one failed, 3 when one was refused, 2 for a usage
    error and 130 after Ctrl-C. Results go to standard output, everything else to standard error.
    """
    from toolwright.surfaces.cli.calling import Form, Request, run

    if bool(name) == bool(batch):
        raise typer.BadParameter("give the name of a tool and its input, or --batch FILE")
    if json + plain + raw > 1:
        raise typer.BadParameter("--json, --plain and --raw exclude each other")
    form: Form = "json" if json else "raw" if raw else "plain" if plain else "terminal"
    request = Request(
        name=name,
        input=input,
        batch=batch,
        form=form,
        folder=folder,
        mode=mode,
        allow=tuple(allow or ()),
        ask=tuple(ask or ()),
        deny=tuple(deny or ()),
        toolset=toolset,
        modules=tuple(tools or ()),
        features=tuple(feature or ()),
        session=session,
        may_ask=not no_input,
        screen_reader=screen_reader,
    )
    raise typer.Exit(run(request))
