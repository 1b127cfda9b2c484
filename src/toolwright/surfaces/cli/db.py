"""``toolwright db``: check, copy, put back and export the database of sessions."""

import asyncio
import os
from typing import TYPE_CHECKING, Annotated

import typer

from toolwright.surfaces.cli.completing import session_ids

if TYPE_CHECKING:
    from toolwright.contracts.storage import DatabaseReport
    from toolwright.settings import Loaded

_CHECK = """Check the database: the file, its format, and the hash chain of every session.

Changes nothing, and may run while sessions do. FILE is another database, such as a backup. Names the first
entry of each session that is not as it was written. Ends with 1 when anything is wrong.

\b
Examples:
  toolwright db check
  toolwright db check ~/backups/monday.db
  toolwright db check --json
"""
_BACKUP = """Copy the database into one file, as it is at one moment. Sessions may go on meanwhile.

Never writes over a file. What sessions keep in files of their own, such as large results, is not in it.

\b
Example:
  toolwright db backup ~/backups/monday.db
"""
_RESTORE = """Put a backup in the place of the database. The present one is kept beside it.

Refused while a program runs sessions, and when the backup is damaged.

\b
Example:
  toolwright db restore ~/backups/monday.db
"""
_EXPORT = """Print all sessions, or those named, as lines of JSON: every entry as written, and its hash.

\b
Examples:
  toolwright db export -o everything.jsonl
  toolwright db export 3f2a 77c1 | jq .entry.type
"""
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Output = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="A new file; by default standard output.")
]


def register(app: typer.Typer) -> None:
    """Add the ``db`` commands."""
    group = typer.Typer(
        help="Check, copy and export the database of sessions.", no_args_is_help=True, rich_markup_mode=None
    )
    group.command("check", help=_CHECK)(check)
    group.command("backup", help=_BACKUP)(backup)
    group.command("restore", help=_RESTORE)(restore)
    group.command("export", help=_EXPORT)(export)
    app.add_typer(group, name="db")


def check(
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="Another database.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a database."""
    from toolwright.surfaces.cli.stored import settings_here
    from toolwright.wiring.storage import check_database

    path = file or _database(settings_here())
    if file is None and not os.path.exists(path):
        typer.echo("[]" if as_json else f"ok: there is no database yet at {path}")
        return
    report = check_database(path)
    if as_json:
        _print_json(report)
    else:
        _print(report)
    if not report.is_whole:
        raise typer.Exit(1)


def backup(file: Annotated[str, typer.Argument(metavar="FILE", help="Where the copy goes.")]) -> None:
    """Copy the database."""
    from toolwright.surfaces.cli.stored import settings_here
    from toolwright.wiring.storage import back_up, check_database

    back_up(_database(settings_here()), file)
    report = check_database(file)
    typer.echo(f"{file} holds {_counted(report)}")
    if report.damage:
        typer.echo("The logs in it are as they are in the database, damage included:", err=True)
        _print(report)
        raise typer.Exit(1)


def restore(file: Annotated[str, typer.Argument(metavar="FILE", help="A backup.")]) -> None:
    """Put a backup in place."""
    from toolwright.surfaces.cli.stored import settings_here
    from toolwright.wiring.storage import check_database
    from toolwright.wiring.storage import restore as put_in_place

    path = _database(settings_here())
    old = put_in_place(file, path)
    typer.echo(f"{path} holds {_counted(check_database(path))}")
    if old:
        typer.echo(f"what was there before is kept as {old}")


def export(
    sessions: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SESSION]...", help="Ids, or how they begin.", autocompletion=session_ids),
    ] = None,
    output: Output = None,
) -> None:
    """Print sessions as lines of JSON."""
    from toolwright.surfaces.cli.stored import existing_sessions

    asyncio.run(_export(existing_sessions(), sessions or [], output))


async def _export(loaded: "Loaded", wanted: list[str], output: str | None) -> None:
    from toolwright.sessions.exporting import exported_lines
    from toolwright.sessions.finding import session_meant
    from toolwright.surfaces.cli.output import exported_to
    from toolwright.wiring.storage import open_events

    async with open_events(_database(loaded)) as store:
        ids = [await session_meant(store, words) for words in wanted] or await store.ids()
        with exported_to(output) as file:
            for session_id in ids:
                async for line in exported_lines(store, session_id):
                    file.write(line)


def _database(loaded: "Loaded") -> str:
    from toolwright.wiring.storage import database_path

    return database_path(loaded)


def _counted(report: "DatabaseReport") -> str:
    sessions = "1 session" if report.sessions == 1 else f"{report.sessions:,} sessions"
    return f"{sessions} with {report.entries:,} entries"


def _print(report: "DatabaseReport") -> None:
    from toolwright.surfaces.rendering.safety import marked

    for problem in report.problems:
        typer.echo(f"broken: {marked(problem)}")
    for damage in report.damage:
        typer.echo(
            f"broken: session {marked(damage.session_id)}, entry {damage.seq}: {marked(damage.problem)}"
        )
    if report.is_whole:
        older = report.format < report.newest_format
        note = f" (brought up to format {report.newest_format} when it is next opened)" if older else ""
        typer.echo(f"ok: {report.path}, format {report.format}{note}, {_counted(report)}, every hash fits")


def _print_json(report: "DatabaseReport") -> None:
    import orjson

    data = {"ok": report.is_whole, "report": report}
    typer.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode())
