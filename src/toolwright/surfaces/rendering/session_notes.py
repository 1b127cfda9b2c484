"""What happened in a session besides words and calls, in one line for a person (pure)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from toolwright.contracts.events import (
    ChildEnded,
    ChildStarted,
    Compacted,
    Event,
    HookFinished,
    LoopDetected,
    ModelChosen,
    ModelFailed,
    PermissionsChanged,
    PreambleChanged,
    RegistryConflict,
    RunEnded,
    RunEndKind,
    ServerChanged,
    SessionEnded,
    TaskChanged,
)
from toolwright.contracts.permissions import RuleChange
from toolwright.contracts.view import Tone

_MOST_SAID = 200
"""Characters of an agent's last words in a note; the whole stands with its call."""


@dataclass(frozen=True, slots=True)
class Note:
    """One line about something that is neither said nor called."""

    text: str
    tone: Tone = "neutral"


_ENDS: Mapping[RunEndKind, tuple[str, Tone]] = {
    "interrupted": ("interrupted", "warn"),
    "limit": ("a limit is reached", "warn"),
    "max_tokens": ("the answer ended at its size limit", "warn"),
    "refusal": ("the model refused", "warn"),
    "context_full": ("the conversation does not fit the model any more", "error"),
    "stopped": ("stopped", "warn"),
    "failed": ("the run failed", "error"),
}


def note_of(event: Event) -> Note | None:
    """Return what to say of an event; None for what shows itself or nobody needs to know."""
    say = _SAID.get(type(event))
    return None if say is None else say(event)


def change_text(change: RuleChange) -> str:
    """Return a change of the permissions in words."""
    what = change.mode or ", ".join(change.rules or change.directories)
    verb = {
        "addRules": change.behavior,
        "removeRules": f"no longer {change.behavior}",
        "replaceRules": f"{change.behavior} only",
        "setMode": "mode",
        "addDirectories": "work in",
        "removeDirectories": "no longer work in",
    }[change.kind]
    return f"{verb} {what}"


def _ended(event: RunEnded) -> Note | None:
    known = _ENDS.get(event.end)
    if known is None:
        return None
    text, tone = known
    return Note(event.message or text, tone)


def _model_failed(event: ModelFailed) -> Note | None:
    if event.retry_in is None:
        return None  # the end of the run says it
    whom = (
        f"asking {event.next_model} instead"
        if event.next_model
        else f"trying again in {max(event.retry_in, 1):.0f} s"
    )
    return Note(f"{event.code}: {event.message} ({whom})", "warn")


def _hook(event: HookFinished) -> Note | None:
    said = " ".join(filter(None, (event.message, event.problem)))
    return Note(f"hook {event.label}: {said}", "warn" if event.problem else "neutral") if said else None


def _loop(event: LoopDetected) -> Note:
    return Note(f"{event.tool} was called the same way {event.times} times", "warn")


def _task(event: TaskChanged) -> Note:
    return Note(f"task {event.task_id} ({event.kind}): {event.status}")


def _compacted(event: Compacted) -> Note:
    return Note(f"{event.messages} messages were summarised, {event.tokens_before:,} tokens before")


def _child_began(event: ChildStarted) -> Note:
    return Note(f"{event.name or event.agent} begins: {event.description or event.agent}")


def _child_over(event: ChildEnded) -> Note:
    lines = (event.message or event.summary).strip().splitlines()
    said = f": {lines[0][:_MOST_SAID]}" if lines else ""
    calls = f"{event.calls} call{'' if event.calls == 1 else 's'}"
    ended = "is done" if event.end in {"done", "returned"} else f"ended ({event.end})"
    return Note(f"the agent {ended}, {calls}, {event.usage.context_tokens:,} tokens{said}")


def _permitted(event: PermissionsChanged) -> Note:
    return Note("permissions: " + "; ".join(map(change_text, event.changes)))


def _conflict(event: RegistryConflict) -> Note:
    return Note(f"two tools are named {event.name}: {event.kept} is used, {event.dropped} is not", "warn")


def _server(event: ServerChanged) -> Note:
    told = f"MCP server {event.name}: {event.status.replace('_', ' ')}"
    if event.status == "connected":
        told += f", {event.tools} tool{'' if event.tools == 1 else 's'}"
    told += f" ({event.reason})" if event.reason else ""
    if event.held_back:
        told += f"; changed since they were accepted: {', '.join(event.held_back)}"
    bad = event.status in {"failed", "needs_auth"} or event.held_back or event.left_out
    told += f"; {len(event.left_out)} odd definitions" if event.left_out else ""
    return Note(told, "warn" if bad else "neutral")


def _preamble(event: PreambleChanged) -> Note | None:
    return Note(event.reason) if event.reason else None


_SAID: Mapping[type, Callable[[Any], Note | None]] = {
    RunEnded: _ended,
    ModelFailed: _model_failed,
    HookFinished: _hook,
    LoopDetected: _loop,
    TaskChanged: _task,
    Compacted: _compacted,
    ChildStarted: _child_began,
    ChildEnded: _child_over,
    PermissionsChanged: _permitted,
    RegistryConflict: _conflict,
    ServerChanged: _server,
    PreambleChanged: _preamble,
    ModelChosen: lambda event: Note(f"model: {event.model}"),
    SessionEnded: lambda event: Note(f"the session has ended {event.reason}".rstrip()),
}
