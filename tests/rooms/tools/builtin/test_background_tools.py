"""task_output, task_stop and monitor."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright.backends.background.memory import MemoryBackground
from toolwright.backends.blobs.memory import MemoryBlobs
from toolwright.backends.clock.fake import FakeClock
from toolwright.backends.egress.memory_sockets import MemoryWebSocket, MemoryWebSockets
from toolwright.backends.sandboxes.bubblewrap import BubblewrapSandbox
from toolwright.backends.sandboxes.memory import MemoryProcess, MemorySandbox, Scripted
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.events import TaskChanged
from toolwright.contracts.network import LONGEST_MESSAGE, WebRequest, WebResponse
from toolwright.contracts.ports import Command, Limits, Sandbox
from toolwright.contracts.tool import CallContext, CallState, Done, Failed, Objection, Outcome, Touch, Traits
from toolwright.tools.builtin import monitor, task_output, task_stop
from toolwright.tools.commands.listening import ListeningProcess
from toolwright.tools.commands.watching import EVENTS_A_MINUTE, LINES_AN_EVENT, LONGEST_LINE, Digest
from toolwright.tools.services import Services
from toolwright.workspaces.network import NetworkGate
from toolwright.workspaces.workspace import open_workspace

pytestmark = pytest.mark.anyio
WITHIN = 20
FEED = "wss://example.com/feed"


class NoEgress:
    async def send(self, request: WebRequest) -> WebResponse:
        raise ToolFailure("unsupported", "no network in this test")

    async def close(self) -> None:
        return None


class World:
    def __init__(self, tmp_path: Path, sandbox: Sandbox) -> None:
        folder = tmp_path / "workspace"
        folder.mkdir()
        self.clock = FakeClock()
        self.feed = MemoryWebSocket()
        self.sandbox = sandbox
        self.background = MemoryBackground(clock=self.clock)
        self.services = Services(
            sandbox=sandbox,
            background=self.background,
            egress=NoEgress(),
            blobs=MemoryBlobs(self.clock),
            clock=self.clock,
            session_dir=str(tmp_path / "session"),
            sink=self.background,
            web_sockets=MemoryWebSockets(NetworkGate(), {FEED: self.feed}),
        )
        self.ctx = CallContext(workspace=open_workspace([str(folder)], str(folder)))
        self.output = task_output.build(self.services, {})
        self.stop = task_stop.build(self.services, {})
        self.monitor = monitor.build(self.services, {})

    async def started(self, scripted: Scripted) -> tuple[str, MemoryProcess]:
        sandbox = MemorySandbox(lambda _: scripted)
        await sandbox.start(Command(argv=("program",), cwd="/"))
        process = sandbox.processes[0]
        return await self.background.adopt(process, kind="shell", description="serve"), process

    def told(self, task_id: str) -> list[str]:
        """Texts of the monitor's events, its end left out."""
        events = [event for event in self.background.events if isinstance(event, TaskChanged)]
        return [e.text for e in events if e.task_id == task_id and e.status == "running" and e.text]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path, MemorySandbox(lambda _: Scripted(runs=True)))
    yield made
    await made.background.close()


@pytest.fixture
async def real(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path, BubblewrapSandbox())
    yield made
    await made.background.close()
    await made.sandbox.close()


def done(outcome: Outcome) -> Done:
    assert isinstance(outcome, Done), outcome
    return outcome


# --- task_output ----------------------------------------------------------------------------


async def test_output_is_read_in_pieces(world: World) -> None:
    task_id, process = await world.started(Scripted(output=b"one\n", runs=True))
    first = done(await world.output.call({"task_id": task_id, "block": False}, world.ctx))
    assert first.content == "Status: running. Next offset: 4.\none"
    process.print(b"\x1b[1mtwo\x1b[0m\n")
    process.finish(3)
    second = done(await world.output.call({"task_id": task_id, "since": 4}, world.ctx))
    assert second.content == "Status: failed, exit code 3. Next offset: 16.\ntwo"
    assert second.data == {
        "status": "failed",
        "output": "two\n",
        "next_offset": 16,
        "exit_code": 3,
        "dropped_bytes": 0,
    }
    assert world.output.view(state("task_output", task_id, second)).summary == "failed, 1 new line"


