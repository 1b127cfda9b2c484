"""Whole runs over real HTTP against a server that fails in every way there is, in every protocol.

Each ends as the table of docs/explain/models.md says, no call runs twice, and the session can be used on.
"""

from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.endurance.promises import broken
from tests.journeys.engines import check_messages, events_of, log_of
from tests.ports.model_faults import FAULTS, LONG, ServerFault

from toolwright import Engine, Session, tool
from toolwright.contracts.content import TextBlock
from toolwright.contracts.events import CallEnded, ModelAnswered, ModelAsked, ModelFailed, Record
from toolwright.contracts.messages import CallBlock, SaidBlock
from toolwright.contracts.models import ModelFault
from toolwright.sessions.state import folded
from toolwright.testing import FakeUpstream, refusing_url
from toolwright.testing.replies import Reply, Script, ScriptItem, SeenRequest, Status, answer_of
from toolwright.testing.upstream import WIRES

pytestmark = pytest.mark.anyio

WITHIN = 60
KEY = "sk-very-secret-0123456789"
ATTEMPTS = 3
PROTOCOLS = ["anthropic", "chat", "responses"]
MODELS = {"anthropic": "anthropic/claude-sonnet-5", "chat": "openai/gpt-4.1", "responses": "openai/gpt-4.1"}
PAGE = Path(__file__).parents[2] / "docs/explain/models.md"
SAID: tuple[SaidBlock, ...] = (
    TextBlock("I look, and then I write it down."),
    CallBlock("call_1", "look", '{"at": "the sea"}'),
    CallBlock("call_2", "write_down", '{"text": "blue"}'),
)


@dataclass
class Works:
    """An engine with two tools, and what they were made to do."""

    upstream: FakeUpstream
    engine: Engine
    looked: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)


