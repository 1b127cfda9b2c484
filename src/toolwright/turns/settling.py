"""Calls of an answer on their way to their results, over as many passes as persons and clients need."""

import asyncio
from collections.abc import Iterable, Mapping

import anyio

from toolwright.contracts.content import Content
from toolwright.contracts.events import CallAnswered, ResultsSettled
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.tool import CallResult, Done, Failed, ToolCall
from toolwright.tool_calls.batch import Batch, BatchResult
from toolwright.tool_calls.early import EarlyCall
from toolwright.tool_calls.pipeline import Answered
from toolwright.tool_calls.single import Single
from toolwright.turns.conversation import CallProgress, OpenBlock
from toolwright.turns.parts import REFUSED, RunEnd, TurnParts
from toolwright.turns.results import cut_call, cut_short, not_run, shut_down, standing, stopped_agent

_WAITING = RunEnd("waiting")


async def settled(parts: TurnParts, early: Mapping[str, EarlyCall] | None = None) -> RunEnd | None:
    """Bring every call of the open block to its result. Returns why the run ends here, if it does.

    A run that is stopped answers what has not started itself: no call stays without a result.
    """
    block = parts.log.conversation.block
    if block is None:
        return None
    begun = dict(early or {})
    while True:
        await _answer_unfit_calls(parts, block, begun)
        if any(call.answered is not None for call in block.open_calls):
            await parts.log.acknowledged()
        if parts.stopper.end is not None:
            return await _left(parts, block, parts.stopper.end, begun)
        done = await _pass(parts, block, begun)
        begun = {}
        if not done.waiting:
            return _handed_over(parts, block, done)
        if not block.can_go_on and not await _brought_soon(parts, block):
            return _WAITING


async def _brought_soon(parts: TurnParts, block: OpenBlock) -> bool:
    """Wait a moment for a client that makes its calls as soon as it hears of them.

    Return whether there is more to do for this run.
    """
    if parts.stopper.end is not None:
        return True
    if parts.patience <= 0 or not any(asked.kind == "client_result" for asked in block.questions):
        return False
    parts.news = anyio.Event()
    with parts.stopper.stoppable(), anyio.move_on_after(parts.patience):
        await parts.news.wait()
    return block.can_go_on or parts.stopper.end is not None


async def _pass(parts: TurnParts, block: OpenBlock, early: Mapping[str, EarlyCall]) -> BatchResult:
    """Run what can go on."""
    try:
        if len(block.calls) == 1:
            return await _alone(parts, block, early)
        return await _together(parts, block, early)
    except asyncio.CancelledError:
        _say_ended(parts, block)
        raise


async def _alone(parts: TurnParts, block: OpenBlock, early: Mapping[str, EarlyCall]) -> BatchResult:
    (call,) = block.calls.values()
    begun = early.get(call.block.call_id)
    if begun is not None:
        single = Single(parts.pipeline, begun.live.written, begun.live.turn, early=begun)
    else:
        turn = parts.frame(block.turn_id)
        single = Single(parts.pipeline, _written(call), turn, standing=standing(call))
    return await single.run()


async def _together(parts: TurnParts, block: OpenBlock, early: Mapping[str, EarlyCall]) -> BatchResult:
    known = {call_id: standing(call) for call_id, call in block.calls.items() if call_id not in early}
    parts.batch = Batch(
        parts.pipeline,
        [_written(call) for call in block.calls.values()],
        parts.frame(block.turn_id),
        parts.scheduling,
        standing={call_id: how for call_id, how in known.items() if how is not None},
        early=early,
    )
    try:
        return await parts.batch.run()
    finally:
        parts.batch = None


def _say_ended(parts: TurnParts, block: OpenBlock) -> None:
    """The process ends in an orderly way: say of calls at work what is known of them."""
    for call in block.open_calls:
        if call.started is not None and not call.started.repeatable:
            parts.log.record(not_run(call, shut_down()))


