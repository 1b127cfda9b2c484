"""The loop: ask the model, run its calls, and again, until there is a reason to stop.

Everything that happens goes through the log, so this function can be left at any await, by a crash or by a
person, and called again: it finds in the conversation what is still to be done.
"""

from toolwright.tool_calls.early import EarlyCalls
from toolwright.turns.asking import answered, end_of
from toolwright.turns.compaction import shortened_if_full
from toolwright.turns.epochs import open_epoch
from toolwright.turns.inputs import take_inputs
from toolwright.turns.limits import exceeded
from toolwright.turns.parts import RunEnd, TurnParts
from toolwright.turns.settling import settled

DONE = RunEnd("done")


async def run(parts: TurnParts) -> RunEnd:
    """Work on a session until it has nothing to do, waits for somebody, or may not go on.

    May raise EngineFault; the log is valid then, too.
    """
    talk = parts.log.conversation
    while True:
        end = await settled(parts) or parts.stopper.end or parts.stopper.after_block
        if end is not None:
            return end  # what waits in the queue is for the next run
        if talk.queue:
            await parts.log.acknowledged()
        take_inputs(parts.log)
        if not talk.owes_answer:
            return end_of(talk.last) or DONE
        end = _used_up(parts) or await shortened_if_full(parts)
        if end is not None:
            return end
        open_epoch(parts)
        await parts.log.room()
        async with EarlyCalls(parts.pipeline, most=parts.scheduling.max_concurrency) as early:
            end = await answered(parts, early) or await settled(parts, await early.kept())
        if end is not None:
            return end


def _used_up(parts: TurnParts) -> RunEnd | None:
    talk = parts.log.conversation
    seconds = talk.running_seconds(parts.clock.now())
    refused = exceeded(parts.limits, talk.account, seconds=seconds) or parts.over_budget()
    return RunEnd("limit", refused) if refused else None
