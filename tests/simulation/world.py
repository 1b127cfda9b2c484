"""One simulation: a seed becomes lives of processes on one disk; in the end every promise is looked at."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from random import Random
from unittest import mock

import anyio
from tests.endurance.promises import broken
from tests.simulation.clock import SimClock
from tests.simulation.furnishing import SimFurnishing, shop
from tests.simulation.loop import SimLoop
from tests.simulation.model import SimModel
from tests.simulation.oracle import Oracle
from tests.simulation.people import People
from tests.simulation.store import Disk, SimStore
from tests.simulation.tools import Effects

from toolwright.backends.dispatch.in_process import InProcessDispatch
from toolwright.contracts.definitions import RunLimits
from toolwright.contracts.dispatch import Work
from toolwright.contracts.errors import EngineFault, ToolwrightError
from toolwright.contracts.events import CallEnded, Record
from toolwright.contracts.permissions import ApprovalAnswer
from toolwright.sessions.service import Sessions
from toolwright.sessions.state import SessionState, folded

_LONGEST_STEPS = 400_000
_PATIENCE = 60
_HEALS_WITHIN = 10.0
_FORKED = '"forked_from":"'
_OF_TALK = ("queue", "spent", "total", "preamble", "model", "context_tokens", "compactions")
_OF_STATE = ("head", "title", "cwd", "status", "permission_changes", "interrupted", "last_end")


@dataclass(slots=True)
class Report:
    """What came of a seed. Nothing may be wrong."""

    seed: int
    problems: list[str] = field(default_factory=list)
    logs: dict[str, list[Record]] = field(default_factory=dict)
    data: dict[str, list[bytes]] = field(default_factory=dict)
    """The logs, byte for byte."""
    numbers: Counter[str] = field(default_factory=Counter)


class _Dispatch(InProcessDispatch):
    """Notes what the work on a session raises: that must not happen, and nobody else would hear of it."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__()
        self._problems = problems

    def open(self, work: Work) -> None:
        async def watched(session_id: str) -> None:
            try:
                await work(session_id)
            except Exception as problem:
                self._problems.append(f"the work on {session_id} failed: {problem!r}")
                raise

        super().open(watched)


