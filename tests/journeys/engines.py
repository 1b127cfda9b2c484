"""Engines for journeys: a scripted model, tools of our own, a real database, and what must hold of a log."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from toolwright import ClientTool, Engine, Session, tool
from toolwright.contracts.events import CallEnded, CallStarted, Event, LiveDelta, ModelAnswered, Record
from toolwright.contracts.messages import CallBlock, Message, ResultBlock
from toolwright.contracts.models import ModelRequest
from toolwright.testing import ScriptedModel


@tool(read_only=True)
def look(at: str) -> str:
    """Look at something.

    Args:
        at: What to look at.
    """
    return f"saw {at}"


class Desk:
    """A tool that asks before it runs, and what it was made to do."""

    def __init__(self) -> None:
        self.written: list[str] = []

    @property
    def tool(self) -> Any:
        @tool
        def write_down(text: str) -> str:
            """Write something down.

            Args:
                text: What to write.
            """
            self.written.append(text)
            return f"wrote {text}"

        return write_down


weigh = ClientTool(
    "weigh",
    "Weigh a thing on the client's scales.",
    {"type": "object", "properties": {"thing": {"type": "string"}}, "required": ["thing"]},
)


def engine(folder: Path, script: Iterable[Any] | ScriptedModel, **more: Any) -> Engine:
    """Return an engine in a folder; one made for the same folder later finds its sessions."""
    model = script if isinstance(script, ScriptedModel) else ScriptedModel(script)
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    given: dict[str, Any] = {
        "model": model,
        "tools": [look, Desk().tool, weigh],
        "environ": {"HOME": str(folder / "home")},
        "workspace": project,
        **more,
    }
    return Engine(**given)


async def log_of(session: Session) -> list[Record]:
    """Return the whole log of a session that nobody works on."""
    return [record async for record in session.stream()]


def events_of(records: Iterable[Record]) -> list[Event]:
    return [record.event for record in records]


def kinds(records: Iterable[Record]) -> list[str]:
    return [type(record.event).__name__ for record in records]


def without_deltas(records: Iterable[Record]) -> list[Record]:
    return [record for record in records if not isinstance(record.event, LiveDelta)]


def check_log(records: Sequence[Record]) -> None:
    """Numbers have no gap; every call that a model made has one result, and none began twice for nothing."""
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    events = events_of(records)
    asked = [
        block.call_id
        for event in events
        if isinstance(event, ModelAnswered)
        for block in event.blocks
        if isinstance(block, CallBlock)
    ]
    ended = [event.call_id for event in events if isinstance(event, CallEnded)]
    started = [event.call_id for event in events if isinstance(event, CallStarted)]
    assert sorted(ended) == sorted(asked)
    assert set(started) <= set(asked)


def check_requests(requests: Iterable[ModelRequest]) -> None:
    """Every request is one a provider accepts: each call is answered once, in the message after it."""
    for request in requests:
        check_messages(request.messages)


def check_messages(messages: Sequence[Message]) -> None:
    for place, message in enumerate(messages):
        results = [block.call_id for block in message.blocks if isinstance(block, ResultBlock)]
        before = messages[place - 1].calls if place else ()
        assert results == [call.call_id for call in before]
        if message.calls:
            assert place + 1 < len(messages)
