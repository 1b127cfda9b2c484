"""``toolwright run``: let an agent do a task, and watch it."""

from typing import TYPE_CHECKING, Annotated

import typer

from toolwright.surfaces.cli.drawing_options import Details, Plain, ScreenReader, form, verbosity
from toolwright.surfaces.cli.session_flags import with_session

if TYPE_CHECKING:
    from toolwright.surfaces.cli.session_options import SessionOptions

_HELP = """Let an agent do a task, show what it says and does, and ask before it does what needs asking.

What the model says goes to standard output, all else to standard error. Where nobody can be asked, what
would need asking is refused. Ctrl-C stops the agent, a second one leaves at once; the session stays, and can
be resumed. Resumed without a task it goes on where its process died, where a question was left open, or where
the model could not be asked.

Ends with 0 when the agent is done, 1 when the run failed, 2 for a usage error, 3 when a person or a hook
stopped it, 4 when it waits for an answer, 5 at a limit, 6 when the answer or the conversation was too long,
7 when the model refused, and 130 after Ctrl-C.

\b
Examples:
  toolwright run "Why does the build fail?"
  toolwright run "Fix it" --continue --allow 'Bash(make *)'
  git diff | toolwright run - --permission-mode plan
  toolwright run --skill review-changes main..HEAD
  toolwright run "Describe this" --attach screen.png --model ollama/qwen3
  toolwright run "Count the TODOs" --json --max-rounds 20 | jq .type
"""

Task = Annotated[str, typer.Argument(metavar="TASK", help="What to do; - reads standard input.")]
Attach = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE", help="Hand over an image, a PDF or a text file; may be repeated."),
]
Skill = Annotated[
    str, typer.Option(metavar="NAME", help="Work as this skill says; TASK is what it is to work on.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON for each event, and a last one.")]
NoInput = Annotated[bool, typer.Option("--no-input", help="Never ask; refuse instead.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run", help=_HELP)(with_session(run))


def run(
    options: "SessionOptions",
    task: Task = "",
    attach: Attach = None,
    skill: Skill = "",
    details: Details = "normal",
    json: Json = False,
    plain: Plain = False,
    no_input: NoInput = False,
    screen_reader: ScreenReader = False,
) -> None:
    """Do a task, or go on with one."""
    from toolwright.surfaces.cli.running import RunRequest, run_task

    request = RunRequest(
        task=task,
        attached=tuple(attach or ()),
        skill=skill,
        form=form(json=json, plain=plain),
        details=verbosity(details),
        may_ask=not no_input,
        screen_reader=screen_reader,
    )
    raise typer.Exit(run_task(request, options))
