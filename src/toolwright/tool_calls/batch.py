"""All calls of one message: which run side by side, who is asked when, one result each in their order.

A call waits for the earlier calls that stand in its way and for nothing else; only then is it checked
and judged, so it sees what those calls left behind. Nothing overtakes a call it conflicts with.

A message whose calls wait for a person or for the client is run again once there are answers: what is over
stands, what was answered goes on, what still waits holds up only what it stands in the way of.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from anyio.to_thread import run_sync

from toolwright.contracts.errors import EngineFault, ToolFailure
from toolwright.contracts.tool import CallResult, Done, Failed, Outcome, ToolCall, Waiting
from toolwright.tool_calls import texts
from toolwright.tool_calls.conflicts import FREE, Footprint, footprint, in_the_way, meet
from toolwright.tool_calls.early import EarlyCall
from toolwright.tool_calls.gates import Gates, Slots
from toolwright.tool_calls.live import LiveCall, Turn
from toolwright.tool_calls.message import BatchResult, Scheduling, Standing, handed_over
from toolwright.tool_calls.pipeline import Answered, Pipeline, asked_about
from toolwright.tool_calls.single import Single

log = logging.getLogger(__name__)


__all__ = ["Batch", "BatchResult", "Scheduling", "Standing", "run_batch"]


async def run_batch(
    pipeline: Pipeline, calls: Sequence[ToolCall], turn: Turn, scheduling: Scheduling | None = None
) -> BatchResult:
    """Run the calls of one message. May raise EngineFault."""
    if len(calls) == 1:
        return await Single(pipeline, calls[0], turn).run()
    return await Batch(pipeline, calls, turn, scheduling or Scheduling()).run()


class Batch:
    """One message's calls on their way; the ``Order`` that the steps of each call obey.

    ``standing`` says by call id how calls stand already, ``early`` which began while the model spoke.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        calls: Sequence[ToolCall],
        turn: Turn,
        scheduling: Scheduling,
        *,
        standing: Mapping[str, Standing] | None = None,
        early: Mapping[str, EarlyCall] | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._parts = pipeline.parts
        self._turn = turn
        self._scheduling = scheduling
        self._standing = dict(standing or {})
        self._early = dict(early or {})
        self._group: asyncio.TaskGroup | None = None
        """Takes calls for as long as some call is at work."""
        self._unfinished = 0
        self._started = self._parts.clock.monotonic()
        self._calls = tuple(calls)
        self._lives = self._opened()
        self._places = {live: place for place, live in enumerate(self._lives)}
        self._footprints: list[Footprint] = []
        self._in_the_way: tuple[tuple[int, ...], ...] = ()
        self._results: list[CallResult | None] = [None] * len(self._lives)
        self._waiting: set[int] = set()
        self._answers_due: set[int] = set()
        """Calls whose answers are being recorded: nothing else settles their questions any more."""
        self._moved = 0
        self._finished = Gates(len(self._lives))
        self._permitted = Gates(len(self._lives))
        self._slots = _places_of(self._early) or Slots(scheduling.max_concurrency)
        self._at_work: set[int] = set()
        self._shifted = False
        self._rejected = False
        self._judged_anew = False
        self._halted: str | None = None

    def _opened(self) -> list[LiveCall]:
        """Open what is new in this message; of the rest, take over what is known of it."""
        if not self._standing and not self._early:
            return self._pipeline.open_all(self._calls, self._turn)
        fresh = [call for call in self._calls if call.id not in self._standing and call.id not in self._early]
        opened = iter(self._pipeline.open_all(fresh, self._turn))
        return [
            self._early[call.id].live
            if call.id in self._early
            else (self._reopened(call) if call.id in self._standing else next(opened))
            for call in self._calls
        ]

    def _reopened(self, call: ToolCall) -> LiveCall:
        """Open a call that was counted before."""
        standing = self._standing.get(call.id)
        if isinstance(standing, Answered):
            call = asked_about(standing.request)
        if not isinstance(standing, CallResult):
            return self._pipeline.open(call, self._turn, counted=True)
        live = LiveCall(call, self._turn, started_at=self._started)
        if isinstance(standing.outcome, Waiting):
            live = self._pipeline.open(call, self._turn, counted=True)
            self._pipeline.let_go(live)
        else:
            live.failure = Failed("not_started", "The call is over.")
        return live

    async def run(self) -> BatchResult:
        """Run everything and hand over the results in the order of the calls."""
        await self._find_conflicts()
        self._settle_what_stands()
        try:
            with self._parts.in_force.telling(self._judge_anew):
                await self._run_open_calls()
        except ExceptionGroup as crash:
            self._answer_open_calls(crash)
        self._move_to(len(self._lives))
        results = [result for result in self._results if result is not None]
        most, started = self._slots.most, self._started
        return await handed_over(self._parts, self._turn, results, most=most, started=started)

    async def _run_open_calls(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for place, result in enumerate(self._results):
                    if result is None:
                        self._begin(group, place)
                if self._standing:
                    self._let_waiting_ones_go_on()
        finally:
            self._group = None
            self._permitted.open_all()

    def _settle_what_stands(self) -> None:
        for place, call in enumerate(self._calls):
            standing = self._standing.get(call.id)
            if isinstance(standing, CallResult):
                self._put(place, standing)
                self._finished.open(place)
                self._permitted.open(place)

    def _put(self, place: int, result: CallResult) -> None:
        self._results[place] = result
        if isinstance(result.outcome, Waiting):
            self._waiting.add(place)

    def _begin(self, group: asyncio.TaskGroup, place: int) -> None:
        self._unfinished += 1
        group.create_task(self._one(place))

    async def _one(self, place: int) -> None:
        """A group whose last call has ended, or one of whose calls has crashed, takes no more."""
        try:
            await self._whole_way(place)
        except BaseException:
            self._group = None
            raise
        finally:
            self._unfinished -= 1
            if self._unfinished == 0:
                self._group = None

    async def _whole_way(self, place: int) -> None:
        live = self._lives[place]
        outcome = await self._way(place, live)
        self._permitted.open(place)
        result = await self._pipeline.conclude(live, outcome)
        self._put(place, result)
        if live.halts and self._halted is None:
            self._halted = live.stop or ""
        moved = self._moved_late(place, result)
        if self._footprints[place].kind == "alone" and (self._move_to(place + 1) or moved):
            await self._find_conflicts()
        self._at_work.discard(place)
        self._finished.open(place)
        self._abort_siblings(place, result)
        self._let_waiting_ones_go_on()

    async def _way(self, place: int, live: LiveCall) -> Outcome:
        early = self._early.get(self._calls[place].id)
        if early is not None:
            return await early.outcome(self)
        standing = self._standing.get(self._calls[place].id)
        if isinstance(standing, Done | Failed):
            self._pipeline.taken_over(live)
            return standing
        answered = standing if isinstance(standing, Answered) else None
        return await self._pipeline.carry_out(live, self, answered=answered)

    # --- answers that come while calls are at work ---

    async def expects(self, call_id: str) -> bool:
        """Whether a call waits for its answer, once it is clear that no change of the policy settles it.

        From then on it is held for the answer, which ``take`` brings.
        """
        place = self._place_of(call_id)
        if place is None:
            return False
        await self._permitted.passed(place)
        if self._waits(place):
            self._answers_due.add(place)
        return self._waits(place)

    def take(self, call_id: str, standing: Answered | Done | Failed) -> bool:
        """Go on with a call that waits. False when it does not wait here, or nothing is at work any more."""
        place = self._place_of(call_id)
        if self._group is None or place is None or not self._waits(place):
            return False
        self._answers_due.discard(place)
        self._standing[call_id] = standing
        self._again(place)
        self._let_waiting_ones_go_on()
        return True

    def _place_of(self, call_id: str) -> int | None:
        return next((place for place, call in enumerate(self._calls) if call.id == call_id), None)

    def _waits(self, place: int) -> bool:
        result = self._results[place]
        return result is not None and isinstance(result.outcome, Waiting)

    def _let_waiting_ones_go_on(self) -> None:
        """Look again at calls that only stood behind others, and at questions that may be settled by now."""
        judged_anew, self._judged_anew = self._judged_anew or self._rejected, False
        for place in sorted(self._waiting - self._answers_due):
            result = self._results[place]
            if result is None or not isinstance(result.outcome, Waiting):
                continue
            if result.outcome.kind != "permission":
                continue
            stands_behind = result.outcome.request is None
            if (stands_behind and not self._is_held_up(place)) or (judged_anew and not stands_behind):
                self._again(place)

    def _is_held_up(self, place: int) -> bool:
        return any(self._waits(earlier) for earlier in self._in_the_way[place])

    def _again(self, place: int) -> None:
        group = self._group
        if group is None:
            return
        live = self._reopened_at(place)
        self._early.pop(self._calls[place].id, None)
        self._places.pop(self._lives[place], None)
        self._lives[place] = live
        self._places[live] = place
        self._results[place] = None
        self._waiting.discard(place)
        self._finished.shut(place)
        self._permitted.shut(place)
        self._begin(group, place)

    def _reopened_at(self, place: int) -> LiveCall:
        call = self._calls[place]
        if isinstance(self._standing.get(call.id), CallResult):
            del self._standing[call.id]
        return self._reopened(call)

    def _judge_anew(self) -> None:
        """The policy is another one: that may settle questions."""
        self._judged_anew = True
        if self._group is not None:
            self._let_waiting_ones_go_on()

    def _answer_open_calls(self, crash: ExceptionGroup[Exception]) -> None:
        """Something that must not fail did. Every call still gets its one result."""
        faults = crash.subgroup(EngineFault)
        if faults is not None:
            raise _first(faults) from crash
        log.error("the batch crashed", exc_info=crash)
        for place, live in enumerate(self._lives):
            if self._results[place] is None:
                self._results[place] = self._pipeline.synthetic(live, texts.crashed(_first(crash)))

    # --- what stands in whose way ---

    async def _find_conflicts(self) -> None:
        lives, alone_only = self._lives, self._scheduling.mode == "all"
        if alone_only or not any(_writes(live) for live in lives):
            self._note_conflicts(follow=False)
        else:
            await run_sync(self._note_conflicts)

    def _note_conflicts(self, *, follow: bool = True) -> None:
        self._footprints = [self._footprint(live, follow=follow) for live in self._lives]
        free_for_all = self._scheduling.mode == "all"
        self._in_the_way = ((),) * len(self._lives) if free_for_all else in_the_way(self._footprints)

    def _footprint(self, live: LiveCall, *, follow: bool) -> Footprint:
        if live.failure is not None:
            return FREE
        return footprint(live.traits, self._followed if follow else str)

    def _followed(self, path: str) -> str:
        """A path as it compares with others: links followed, and letters folded where the disk folds them."""
        in_force = self._parts.in_force
        try:
            path = in_force.workspace.resolved(path)
        except ToolFailure:
            return path
        return path.casefold() if in_force.policy.case_folds else path

    # --- the order that the steps obey ---

    async def reach(self, live: LiveCall) -> Outcome | None:
        """Wait for the calls in the way. One that waits for a person holds up those behind it."""
        place = self._places[live]
        known: tuple[tuple[int, ...], ...] | None = None
        while known is not self._in_the_way:
            known = self._in_the_way
            for earlier in known[place]:
                await self._finished.passed(earlier)
                result = self._results[earlier]
                if result is not None and isinstance(result.outcome, Waiting):
                    return Waiting("permission")
        if self._footprints[place].kind == "alone" and self._scheduling.mode == "partitioned":
            self._move_to(place)
        return live.failure or self._refusal(live)

    async def before_asking(self, live: LiveCall) -> Outcome | None:
        """Let the earlier calls put their questions first."""
        for earlier in range(self._places[live]):
            await self._permitted.passed(earlier)
        return texts.not_asked() if self._rejected else self._refusal(live)

    def ask_no_more(self) -> None:
        """Put no further question of this message."""
        self._rejected = True

    def permitted(self, live: LiveCall) -> None:
        """Let the next call ask."""
        self._permitted.open(self._places[live])

    def slot(self) -> AbstractAsyncContextManager[None]:
        return self._slots

    async def reconsider(self, live: LiveCall) -> Outcome | None:
        """Find the calls in the way of what the call reaches now. From here on nobody trusts old findings."""
        self._shifted = True
        await self._find_conflicts()
        return await self.reach(live)

    async def admitted(self, live: LiveCall) -> Failed | None:
        """Let the call start. After a change of input, a later call may be at work on the same thing."""
        place = self._places[live]
        while in_use := self._meeting(place) if self._shifted else []:
            await self._finished.passed(in_use[0])
        self._at_work.add(place)
        return self._refusal(live)

    def _meeting(self, place: int) -> list[int]:
        if self._scheduling.mode == "all":
            return []
        return [other for other in self._at_work if meet(self._footprints[other], self._footprints[place])]

    def _refusal(self, live: LiveCall) -> Failed | None:
        """A call that was stopped, or comes after a hook ended the run, does not start."""
        if live.stopped is None and self._halted is not None:
            return texts.not_started(self._halted)
        return live.stopped

    # --- what calls leave behind ---

    def _move_to(self, place: int) -> bool:
        """Apply the changes of working directory of the calls before ``place``, in their order."""
        moved = False
        while self._moved < place:
            result = self._results[self._moved]
            if result is not None and isinstance(result.outcome, Done) and result.outcome.new_cwd:
                self._parts.in_force.move(result.outcome.new_cwd)
                moved = True
            self._moved += 1
        return moved

    def _moved_late(self, place: int, result: CallResult) -> bool:
        """Apply the move of a call that had to wait while later ones went on."""
        late = place < self._moved and isinstance(result.outcome, Done) and bool(result.outcome.new_cwd)
        if late and isinstance(result.outcome, Done) and result.outcome.new_cwd:
            self._parts.in_force.move(result.outcome.new_cwd)
        return late

    def _abort_siblings(self, place: int, result: CallResult) -> None:
        """With ``abort_on_shell_error`` a failing command takes the calls beside it with it."""
        failed = result.outcome
        if self._scheduling.sibling_policy == "independent" or not isinstance(failed, Failed):
            return
        if failed.code != "command_failed" or self._lives[place].traits.command is None:
            return
        for other in self._beside(place):
            if self._results[other] is None:
                self._lives[other].end(texts.interrupted(f"cancelled because {result.offered_name} failed"))

    def _beside(self, place: int) -> list[int]:
        """The calls that no lone call separates from this one."""
        barriers = [at for at, print_ in enumerate(self._footprints) if print_.kind == "alone"]
        if place in barriers:
            return []
        first = max((at for at in barriers if at < place), default=-1)
        last = min((at for at in barriers if at > place), default=len(self._lives))
        return [at for at in range(first + 1, last) if at != place]


def _places_of(early: Mapping[str, EarlyCall]) -> Slots | None:
    """Early calls hold some of the places already."""
    return next((call.slots for call in early.values()), None)


def _writes(live: LiveCall) -> bool:
    return live.failure is None and any(touch.writes for touch in live.traits.touches or ())


def _first(crash: ExceptionGroup[Exception]) -> Exception:
    """The exception at the bottom of a group."""
    inner = crash.exceptions[0]
    return _first(inner) if isinstance(inner, ExceptionGroup) else inner