async def test_the_signal_that_ended_a_task_keeps_its_name(world: World) -> None:
    task_id, process = await world.started(Scripted(runs=True))
    process.finish(137, 9)
    outcome = done(await world.output.call({"task_id": task_id}, world.ctx))
    assert outcome.content == "Status: failed, exit code 137 (SIGKILL). Next offset: 0."


async def test_what_was_not_kept_of_a_task_is_counted(world: World) -> None:
    kept = Limits().output_kept
    task_id, _ = await world.started(Scripted(output=b"x" * (kept + 3)))
    outcome = done(await world.output.call({"task_id": task_id}, world.ctx))
    gap = "[3 bytes in the middle of the output were too many to be kept.]"
    assert outcome.content == f"Status: completed, exit code 0. Next offset: {kept + 3}.\n{'x' * kept}\n{gap}"
    assert outcome.data["dropped_bytes"] == 3


async def test_waiting_for_output_ends_with_the_time(world: World) -> None:
    task_id, _ = await world.started(Scripted(runs=True))
    with anyio.fail_after(WITHIN):
        outcome = done(await world.output.call({"task_id": task_id, "timeout": 10}, world.ctx))
    assert outcome.content == "Status: running. Next offset: 0."


async def test_limits_of_task_output(world: World) -> None:
    timeout = world.output.spec.input_schema["properties"]["timeout"]
    assert (timeout["minimum"], timeout["maximum"], timeout["default"]) == (0, 600_000, 30_000)


# --- task_stop ------------------------------------------------------------------------------


async def test_stop_says_how_the_task_ended(world: World) -> None:
    task_id, _ = await world.started(Scripted(runs=True))
    outcome = done(await world.stop.call({"task_id": task_id}, world.ctx))
    assert outcome.content == f"Stopped {task_id} (serve)."
    assert outcome.data == {"task_id": task_id, "kind": "shell", "message": outcome.content}
    ended, process = await world.started(Scripted(runs=True))
    process.finish(0)
    await world.background.wait(ended, WITHIN)
    again = done(await world.stop.call({"task_id": ended}, world.ctx))
    assert again.content == f"{ended} (serve) had completed already."
    stopped = done(await world.stop.call({"task_id": task_id}, world.ctx))
    assert stopped.content == f"{task_id} (serve) had been stopped already."


async def test_stop_lists_what_runs_when_the_id_is_unknown(world: World) -> None:
    task_id, _ = await world.started(Scripted(runs=True))
    with pytest.raises(ToolFailure) as caught:
        await world.stop.call({"task_id": "b0"}, world.ctx)
    assert caught.value.hint == f"Running tasks: {task_id}."


# --- flags ----------------------------------------------------------------------------------


async def test_flags(world: World) -> None:
    reading = Traits(read_only=True, concurrency_safe=True, touches=())
    assert world.output.traits({"task_id": "b1"}) == reading
    task = Touch("key", "task:b1", "delete")
    assert world.stop.traits({"task_id": "b1"}) == Traits(
        destructive=True, pre_approved=True, touches=(task,)
    )
    watching = world.monitor.traits({"command": "ls"})
    assert (watching.read_only, watching.concurrency_safe, watching.command) == (False, False, "ls")
    specs = [tool.spec for tool in (world.output, world.stop, world.monitor)]
    assert [(spec.defer, spec.result_limit, spec.category) for spec in specs] == [
        (True, 30_000, "agent_task"),
        (True, 2_000, "agent_task"),
        (True, 5_000, "agent_task"),
    ]
    assert world.output.spec.polling


# --- monitor --------------------------------------------------------------------------------


async def watch(world: World, **input: Any) -> str:
    with anyio.fail_after(WITHIN):
        outcome = done(await world.monitor.call(input, world.ctx))
    return str(outcome.data["task_id"])


async def test_lines_become_events(real: World) -> None:
    task_id = await watch(real, command="echo one; echo two; echo noise >&2; sleep 0.4; printf three")
    assert task_id.startswith("m")
    assert (await real.background.wait(task_id, WITHIN)).status == "completed"
    assert real.told(task_id) == ["one\ntwo", "three"]


