"""Models for families of sessions: each agent plays a script of its own, told apart by its task."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from toolwright import AgentDefinition, Engine, Session, call
from toolwright.contracts.events import ChildEnded, ChildStarted, Event
from toolwright.contracts.messages import CallBlock, ResultBlock
from toolwright.contracts.models import ModelEvent, ModelProfile, ModelRequest
from toolwright.sessions.state import SessionState
from toolwright.testing import ScriptedModel

AGENT_TOOLS = ("agent", "list_agents", "send_message", "await_agents", "task_stop")
MAIN = "Begin."


class Cast:
    """A ``ModelProvider``: scripts by a word of the first message; that of the main session is ``MAIN``."""

    name = "scripted"

    def __init__(self, parts: Mapping[str, Iterable[Any]], profile: ModelProfile | None = None) -> None:
        profiles = {"scripted": profile} if profile is not None else {}
        self.parts = {word: ScriptedModel(script, profiles=profiles) for word, script in parts.items()}

    def profile(self, model: str) -> ModelProfile:
        return next(iter(self.parts.values())).profile(model)

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        first = request.messages[0].text
        return next(part for word, part in self.parts.items() if word in first).stream(request)

    def asked(self, word: str) -> list[ModelRequest]:
        return self.parts[word].asked

    async def close(self) -> None:
        """Nothing is held open."""


def start(prompt: str, /, **more: Any) -> CallBlock:
    """Return a call that starts an agent."""
    return call("agent", description=f"Do {prompt.split()[0]}", prompt=prompt, **more)


def family(folder: Path, model: Cast, **more: Any) -> Engine:
    """Return an engine whose agents may start others."""
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    given: dict[str, Any] = {
        "tools": AGENT_TOOLS,
        "environ": {"HOME": str(folder / "home")},
        "workspace": project,
        **more,
    }
    return Engine(model=model, **given)


def results(request: ModelRequest) -> list[ResultBlock]:
    """Return the results that a model reads last."""
    return [block for block in request.messages[-1].blocks if isinstance(block, ResultBlock)]


def started(events: Iterable[Event]) -> list[ChildStarted]:
    return [event for event in events if isinstance(event, ChildStarted)]


def ended(events: Iterable[Event]) -> list[ChildEnded]:
    return [event for event in events if isinstance(event, ChildEnded)]


async def child_of(works: Engine, session: Session, place: int = 0) -> Session:
    """Return a child of a session, by the order in which they were started."""
    state: SessionState = await session.state()
    return await works.open(list(state.children)[place])


NARROW = AgentDefinition(name="narrow", description="Only looks.", tools=("look",))


def texts(request: ModelRequest) -> list[str]:
    """Return what the results that a model reads last say."""
    return [str(block.content) for block in results(request)]


async def until_rest(session: Session) -> SessionState:
    """Return the state of a session once its own run has ended, whatever its agents do."""
    async with asyncio.timeout(20):
        while (state := await session.state()).last_end is None or state.run is not None:
            await asyncio.sleep(0)
    return state
