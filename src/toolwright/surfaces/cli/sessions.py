"""``toolwright sessions``: what is stored of sessions, and what can be done with it."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from toolwright.surfaces.cli.completing import session_ids
from toolwright.surfaces.cli.drawing_options import Details, Events, Plain, ScreenReader, form, verbosity
from toolwright.surfaces.cli.stored import Folder

if TYPE_CHECKING:
    from toolwright.contracts.storage import SessionStatus

_LIST = """List sessions, the last used first.

STATUS is idle; running; waiting, for an answer or for a client's result; cut off, when the process that ran
it is gone and 'toolwright run --resume ID' goes on; or ended.

\b
Examples:
  toolwright sessions list
  toolwright sessions list --status waiting --json
"""
_SHOW = """Show a session: what was said, what was called and what came of it.

\b
Examples:
  toolwright sessions show 3f2a
  toolwright sessions show 3f2a --details full | less
  toolwright sessions show 3f2a --numbers
"""
_TAIL = """Follow a session while another process works on it. Begins with its last run.

Ends when nobody works on it any more, with the exit code that 'toolwright run' has for such an end; with
--follow only at Ctrl-C. An answer of the model is shown once it is complete.

\b
Examples:
  toolwright sessions tail 3f2a && echo done
  toolwright sessions tail 3f2a --follow --json | jq .type
"""
_EXPORT = """Write a session and its children: as one JSON document, as lines of JSON, or as Markdown to read.

Secrets are taken out: values of variables whose names say that they hold one, and what looks like one. JSON
has every entry of the log with its hash; 'toolwright sessions verify' checks them.

\b
Examples:
  toolwright sessions export 3f2a -o session.json
  toolwright sessions export 3f2a --format markdown | less
"""
_VERIFY = """Check an exported file: every hash, and that no entry is missing. Ends with 1 when one is.

\b
Example:
  toolwright sessions verify session.json
"""
_FORK = """Begin a new session with what another one holds, whole or up to an entry. Prints its id.

\b
Examples:
  toolwright sessions fork 3f2a
  toolwright sessions show 3f2a --numbers && toolwright sessions fork 3f2a --at 12
"""
_RM = """Remove sessions with their children and their files. This cannot be undone; asks before it does.

Ends with 1 when the answer is no. Refused while one of them runs.

\b
Examples:
  toolwright sessions rm 3f2a
  toolwright sessions rm 3f2a 77c1 --yes
"""

Session = Annotated[
    str,
    typer.Argument(
        metavar="SESSION",
        help="The beginning of its id; by default the last one used.",
        autocompletion=session_ids,
    ),
]
Several = Annotated[
    list[str],
    typer.Argument(metavar="SESSION...", help="Beginnings of their ids.", autocompletion=session_ids),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Numbers = Annotated[
    bool, typer.Option("--numbers", help="Add to each part the number of its entry, for fork --at.")
]


def register(app: typer.Typer) -> None:
    """Add the ``sessions`` commands."""
    group = typer.Typer(
        help="List, show, follow, export, fork and remove sessions.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command("list", help=_LIST)(list_sessions)
    group.command("show", help=_SHOW)(show)
    group.command("tail", help=_TAIL)(tail)
    group.command("export", help=_EXPORT)(export)
    group.command("verify", help=_VERIFY)(verify)
    group.command("fork", help=_FORK)(fork)
    group.command("rm", help=_RM)(remove)
    app.add_typer(group, name="sessions")


def list_sessions(
    every: Annotated[bool, typer.Option("--all", help="Also those of other folders.")] = False,
    children: Annotated[bool, typer.Option("--children", help="Also children, below their parents.")] = False,
    status: Annotated[
        str, typer.Option(metavar="STATUS", help="Only those that are idle, running, waiting or ended.")
    ] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="At most N.")] = 50,
    folder: Folder = ".",
    as_json: AsJson = False,
) -> None:
    """Print the sessions of a folder."""
    import anyio

    from toolwright.surfaces.cli import session_lists

    wanted = session_lists.Wanted(
        every=every, children=children, status=_status(status), limit=limit, folder=folder
    )
    session_lists.print_rows(anyio.run(session_lists.rows, wanted), as_json=as_json)


def show(
    session: Session = "",
    details: Details = "normal",
    numbers: Numbers = False,
    folder: Folder = ".",
    as_json: AsJson = False,
    plain: Plain = False,
    screen_reader: ScreenReader = False,
) -> None:
    """Print what happened in a session."""
    import anyio

    from toolwright.surfaces.cli import session_views

    drawing = session_views.Drawing(
        form=form(json=as_json, plain=plain),
        details=verbosity(details),
        numbers=numbers,
        screen_reader=screen_reader,
    )
    anyio.run(session_views.show, session, folder, drawing)


def tail(
    session: Session = "",
    after: Annotated[
        int | None, typer.Option("--after", metavar="N", min=0, help="Begin behind entry N of the log.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
    details: Details = "normal",
    numbers: Numbers = False,
    folder: Folder = ".",
    as_json: Events = False,
    plain: Plain = False,
    screen_reader: ScreenReader = False,
) -> None:
    """Print what happens in a session while it happens."""
    import anyio

    from toolwright.surfaces.cli import session_views

    drawing = session_views.Drawing(
        form=form(json=as_json, plain=plain),
        details=verbosity(details),
        numbers=numbers,
        screen_reader=screen_reader,
    )
    raise typer.Exit(anyio.run(session_views.tail, session, folder, drawing, after, follow))


def export(
    session: Session = "",
    written: Annotated[
        str, typer.Option("--format", "-F", metavar="FORMAT", help="json, jsonl or markdown.")
    ] = "json",
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="A new file; by default standard output."),
    ] = None,
    folder: Folder = ".",
) -> None:
    """Write a session for others to read."""
    import anyio

    from toolwright.surfaces.cli import session_exports

    anyio.run(session_exports.export, session, folder, _format(written), output)


def verify(file: Annotated[str, typer.Argument(metavar="FILE", help="A file from export.")]) -> None:
    """Check an exported file."""
    from toolwright.surfaces.cli import session_exports

    if not session_exports.verify(file):
        raise typer.Exit(1)


def fork(
    session: Session = "",
    at: Annotated[
        int | None, typer.Option("--at", metavar="N", min=1, help="Up to entry N; by default all.")
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="A title of its own.")] = "",
    folder: Folder = ".",
) -> None:
    """Begin a new session with what another one holds."""
    import anyio

    from toolwright.surfaces.cli import session_changes

    anyio.run(session_changes.fork, session, folder, at, title)


def remove(
    sessions: Several,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    folder: Folder = ".",
) -> None:
    """Remove sessions."""
    import anyio

    from toolwright.surfaces.cli import session_changes

    going = anyio.run(session_changes.going, sessions, folder)
    if not yes and not session_changes.confirmed(going):
        raise typer.Exit(1)
    anyio.run(session_changes.remove, going, folder)


# --- what was typed -------------------------------------------------------------------------


def _status(written: str) -> "SessionStatus | None":
    match written:
        case "":
            return None
        case "idle" | "running" | "waiting" | "ended":
            return written
        case _:
            raise typer.BadParameter("--status is idle, running, waiting or ended")


def _format(written: str) -> Literal["json", "jsonl", "markdown"]:
    match written:
        case "json" | "jsonl" | "markdown":
            return written
        case "md":
            return "markdown"
        case _:
            raise typer.BadParameter("--format is json, jsonl or markdown")