async def test_a_filter_keeps_what_matches(real: World) -> None:
    command = "echo error: one; echo fine; echo warning: two"
    task_id = await watch(real, command=command, filter="^(error|warning):")
    await real.background.wait(task_id, WITHIN)
    assert real.told(task_id) == ["error: one\nwarning: two"]


async def test_a_filter_that_backtracks_elsewhere_costs_nothing(real: World) -> None:
    command = "head -c 2000 /dev/zero | tr '\\0' a; echo; echo aab"
    task_id = await watch(real, command=command, filter="^(a+)+b$")
    with anyio.fail_after(WITHIN):
        await real.background.wait(task_id, WITHIN)
    assert real.told(task_id) == ["aab"]


async def test_a_filter_that_is_none_is_refused(real: World) -> None:
    with pytest.raises(ToolFailure, match="no extended regular expression"):
        await watch(real, command="true", filter="(")


async def test_a_monitor_ends_when_its_time_is_over(real: World) -> None:
    task_id = await watch(real, command="echo start; exec sleep 600", timeout_ms=500)
    assert (await real.background.wait(task_id, WITHIN)).status == "failed"
    assert real.told(task_id) == ["start", "The time of this monitor is over."]


async def test_a_persistent_monitor_runs_until_stopped(real: World) -> None:
    task_id = await watch(real, command="echo start; exec sleep 600", persistent=True)
    with anyio.fail_after(WITHIN):
        while not real.told(task_id):
            await anyio.sleep(0.01)
        await real.background.stop(task_id)
    assert real.told(task_id) == ["start"]


@pytest.mark.parametrize(
    ("input", "code"),
    [
        ({}, "invalid_input"),
        ({"command": "a", "ws": {"url": "wss://example.com"}}, "invalid_input"),
        ({"ws": {"url": "wss://example.com"}, "filter": "a"}, "unsupported"),
        ({"ws": {"url": "https://example.com"}}, "permission_denied"),
        ({"ws": {"url": "wss://me@example.com"}}, "permission_denied"),
        ({"command": "a\0b"}, "validation_failed"),
        ({"command": "a", "filter": "\0"}, "validation_failed"),
    ],
)
async def test_what_a_monitor_refuses(world: World, input: dict[str, Any], code: str) -> None:
    objection = await world.monitor.check(input, world.ctx)
    assert objection is not None
    assert (objection.verdict, objection.code) == ("invalid", code)


# --- monitor: a WebSocket -------------------------------------------------------------------


async def test_a_person_decides_about_every_web_socket(world: World) -> None:
    input = {"ws": {"url": FEED}}
    asked = Objection("ask", "A WebSocket to example.com would be opened.", firm=True)
    assert await world.monitor.check(input, world.ctx) == asked
    host = Touch("host", "example.com")
    assert world.monitor.traits(input) == Traits(open_world=True, touches=(host,))


async def test_messages_become_events_and_output(world: World) -> None:
    task_id = await watch(world, ws={"url": FEED, "protocols": ["chat.v1"]})
    world.feed.say("one")
    world.feed.say(b"\0\xff")
    world.feed.say("three")
    world.feed.finish()
    assert (await world.background.wait(task_id, WITHIN)).status == "completed"
    assert "\n".join(world.told(task_id)) == "one\n[binary message of 2 bytes]\nthree"
    read = done(await world.output.call({"task_id": task_id}, world.ctx))
    assert read.data["output"] == "one\n[binary message of 2 bytes]\nthree\n"


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (lambda feed: feed.say("x" * (LONGEST_MESSAGE + 1)), "[A message was longer than 1048576 bytes.]"),
        (lambda feed: feed.finish(ToolFailure("network_error", "It broke")), "[It broke.]"),
    ],
)
async def test_what_ends_a_web_socket_is_said(
    world: World, end: Callable[[MemoryWebSocket], None], said: str
) -> None:
    task_id = await watch(world, ws={"url": FEED})
    end(world.feed)
    assert (await world.background.wait(task_id, WITHIN)).status == "failed"
    assert world.told(task_id) == [said]
    assert world.feed.closed