def _written(call: CallProgress) -> ToolCall:
    block = call.block
    return ToolCall(block.call_id, block.name, block.input)


def take_answer(parts: TurnParts, event: CallAnswered) -> bool:
    """Hand an answer to the calls at work; False when the next pass has to see to it."""
    block = parts.log.conversation.block
    call = block.calls.get(event.call_id) if block is not None else None
    how = standing(call) if call is not None else None
    parts.news.set()
    if parts.batch is None or not isinstance(how, Answered | Done | Failed):
        return False
    return parts.batch.take(event.call_id, how)


async def _answer_unfit_calls(parts: TurnParts, block: OpenBlock, early: dict[str, EarlyCall]) -> None:
    """Answer what is not to be run: calls of an answer that was interrupted or refused, and one cut short."""
    last = parts.log.conversation.last
    if last is not None and last.cut:
        await _answer(parts, block.open_calls, "the answer was interrupted.", early)
    elif block.stop == "refusal":
        await _answer(parts, block.open_calls, "the model refused to go on.", early)
    elif last is not None and block.stop in {"max_tokens", "context_full"}:
        call = block.calls.get(last.blocks[-1].call_id) if isinstance(last.blocks[-1], CallBlock) else None
        if call is not None and call.ended is None and call.started is None:
            await _give_up(early, call)
            parts.log.record(not_run(call, cut_call()))


async def _answer(
    parts: TurnParts, calls: Iterable[CallProgress], why: str, early: dict[str, EarlyCall]
) -> None:
    for call in calls:
        await _give_up(early, call)
        parts.log.record(not_run(call, cut_short(call, why)))


async def _give_up(early: dict[str, EarlyCall], call: CallProgress) -> None:
    """End a call that began while the model spoke, before anybody answers in its place."""
    begun = early.pop(call.block.call_id, None)
    if begun is not None:
        await begun.give_up()


async def _left(parts: TurnParts, block: OpenBlock, end: RunEnd, early: dict[str, EarlyCall]) -> RunEnd:
    """Answer what is open, so that the history is whole, and end. What a client delivered counts."""
    why = end.message or "the run was stopped."
    for call in block.open_calls:
        await _give_up(early, call)
        delivered = standing(call)
        if isinstance(delivered, Done | Failed):
            await _conclude(parts, block, call, delivered)
            continue
        has_agent = call.waiting is not None and call.waiting.kind == "child"
        parts.log.record(not_run(call, stopped_agent(why) if has_agent else cut_short(call, why)))
    notes = tuple(note for call in block.calls.values() if call.ended for note in call.ended.notes)
    parts.log.record(ResultsSettled(turn_id=block.turn_id, notes=notes))
    return end


async def _conclude(parts: TurnParts, block: OpenBlock, call: CallProgress, outcome: Done | Failed) -> None:
    """Give a call the result that somebody else brought for it."""
    live = parts.pipeline.open(_written(call), parts.frame(block.turn_id), counted=True)
    parts.pipeline.taken_over(live)
    await parts.pipeline.conclude(live, outcome)


def _handed_over(parts: TurnParts, block: OpenBlock, done: BatchResult) -> RunEnd | None:
    settled = ResultsSettled(
        turn_id=block.turn_id, shortened=_shortened(block, done.results), notes=done.notes
    )
    parts.log.record(settled)
    if parts.stopper.end is not None:
        return parts.stopper.end
    if done.stop is not None:
        return RunEnd("stopped", done.stop)
    return REFUSED if block.stop == "refusal" else parts.stopper.after_block


def _shortened(block: OpenBlock, results: tuple[CallResult, ...]) -> Mapping[str, Content]:
    """What the model reads in place of results that were too large together."""
    shortened = {}
    for result in results:
        ended = block.calls[result.call_id].ended
        if ended is not None and ended.content != result.content:
            shortened[result.call_id] = result.content
    return shortened