class _Process:
    """One life."""

    def __init__(self, world: "World", *, number: int, begins_at: float) -> None:
        chance = world.chance
        self.owner = f"process {number}"
        self.over = False
        self.closed_well = False
        """It ended in an orderly way, and the disk took all that it had to say."""
        self.loop = SimLoop(
            Random(chance.random()), shuffled=chance.choice((0.0, 0.05, 0.5)), begins_at=begins_at
        )
        self.store = SimStore(world.disk, chance, slowness=world.slowness)
        self.sessions: Sessions | None = None
        self.people: People | None = None
        self._world = world

    def start(self) -> None:
        """Build what works. On the loop."""
        world, chance = self._world, self._world.chance
        self.sessions = Sessions(
            self.store,
            _Dispatch(world.report.problems),
            clock=SimClock(),
            furnish=SimFurnishing(world.model, chance, window=world.window, limits=world.limits),
            owner=self.owner,
            kept_open=world.kept_open,
        )
        self.people = People(self.sessions, world.oracle, world.disk, chance, world.numbers)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Let tools act for this process, and for nobody else."""
        effects = self._world.effects
        effects.may_act = lambda: not self.store.dead
        yield
        self.store.dead = True

    async def live(self) -> None:
        """Let people do what they like, in any weather, and perhaps end in an orderly way."""
        world, chance = self._world, self._world.chance
        await self.store.open()
        self.start()
        if self.people is None or self.sessions is None:
            raise AssertionError("it was started")
        await self.people.create()
        others = [asyncio.create_task(self._weather()), asyncio.create_task(self.people.follow())]
        known = tuple(world.oracle.sessions) if chance.random() < 0.8 else ()
        others += [asyncio.create_task(self._wake(session_id)) for session_id in known]
        async with asyncio.TaskGroup() as busy:
            for _ in range(chance.choice((1, 2, 3))):
                busy.create_task(self._busy())
        if chance.random() < 0.5:
            others[0].cancel()
            await self._see_it_heal(self.people, self.sessions)
        if chance.random() < 0.5:
            others[0].cancel()
            await self.sessions.close(grace=chance.choice((0.0, 1.0)))
            self.closed_well = world.disk.failing == 0 and not self.store.reads_fail
        for task in others:
            task.cancel()
        await asyncio.wait(others)
        for task in others:
            if not task.cancelled():
                task.result()
        self.over = True

    async def _busy(self) -> None:
        if self.people is not None:
            await self.people.busy(times=self._world.chance.randrange(5, 30), pause=self._world.pause)

    async def _wake(self, session_id: str) -> None:
        try:
            if self.sessions is not None:
                await self.sessions.wake(session_id)
        except ToolwrightError:
            return  # it was never created, or the disk does not want it now

    async def _see_it_heal(self, people: People, sessions: Sessions) -> None:
        """Nothing fails any more: what is sent is taken soon, and nothing is left lying."""
        self._world.disk.failing = 0
        self.store.reads_fail = False
        await anyio.sleep(_HEALS_WITHIN)
        oracle, disk = self._world.oracle, self._world.disk
        known = [session_id for session_id, fate in oracle.sessions.items() if fate == "kept"]
        for session_id in known:
            if await disk.events.is_held(session_id) and not disk.says(session_id, _FORKED):
                self._see_no_work_left(session_id, sessions)
        for session_id in known:
            try:
                if (await sessions.state(session_id)).ended is None:
                    await people.send_to(session_id)
            except EngineFault as fault:
                oracle.problems.append(f"{session_id} does not heal: {fault!r}")
        await anyio.sleep(_HEALS_WITHIN)
        for session_id in known:
            self._see_no_work_left(session_id, sessions)

    def _see_no_work_left(self, session_id: str, sessions: Sessions) -> None:
        state = folded(self._world.disk.records(session_id))
        failed = state.last_end is not None and state.last_end.end == "failed"
        if state.has_work and not sessions.is_busy(session_id) and not failed:
            self._world.oracle.problems.append(f"{session_id} has work that nobody does")

    async def _weather(self) -> None:
        """Let the disk fail now and then: once, a few times, or for a while."""
        world = self._world
        while world.chance.random() < world.storms:
            await anyio.sleep(world.chance.random() * 5)
            world.disk.failing = world.chance.choice((1, 1, 2, -1))
            self.store.reads_fail = world.chance.random() < 0.3
            await anyio.sleep(world.chance.random() * 4)
            world.disk.failing = 0
            self.store.reads_fail = False


class World:
    """All that outlives a process, and what is particular to one seed."""

    def __init__(self, seed: int) -> None:
        self.chance = chance = Random(seed)
        self.report = Report(seed)
        self.disk = Disk()
        self.oracle = Oracle()
        self.numbers = count(1)
        self.slowness = chance.choice((0.01, 0.1, 1.0))
        self.pause = chance.choice((0.1, 0.5, 2.0))
        self.storms = chance.choice((0.0, 0.0, 0.9))
        self.window = chance.choice((500, 100_000, 100_000))
        self.kept_open = chance.choice((1, 64))
        self.limits = chance.choice((RunLimits(), RunLimits(), RunLimits(rounds=4, calls=9, seconds=20)))
        self.model = SimModel(chance)
        self.effects = Effects(chance=chance, is_begun=self._is_begun)
        self._processes: list[_Process] = []
        self._now = 0.0

    def _is_begun(self, session_id: str, key: str) -> bool:
        """Whether the disk has the start of a call."""
        return self.disk.says(session_id, '"type":"call_started"', f'"{key}"')

    def run(self) -> Report:
        """Live through it all and judge."""
        shop().tools.effects = self.effects
        try:
            for number in range(self.chance.choice((1, 2, 3))):
                self._one_life(number)
            self._last_life()
        finally:
            for process in self._processes:
                process.loop.unwind()
        for process in self._processes:
            self.report.problems += process.loop.problems
        self.report.problems += self.model.problems + self.effects.problems
        return self.report

    def _process(self) -> _Process:
        process = _Process(self, number=len(self._processes), begins_at=self._now)
        self._processes.append(process)
        return process

    def _one_life(self, number: int) -> None:
        process = self._process()
        task = process.loop.create_task(process.live())
        with process.at_work():
            most = self.chance.choice((300, 3_000, 20_000))
            process.loop.run(lambda: process.over or task.done(), most=self.chance.randrange(1, most))
        if task.done():
            task.result()
        self.effects.reported += self.effects.returned if process.closed_well else ()
        self.effects.returned = []
        self.disk.lose_power(process.owner, kept=self.chance.randrange(3))
        self._now = process.loop.time() + self.chance.random()
        self.report.numbers["crashes"] += not process.over
        self._look_at_logs(at_rest=False)
        if process.people is not None:
            self.report.numbers.update(process.people.acts)

    # --- the end ---

    def _last_life(self) -> None:
        """Nothing fails any more, everybody answers: every session must come to rest and be usable."""
        self.disk.failing = 0
        self.model.calm = True
        self.effects.slowness = 0.1
        process = self._process()
        with process.at_work():
            states = process.loop.finished(self._calm(process), most=_LONGEST_STEPS)
        self._look_at_logs(at_rest=True)
        for session_id, state in states.items():
            self._compare(state, session_id)
        self.report.problems += self.oracle.broken(self.report.logs, self.effects)
        for log in self.report.logs.values():
            self.report.numbers["events"] += len(log)
            self.report.numbers.update(type(record.event).__name__ for record in log)
            ends = [record.event for record in log if isinstance(record.event, CallEnded)]
            self.report.numbers.update(f"call {end.code or end.state}" for end in ends)
        self.report.numbers["effects"] = len(self.effects.done)
        self.report.numbers["failed writes"] = self.disk.failed

    async def _calm(self, process: _Process) -> dict[str, SessionState]:
        await process.store.open()
        process.start()
        sessions = process.sessions
        if sessions is None:
            raise AssertionError("it was started")
        states = {}
        for session_id in await self.disk.events.ids():
            if (await self.disk.events.card(session_id)).head:
                states[session_id] = await self._at_rest(sessions, session_id)
        return states

    async def _at_rest(self, sessions: Sessions, session_id: str) -> SessionState:
        await sessions.wake(session_id)
        state = await self._answered(sessions, session_id)
        if state.ended is not None:
            return state
        await sessions.send(session_id, "Is all well?")
        state = await self._answered(sessions, session_id)
        last = state.last_end
        if last is None or last.end != "done" or state.conversation.owes_answer or state.conversation.queue:
            self.report.problems.append(f"{session_id} is stuck: {last}")
        return state

    async def _answered(self, sessions: Sessions, session_id: str) -> SessionState:
        for _ in range(_PATIENCE):
            state = await sessions.quiet(session_id)
            block = state.conversation.block
            if block is None or state.ended is not None:
                return state
            for question in block.questions:
                if question.request is not None:
                    await sessions.answer(
                        session_id, _yes(question.request.request_id, question.request.fingerprint)
                    )
                else:
                    await sessions.deliver(session_id, question.call_id, "last weight")
        self.report.problems.append(f"{session_id} goes on asking")
        return await sessions.state(session_id)

    def _look_at_logs(self, *, at_rest: bool) -> None:
        for session_id in self.disk.session_ids():
            data = self.disk.raw(session_id)
            if not data:
                continue
            records = self.report.logs[session_id] = self.disk.records(session_id)
            before = self.report.data.get(session_id, [])
            if data[: len(before)] != before:
                self.report.problems.append(f"{session_id}: what was durable was changed")
            self.report.data[session_id] = data
            damage = self.disk.damage(session_id)
            found = [str(damage)] if damage is not None else []
            self.report.problems += [
                f"{session_id}: {p}" for p in (*found, *broken(records, at_rest=at_rest))
            ]

    def _compare(self, state: SessionState, session_id: str) -> None:
        """What the engine had in mind must be what its log says."""
        read = folded(self.report.logs[session_id])
        differing = [
            name for name in _OF_TALK if getattr(state.conversation, name) != getattr(read.conversation, name)
        ]
        differing += [name for name in _OF_STATE if getattr(state, name) != getattr(read, name)]
        differing += ["messages"] if _said(state) != _said(read) else []
        for name in differing:
            self.report.problems.append(f"{session_id}: {name} in memory is not what the log says")


def _said(state: SessionState) -> list[tuple[str, object]]:
    return [(message.role, message.blocks) for message in state.conversation.messages]


def _yes(request_id: str, fingerprint: str) -> ApprovalAnswer:
    return ApprovalAnswer(request_id=request_id, fingerprint=fingerprint, behavior="allow")


@contextmanager
def _drawn_ids(chance: Random) -> Iterator[None]:
    """Ids are drawn from the seed as well, so that two runs write the same bytes."""
    with mock.patch.object(
        secrets, "token_hex", lambda size=32: f"{chance.getrandbits(8 * size):0{2 * size}x}"
    ):
        yield


def simulated(seed: int) -> Report:
    """Run the simulation of a seed."""
    with _drawn_ids(Random(seed)):
        return World(seed).run()
