"""How a person sees a command."""

from collections.abc import Mapping
from typing import Any

from toolwright.contracts.content import text_of
from toolwright.contracts.tool import CallState, Done, Failed
from toolwright.contracts.view import Badge, Collapsible, Command, Line, Node, Output, Stack, Text, View
from toolwright.tools.commands.printed import last_line
from toolwright.tools.generic_view import first_line

_SHOWN = 10


def command_view(call: CallState, *, title: str) -> View:
    """Description and command, then output: ten lines of it open, the rest folded."""
    command = str(call.input.get("command") or "")
    description = str(call.input.get("description") or "")
    done = call.outcome if isinstance(call.outcome, Done) else None
    failed = call.outcome if isinstance(call.outcome, Failed) else None
    use = Command(command, cwd=call.cwd or None, description=description or None)
    rejected = call.phase == "rejected"
    return View(
        title=title,
        activity=description or first_line(command),
        use=use,
        progress=_progress(call),
        result=None if done is None else folded(done.view),
        error=_error(failed) if failed is not None and not rejected else None,
        rejected=Stack((Line((Text("rejected", "warn"),)), use)) if rejected else None,
        summary=_summary(done, failed),
    )


def folded(node: Node | None) -> Node | None:
    """Long output folded to its last lines."""
    if not isinstance(node, Output):
        return node
    lines = node.text.splitlines()
    if len(lines) <= _SHOWN:
        return node if lines else None
    tail = Output("\n".join(lines[-_SHOWN:]), node.stream, node.ansi)
    return Collapsible(tail, node, hidden_lines=len(lines) - _SHOWN)


def _progress(call: CallState) -> Node | None:
    news = call.progress
    if news is None or call.outcome is not None or not news.output:
        return None
    return Output("\n".join(news.output.splitlines()[-_SHOWN:]), ansi=True)


def _error(failed: Failed) -> Node:
    head = Line((Badge(failed.code, "error"), Text(" " + failed.message, "error")))
    output = folded(failed.view)
    hint = (Text(failed.hint, "dim"),) if failed.hint else ()
    return Stack((head, *((output,) if output is not None else ()), *hint))


def _summary(done: Done | None, failed: Failed | None) -> str:
    if failed is not None:
        return first_line(failed.message).replace("Exit code ", "exit ", 1)
    if done is None:
        return ""
    data: Mapping[str, Any] = done.data if isinstance(done.data, Mapping) else {}
    if data.get("background_task_id"):
        return f"in background as {data['background_task_id']}"
    if data.get("exit_code"):
        return f"exit {data['exit_code']}"
    return last_line(data.get("stdout", text_of(done.content)))
