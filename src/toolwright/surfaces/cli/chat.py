"""``toolwright chat``: talk to an agent at a terminal."""

from typing import TYPE_CHECKING, Annotated

import typer

from toolwright.surfaces.cli.drawing_options import Details, ScreenReader, verbosity
from toolwright.surfaces.cli.session_flags import with_session

if TYPE_CHECKING:
    from toolwright.surfaces.cli.session_options import SessionOptions

_HELP = """Talk to an agent: say what to do, watch it, answer its questions, interrupt it, go on.

Enter sends, Alt-Enter begins a line, @ names a file, / begins a command; /help shows them all. What is
typed while the agent works waits in a queue. Ctrl-C interrupts, Ctrl-D leaves; the session stays, and can be
resumed.

\b
Examples:
  toolwright chat
  toolwright chat --continue
  toolwright chat --pick
  toolwright chat --model ollama/qwen3 --permission-mode plan
"""
Task = Annotated[str, typer.Argument(metavar="[TASK]", help="What to say first.")]
Pick = Annotated[bool, typer.Option("--pick", help="Choose a session of this folder to go on with.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("chat", help=_HELP)(with_session(chat))


def chat(
    options: "SessionOptions",
    task: Task = "",
    pick: Pick = False,
    details: Details = "normal",
    screen_reader: ScreenReader = False,
) -> None:
    """Talk to a session."""
    from toolwright.surfaces.cli.chatting import ChatRequest, chat_at_terminal

    request = ChatRequest(task=task, pick=pick, details=verbosity(details), screen_reader=screen_reader)
    chat_at_terminal(request, options)
