"""Getting one complete answer from a model: retries, another model, words shown while they come.

Only a complete answer is recorded. An answer that a person interrupts is kept up to its last complete block,
and none of its calls runs.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.events import InputAccepted, ModelAnswered, ModelAsked, ModelFailed, RunEndKind
from toolwright.contracts.ids import new_id
from toolwright.contracts.messages import CallBlock, SaidBlock
from toolwright.contracts.models import (
    Answer,
    BlockDone,
    CallDelta,
    ModelEvent,
    ModelFault,
    ModelRequest,
    StopReason,
)
from toolwright.contracts.tool import ToolCall
from toolwright.tool_calls.early import EarlyCalls
from toolwright.turns.compaction import AS_FEW_AS_POSSIBLE, shortened
from toolwright.turns.parts import REFUSED, Model, RunEnd, TurnParts
from toolwright.turns.retrying import Again, next_try

_ENDS: dict[StopReason, RunEnd] = {
    "refusal": REFUSED,
    "max_tokens": RunEnd("max_tokens", "The answer ended at its size limit."),
    "context_full": RunEnd("context_full", "The conversation does not fit the model's window any more."),
}
_MOST_TIMES = 2
"""Conversations that are shortened for one answer."""
_GO_ON = (
    "The last answer broke off because the model's window was full. The conversation is shorter now; "
    "go on where it broke off."
)


async def answered(parts: TurnParts, early: EarlyCalls) -> RunEnd | None:
    """Ask until there is a complete answer, and record it. Returns why the run ends instead, if it does."""
    try:
        asking = _Asking(parts, early, parts.chosen_model())
    except SettingsError as problem:
        return RunEnd("failed", str(problem))
    return await asking.answered()


def end_of(answer: ModelAnswered | None) -> RunEnd | None:
    """Return why a run ends with this answer, if it does; no calls are left of it."""
    return _ENDS.get(answer.stop) if answer is not None and not answer.cut else None


@dataclass(slots=True)
class _Attempt:
    """What has come of one attempt."""

    blocks: list[SaidBlock]
    ids: dict[str, str]
    """The calls of this attempt, and what they are called here."""
    answer: Answer | None = None


class _Asking:
    def __init__(self, parts: TurnParts, early: EarlyCalls, model: Model) -> None:
        self._parts = parts
        self._early = early
        self._model = model
        self._turn_id = new_id("turn")
        self._attempt = 0
        self._of_model = 0
        self._began = parts.clock.monotonic()
        self._fallback = parts.fallback_model
        self._no_fallback = ""
        self._given_up_ids: set[str] = set()
        """What calls of attempts that failed are called; some of them may have begun."""
        self._made_room = 0
        early.frame = parts.frame(self._turn_id)

    async def answered(self) -> RunEnd | None:
        while True:
            self._attempt += 1
            self._of_model += 1
            self._say_asked()
            attempt = _Attempt([], {})
            try:
                with self._parts.stopper.stoppable():
                    await self._stream(attempt)
            except ModelFault as fault:
                self._given_up_ids.update(attempt.ids.values())
                end = await self._failed(fault)
                if end is not None:
                    return end
                continue
            return await self._recorded(attempt)

    # --- one attempt ---------------------------------------------------------------------------

    def _say_asked(self) -> None:
        parts = self._parts
        asked = ModelAsked(
            turn_id=self._turn_id,
            model=self._model.written,
            fingerprint=parts.preamble.fingerprint,
            messages=len(parts.log.conversation.messages) + bool(parts.log.conversation.unsaid),
            attempt=self._attempt,
        )
        parts.log.record(asked)

    async def _stream(self, attempt: _Attempt) -> None:
        async with self._model.provider.stream(self._request()) as events:
            await self._take(events, attempt)
        if attempt.answer is None:
            raise ModelFault("cut", f"The stream of {self._model.written} ended without an answer.")

    def _request(self) -> ModelRequest:
        parts, model = self._parts, self._model
        most = model.profile.max_output
        return ModelRequest(
            model=model.name,
            preamble=parts.preamble_for(model),
            messages=parts.log.conversation.messages,
            max_tokens=min(parts.max_tokens or most, most),
            effort=parts.effort,
            session_id=parts.session_id,
        )

    async def _take(self, events: AsyncIterator[ModelEvent], attempt: _Attempt) -> None:
        show = self._parts.log.show
        async for event in events:
            match event:
                case Answer():
                    attempt.answer = _with_one_id_each(event)
                case BlockDone():
                    self._block(event.block, attempt)
                case CallDelta():
                    call_id = self._fresh(event.call_id, attempt)
                    show(event if call_id == event.call_id else replace(event, call_id=call_id))
                case _:
                    show(event)

    def _block(self, block: SaidBlock, attempt: _Attempt) -> None:
        block = self._renamed(block, attempt)
        attempt.blocks.append(block)
        if isinstance(block, CallBlock):
            self._early.offer(ToolCall(block.call_id, block.name, block.input))

    def _renamed(self, block: SaidBlock, attempt: _Attempt) -> SaidBlock:
        if not isinstance(block, CallBlock):
            return block
        call_id = self._fresh(block.call_id, attempt)
        return block if call_id == block.call_id else replace(block, call_id=call_id)

    def _fresh(self, call_id: str, attempt: _Attempt) -> str:
        """An id that no call of this session has had: small servers count anew with every answer."""
        known = attempt.ids.get(call_id)
        if known is None:
            taken = call_id in self._parts.log.conversation.call_ids or call_id in self._given_up_ids
            known = attempt.ids[call_id] = new_id("call") if taken else call_id
        return known

    # --- what comes of it ----------------------------------------------------------------------

    async def _recorded(self, attempt: _Attempt) -> RunEnd | None:
        answer, log = attempt.answer, self._parts.log
        if answer is None:
            return self._cut(attempt)
        prices = self._model.profile.prices
        recorded = ModelAnswered(
            turn_id=self._turn_id,
            blocks=tuple([self._renamed(block, attempt) for block in answer.blocks]),
            stop=answer.stop,
            usage=answer.usage,
            model=answer.model or self._model.written,
            cost=prices.cost(answer.usage) if prices is not None else 0.0,
        )
        log.record(recorded)
        if answer.calls:
            return None
        if answer.stop == "context_full" and await self._make_room():
            log.record(InputAccepted(input_id=new_id("input"), content=_GO_ON, source="system"))
            return None
        return self._parts.stopper.end or end_of(recorded)

    def _cut(self, attempt: _Attempt) -> RunEnd | None:
        """Keep what an interrupted answer had complete."""
        log, blocks = self._parts.log, tuple(attempt.blocks)
        if blocks:
            model = self._model.written
            log.record(
                ModelAnswered(turn_id=self._turn_id, blocks=blocks, stop="end_turn", model=model, cut=True)
            )
        return None if log.conversation.block is not None else self._parts.stopper.end

    async def _failed(self, fault: ModelFault) -> RunEnd | None:
        """Wait and turn to the next attempt, or say why there is none."""
        self._early.start_over()
        made_room = fault.code == "too_large" and await self._make_room()
        again = Again(0.0) if made_room else self._next(fault)
        self._parts.log.record(
            ModelFailed(
                turn_id=self._turn_id,
                code=fault.code,
                message=fault.message,
                attempt=self._attempt,
                retry_in=again.wait if again is not None else None,
                next_model=again.model if again is not None else "",
            )
        )
        if again is None:
            end: RunEndKind = "context_full" if fault.code == "too_large" else "failed"
            return self._parts.stopper.end or RunEnd(end, f"{fault}{self._no_fallback}")
        with self._parts.stopper.stoppable():
            await self._parts.clock.sleep(again.wait)
        return self._parts.stopper.end

    def _next(self, fault: ModelFault) -> Again | None:
        parts = self._parts
        again = next_try(
            parts.retries,
            fault,
            attempt=self._of_model,
            elapsed=parts.clock.monotonic() - self._began,
            chance=parts.random(),
            fallback=self._fallback if self._fallback != self._model.written else "",
        )
        if again is None or not again.model:
            return again
        try:
            self._model, self._fallback, self._of_model = parts.lookup(again.model), "", 0
        except SettingsError as problem:
            self._no_fallback = f" ({again.model} cannot be asked instead: {problem})"
            return None
        return again

    async def _make_room(self) -> bool:
        """Shorten a conversation that does not fit, the second time as far as it goes; say if that worked."""
        if not self._parts.compaction.auto or self._made_room >= _MOST_TIMES:
            return False
        self._made_room += 1
        keep = None if self._made_room == 1 else AS_FEW_AS_POSSIBLE
        return await shortened(self._parts, self._model, keep=keep, at_any_price=True)


def _with_one_id_each(answer: Answer) -> Answer:
    """What providers promise; a result could belong to two calls otherwise."""
    if len(answer.blocks) == 1:
        return answer
    calls = answer.calls
    if len(calls) != len({call.call_id for call in calls}):
        raise ModelFault("garbage", "Two calls of one answer have the same id.")
    return answer