async def test_a_watched_web_socket_can_be_stopped(world: World) -> None:
    task_id = await watch(world, ws={"url": FEED}, persistent=True)
    with anyio.fail_after(WITHIN):
        outcome = done(await world.stop.call({"task_id": task_id}, world.ctx))
    assert outcome.content == f"Stopped {task_id} ({FEED})."
    assert world.feed.closed


async def test_the_time_of_a_web_socket_ends(world: World) -> None:
    task_id = await watch(world, ws={"url": FEED}, timeout_ms=50)
    assert (await world.background.wait(task_id, WITHIN)).status == "failed"
    assert world.told(task_id) == ["The time of this monitor is over."]


async def test_where_the_gate_refuses_nothing_is_watched(world: World) -> None:
    with pytest.raises(ToolFailure, match="private-address"):
        await watch(world, ws={"url": "wss://10.0.0.1/"})
    assert world.background.list() == ()


async def test_of_a_long_conversation_the_end_stays() -> None:
    socket = MemoryWebSocket(["one", "two", "three"])
    socket.finish()
    process = ListeningProcess(socket, kept=10)
    end = await process.wait()
    assert (end.code, end.output_bytes, end.dropped_bytes) == (0, 14, 4)
    assert process.output() == b"[... 4 bytes of output not kept ...]\ntwo\nthree\n"
    assert [process.output_since(offset) for offset in (0, 8, 14)] == [
        (b"two\nthree\n", 14), (b"three\n", 14), (b"", 14),
    ]  # fmt: skip


async def test_limits_of_monitor(world: World) -> None:
    timeout = world.monitor.spec.input_schema["properties"]["timeout_ms"]
    assert (timeout["minimum"], timeout["maximum"], timeout["default"]) == (1, 3_600_000, 300_000)


# --- the digest -----------------------------------------------------------------------------


def test_a_burst_is_one_event_of_whole_lines() -> None:
    digest = Digest()
    assert digest.burst(b"one\ntwo\nthr", 0) == "one\ntwo"
    assert digest.burst(b"ee\n\n  \n", 1) == "three"
    assert digest.burst(b"rest", 2) is None
    assert digest.burst(b"", 3, final=True) == "rest"


def test_twenty_events_a_minute_and_the_rest_counted() -> None:
    digest = Digest()
    told = [digest.burst(b"line\n", second) for second in range(EVENTS_A_MINUTE + 3)]
    assert told == ["line"] * EVENTS_A_MINUTE + [None] * 3
    assert digest.burst(b"a\nb\n", 59.9) is None
    assert digest.burst(b"later\n", 60.0) == "[5 lines left out]\nlater"
    assert digest.burst(b"last\n", 60.5) is None
    assert digest.left_out() == "[1 lines left out]"
    assert digest.left_out() is None


@pytest.mark.parametrize(
    ("length", "shown"), [(LONGEST_LINE, LONGEST_LINE), (LONGEST_LINE + 1, LONGEST_LINE)]
)
def test_lines_are_cut(length: int, shown: int) -> None:
    assert Digest().burst(b"x" * length + b"\n", 0) == "x" * shown


def test_one_event_has_only_so_many_lines() -> None:
    text = Digest().burst(b"x\n" * (LINES_AN_EVENT + 2), 0)
    assert text == "x\n" * LINES_AN_EVENT + "[2 more lines at the same moment]"


def state(tool: str, task_id: str, outcome: Done | Failed) -> CallState:
    return CallState(
        call_id="c", tool=tool, offered_name=tool, input={"task_id": task_id}, phase="done", outcome=outcome
    )


async def test_views(world: World) -> None:
    running = replace(state("x", "b1", Done("")), outcome=None, phase="running")
    assert world.output.view(running).activity == "Waiting for b1"
    assert world.stop.view(running).activity == "Stopping b1"
    ended = replace(running, outcome=Done("", data={"task_id": "m1"}), input={"command": "tail -f log"})
    assert world.monitor.view(ended).summary == "watching as m1"
    assert world.monitor.view(ended).activity == "Watching: tail -f log"
