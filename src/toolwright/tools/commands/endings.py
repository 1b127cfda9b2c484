"""Word how a command ended: for the model, for a person, and as data."""

from dataclasses import dataclass, replace
from typing import Any, Final

from toolwright.contracts.ports import Exit
from toolwright.contracts.tool import Done, Failed, Outcome
from toolwright.contracts.view import Output
from toolwright.tools.commands import exits
from toolwright.tools.commands.printed import about_output, coloured, plain, shortened_bytes
from toolwright.tools.commands.setup import CommandSetup

_SHOWN: Final = 1024 * 1024
"""Bytes of output that a person may unfold; the model's text is stored whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Everything known about a command that no longer runs in the foreground."""

    command: str
    output: bytes
    exit: Exit | None = None
    """None while it goes on in the background."""
    timed_out: float | None = None
    """The seconds after which it was ended or moved."""
    task_id: str | None = None
    cwd: str = ""
    new_cwd: str | None = None
    dropped: int = 0
    """Bytes of output that are no longer there."""
    notes: tuple[str, ...] = ()


def outcome_of(ending: Ending, setup: CommandSetup) -> Outcome:
    """The outcome of a command: a failure when it failed, ran out of time or printed too much.

    Takes a while for many megabytes of output.
    """
    text = plain(ending.output)
    ending = replace(ending, notes=(*about_output(ending.output, ending.dropped), *ending.notes))
    if ending.task_id is not None:
        return _moved(ending, text, setup)
    end = ending.exit or Exit(None)
    if ending.timed_out is not None:
        return _failed(ending, text, "timeout", f"Timed out after {ending.timed_out:g} s and was ended.")
    if end.limit == "output":
        return _failed(ending, text, "output_limit", f"Ended: it printed {end.output_bytes} bytes.")
    if end.limit == "memory":
        return _failed(ending, text, "command_failed", "Ended: it used more memory than a command may.")
    if not end.code:
        return _done(ending, text, interpretation=None)
    meaning = exits.interpretation(ending.command, end.code, setup.benign)
    if meaning is None:
        return _failed(ending, text, "command_failed", exits.described(end.code))
    note = f"(exit code {end.code}: {meaning})"
    return _done(
        ending, "\n".join(part for part in (text.rstrip("\n"), note) if part), interpretation=meaning
    )


def data_of(
    ending: Ending, text: str, interpretation: str | None = None, *, stored_path: str | None = None
) -> dict[str, Any]:
    """The structured output. Where the result is stored because it is too large is filled in later."""
    end = ending.exit
    return {
        "stdout": text,
        "exit_code": None if end is None else end.code,
        "interrupted": False,
        "timed_out": ending.timed_out is not None,
        "background_task_id": ending.task_id,
        "stored_path": stored_path,
        "cwd": ending.new_cwd or ending.cwd,
        "interpretation": interpretation,
        "dropped_bytes": ending.dropped,
    }


def _shown(output: bytes) -> Output:
    return Output(coloured(shortened_bytes(output, _SHOWN)), ansi=True)


def _with_notes(text: str, notes: tuple[str, ...]) -> str:
    return "\n".join([text.rstrip("\n"), *notes]).lstrip("\n") if notes else text


def _done(ending: Ending, text: str, *, interpretation: str | None) -> Done:
    return Done(
        _with_notes(text, ending.notes),
        data=data_of(ending, text, interpretation),
        view=_shown(ending.output),
        new_cwd=ending.new_cwd,
    )


def _moved(ending: Ending, text: str, setup: CommandSetup) -> Done:
    path = setup.output_path(ending.task_id or "")
    started = f"Running in the background as {ending.task_id}. Output goes to {path}."
    if ending.timed_out is not None:
        started = (
            f"Still running after {ending.timed_out:g} s: it goes on in the background as {ending.task_id}. "
            f"Output goes to {path}. A directory it changes to does not become the working directory."
        )
    content = "\n".join(part for part in (text.rstrip("\n"), started, *ending.notes) if part)
    return Done(content, data=data_of(ending, text, stored_path=path), view=_shown(ending.output))


def _failed(ending: Ending, text: str, code: Any, message: str) -> Failed:
    body = text.strip("\n")
    return Failed(
        code,
        message,
        content=_with_notes("\n".join(part for part in (message, body) if part), ending.notes),
        data=data_of(ending, text),
        view=_shown(ending.output),
    )