@asynccontextmanager
async def works(
    folder: Path, protocol: str, script: Script, *, url: str = "", **settings: Any
) -> AsyncIterator[Works]:
    looked: list[str] = []
    written: list[str] = []

    @tool(read_only=True)
    def look(at: str) -> str:
        """Look at something.

        Args:
            at: What to look at.
        """
        looked.append(at)
        return f"saw {at}"

    @tool
    def write_down(text: str) -> str:
        """Write something down.

        Args:
            text: What to write.
        """
        written.append(text)
        return f"wrote {text}"

    project = folder / "project"
    project.mkdir(exist_ok=True)
    async with FakeUpstream(script) as upstream:
        engine = Engine(
            model=MODELS[protocol],
            tools=[look, write_down],
            allow=["write_down"],
            workspace=project,
            settings=configured(protocol, url or upstream.url, **settings),
            environ={"HOME": str(folder / "home"), "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY},
        )
        with anyio.fail_after(WITHIN):
            async with engine:
                yield Works(upstream, engine, looked, written)


def configured(protocol: str, url: str, *, stall: float = 20.0, **settings: Any) -> dict[str, Any]:
    timeouts = {"connect": 20.0, "first_byte": stall, "stall": stall, "whole": 60.0}
    provider: dict[str, Any] = {"base_url": url, "timeouts": timeouts}
    if protocol != "anthropic":
        provider = {**provider, "base_url": f"{url}/v1", "api": protocol, "probe": False}
    return {
        "models": {"providers": {"anthropic" if protocol == "anthropic" else "openai": provider}},
        "retries": {"attempts": ATTEMPTS, "base_seconds": 0.001},
        **settings,
    }


async def well_kept(session: Session) -> list[Record]:
    """The log of a session at rest, which keeps every promise and shows no secret."""
    log = await log_of(session)
    assert list(broken(log)) == []
    check_messages(folded(log).conversation.messages)
    assert KEY not in repr(log)
    return log


def faults_in(log: Sequence[Record]) -> list[ModelFailed]:
    return [event for event in events_of(log) if isinstance(event, ModelFailed)]


# --- every fault of a server ---------------------------------------------------------------


def end_of(fault: ServerFault) -> str:
    """How a run ends when a server fails like that for ever."""
    return "context_full" if fault.code == "too_large" else "failed"


def heals(fault: ServerFault) -> bool:
    return ModelFault(fault.code, "").may_heal


def in_words(fault: ServerFault) -> str:
    if heals(fault):
        return "asks again, then ends: `failed`"
    return "is shortened once, then ends: `context_full`" if fault.code == "too_large" else "ends: `failed`"


def test_the_page_about_models_says_how_each_fault_ends() -> None:
    part = PAGE.read_text().split("\n## Every fault, and what becomes of the run\n")[1].split("\n## ")[0]
    rows = [line for line in part.splitlines() if line.startswith("| ")][1:]
    assert rows == [f"| {one.words} | `{one.code}` | {in_words(one)} |" for one in FAULTS.values()]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", [name for name, one in FAULTS.items() if not one.silent])
async def test_a_fault_ends_as_the_page_says_and_the_session_can_be_used_on(
    tmp_path: Path, name: str, protocol: str
) -> None:
    await fails_and_goes_on(tmp_path, FAULTS[name], protocol)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", [name for name, one in FAULTS.items() if one.silent])
async def test_silence_ends_as_the_page_says_and_the_session_can_be_used_on(
    tmp_path: Path, name: str, protocol: str
) -> None:
    await fails_and_goes_on(tmp_path, FAULTS[name], protocol, stall=0.5)


async def fails_and_goes_on(folder: Path, fault: ServerFault, protocol: str, **settings: Any) -> None:
    """Once in the first run, for ever in the second; the third is as if nothing had been."""
    server = Server([fault.item, *([] if heals(fault) else ["Never mind."]), SAID, "Done."])
    async with works(folder, protocol, server.answer, **settings) as here:
        session = await here.engine.session()
        first = await session.run("Look at the sea.")
        if not heals(fault):
            assert (first.end, first.calls) == (end_of(fault), 0)
            assert (await session.run("Again.")).text == "Never mind."
            first = await session.run("Look at the sea.")
        assert (first.end, first.text, first.calls) == ("done", "Done.", 2), first.message
        server.for_ever = fault.item
        second = await session.run("And again.")
        assert (second.end, second.calls) == (end_of(fault), 0)
        assert second.message.startswith(f"{fault.code}: ")
        server.for_ever, server.items = None, deque([SAID, "On."])
        third = await session.run("And now?")
        assert (third.end, third.text, third.calls) == ("done", "On.", 2)
        log = await well_kept(session)
    failed = [one.code for one in faults_in(log)]
    assert set(failed) == {fault.code}
    if fault.code != "too_large":  # else it is asked for a summary, too
        assert len(failed) == 1 + server.refused == 1 + (ATTEMPTS if heals(fault) else 1)
    assert (here.looked, here.written) == (["the sea"] * 2, ["blue"] * 2)


class Server:
    """Answers with one item after the other, or with the same one for ever."""

    def __init__(self, items: Sequence[ScriptItem]) -> None:
        self.items = deque(items)
        self.for_ever: ScriptItem | None = None
        self.refused = 0

    def answer(self, seen: SeenRequest) -> ScriptItem:
        if self.for_ever is None:
            return self.items.popleft()
        self.refused += 1
        return self.for_ever


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_nobody_there_ends_the_run_and_the_session_can_be_used_once_there_is(
    tmp_path: Path, protocol: str
) -> None:
    async with works(tmp_path, protocol, [], url=refusing_url()) as here:
        session = await here.engine.session()
        result = await session.run("Look.")
        assert (result.end, len(faults_in(await well_kept(session)))) == ("failed", ATTEMPTS)
        assert result.message.startswith("connection: ")
    async with works(tmp_path, protocol, ["There."]) as later:
        session = await later.engine.open(session.id)
        assert (await session.run("And now?")).text == "There."
        await well_kept(session)


# --- a stream that breaks, at every place ----------------------------------------------------


@pytest.mark.parametrize("ending", ["cut", "reset"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_no_call_runs_twice_wherever_a_stream_breaks(
    tmp_path: Path, protocol: str, ending: Any
) -> None:
    path = {"anthropic": "/v1/messages", "chat": "/chat/completions", "responses": "/responses"}[protocol]
    wire = next(wire for wire in WIRES if wire.path == path)
    reply = Reply(SAID)
    whole = len(_frames(wire, SAID))
    places = [place for place in range(whole) if not _is_enough(protocol, place, whole)]
    script: list[ScriptItem] = []
    for place in places:
        script += [Reply(reply.said, keep=place, ending=ending), reply, f"Done {place}."]
    async with works(tmp_path, protocol, script) as here:
        session = await here.engine.session()
        for number, place in enumerate(places, 1):
            result = await session.run("Look.")
            assert (result.end, result.text) == ("done", f"Done {place}.")
            assert (len(here.looked), len(here.written)) == (number, number)
        log = await well_kept(session)
    assert {one.code for one in faults_in(log)} <= {"cut", "connection"}
    assert len(faults_in(log)) == len(places)
    assert len(here.upstream.requests) == len(script)


def _frames(wire: Any, said: Sequence[SaidBlock]) -> list[bytes]:
    frames: list[bytes] = wire.frames(answer_of(said, 1), "m", 1)
    return frames


def _is_enough(protocol: str, kept: int, whole: int) -> bool:
    """Chat says why it stops two frames before the end: from there on the answer is complete."""
    return protocol == "chat" and kept >= whole - 2


# --- what a model does wrong -----------------------------------------------------------------

WRONG: dict[str, tuple[CallBlock, str]] = {
    "input that is not JSON": (CallBlock("c1", "look", '{"at": "the'), "invalid_json"),
    "NaN in the input": (CallBlock("c1", "look", '{"at": NaN}'), "invalid_json"),
    "a key twice in the input": (CallBlock("c1", "look", '{"at": "a", "at": "b"}'), "invalid_json"),
    "half a surrogate pair in the input": (CallBlock("c1", "look", '{"at": "\\ud800"}'), "invalid_json"),
    "input that is no object": (CallBlock("c1", "look", '["the sea"]'), "invalid_json"),
    "input that does not fit the schema": (CallBlock("c1", "look", '{"where": "x"}'), "invalid_input"),
    "a tool that is not offered": (CallBlock("c1", "fly", "{}"), "unknown_tool"),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", list(WRONG))
async def test_a_call_that_is_wrong_fails_alone_and_the_model_is_told(
    tmp_path: Path, kind: str, protocol: str
) -> None:
    call, code = WRONG[kind]
    beside = CallBlock("c2", "write_down", '{"text": "blue"}')
    async with works(tmp_path, protocol, [(call, beside), "I see."]) as here:
        session = await here.engine.session()
        result = await session.run("Look.")
        log = await well_kept(session)
    assert (result.end, result.text) == ("done", "I see.")
    wrong, right = (event for event in events_of(log) if isinstance(event, CallEnded))
    assert (wrong.call_id, wrong.state) == ("c1", "failed")
    assert code in str(wrong.content)
    assert (right.state, here.looked, here.written) == ("done", [], ["blue"])
    assert faults_in(log) == []
    told = here.upstream.requests[1].body
    assert code.encode() in told


# --- asking again ----------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_provider_that_says_how_long_to_wait_is_waited_for_so_long(
    tmp_path: Path, protocol: str
) -> None:
    busy = Status(429, headers={"retry-after-ms": "15"})
    async with works(tmp_path, protocol, [busy, Status(529), "Done."]) as here:
        session = await here.engine.session()
        assert (await session.run("Hello?")).text == "Done."
        asked, unasked = faults_in(await well_kept(session))
    assert asked.retry_in == 0.015
    assert unasked.retry_in is not None
    assert 0 <= unasked.retry_in <= 0.002


async def test_a_wait_beyond_the_deadline_is_not_begun(tmp_path: Path) -> None:
    hour = Status(429, headers={"retry-after": "3600"})
    async with works(tmp_path, "anthropic", [hour, "Done."]) as here:
        session = await here.engine.session()
        result = await session.run("Hello?")
        assert result.end == "failed"
        assert result.message.startswith("rate_limited: ")
        assert (await session.run("And now?")).text == "Done."
        await well_kept(session)


@pytest.mark.parametrize(
    ("items", "asked"),
    [([Status(529)] * ATTEMPTS, ATTEMPTS), ([Status(404)], 1)],
    ids=["that is never there", "that nobody knows"],
)
async def test_another_model_answers_in_place_of_one(
    tmp_path: Path, items: list[ScriptItem], asked: int
) -> None:
    async with FakeUpstream([SAID, "Done.", "On."]) as spare:
        providers = configured("anthropic", "http://127.0.0.1:1")["models"]["providers"]
        providers["spare"] = {"base_url": f"{spare.url}/v1", "api": "chat", "probe": False}
        async with FakeUpstream([*items, "Back."]) as upstream:
            providers["anthropic"]["base_url"] = upstream.url
            settings: dict[str, Any] = {
                "models": {"providers": providers},
                "fallback_model": "spare/other",
            }
            async with works(tmp_path, "anthropic", [], **settings) as here:
                session = await here.engine.session()
                result = await session.run("Look.")
                log = await well_kept(session)
    assert (result.end, result.calls, here.written) == ("done", 2, ["blue"])
    failed = faults_in(log)
    assert [one.next_model for one in failed] == [""] * (asked - 1) + ["spare/other"]
    asked_models = [event.model for event in events_of(log) if isinstance(event, ModelAsked)]
    assert asked_models[: asked + 1] == ["anthropic/claude-sonnet-5"] * asked + ["spare/other"]
    answered = [event for event in events_of(log) if isinstance(event, ModelAnswered)]
    assert answered[0].model == "other"


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_person_can_interrupt_an_answer_that_does_not_come(tmp_path: Path, protocol: str) -> None:
    async with works(tmp_path, protocol, [Reply(LONG, hold_at=6), "On."]) as here:
        session = await here.engine.session()
        await session.send("Look.")
        await here.upstream.until(lambda it: len(it.requests) == 1)
        await session.interrupt()
        result = await session.quiet()
        assert result.end == "interrupted"
        await here.upstream.until(lambda it: it.left == 1)
        assert (await session.run("And now?")).text == "On."
        await well_kept(session)
