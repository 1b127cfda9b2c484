"""Shortening a conversation that fills the model's window.

The older part is replaced by a summary that the model writes; the newer part stays as it is. A call is never
parted from its result. What is replaced stays in the log, and as text in a file that the model can read.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from toolwright.contracts.content import TextBlock
from toolwright.contracts.errors import SettingsError
from toolwright.contracts.events import Compacted, ModelFailed
from toolwright.contracts.messages import Message, ResultBlock
from toolwright.contracts.models import NO_USAGE, Answer, ModelFault, ModelRequest
from toolwright.turns.conversation import Conversation
from toolwright.turns.parts import Model, RunEnd, TurnParts
from toolwright.turns.retrying import next_try
from toolwright.turns.transcript import excerpt, tokens_of, transcript

_MOST_SUMMARY_TOKENS = 8_000
_EXCERPT = 6_000
_CHARS_OF_WINDOW = 2
"""Characters for each token of the window that a conversation may have when it is to be summarised as text:
half of what fits, so that the answer and the rest of the request have room."""
_STANDS_FOR = "<summary>\nThe conversation up to here was shortened.{kept}\n\n{summary}\n</summary>"
_KEPT = " All of it is kept in {path}."
_LOST = " It could not be kept as a file ({why})."
_MARKS = re.compile(r"<(?=\s*/?\s*summary\b)", re.IGNORECASE)
"""Where a text could end the summary, to go on as if it were the person's."""


@dataclass(frozen=True, slots=True)
class Keep:
    """How much of the end of a conversation stays as it is: at most so much, at least one message."""

    messages: int
    tokens: int


AS_FEW_AS_POSSIBLE = Keep(1, 0)


async def shortened_if_full(parts: TurnParts) -> RunEnd | None:
    """Make room when the window fills. Returns why the run ends here, if it does.

    When no summary can be had the conversation stays as it is: there is still room for a while.
    """
    settings = parts.compaction
    if not settings.auto:
        return None
    try:
        model = parts.chosen_model()
    except SettingsError:
        return None  # said by whoever asks the model next
    if filled(parts.log.conversation) < settings.at * model.profile.context_window:
        return None
    try:
        await shortened(parts, model)
    except ModelFault as fault:
        parts.log.record(ModelFailed(turn_id="", code=fault.code, message=fault.message))
    return parts.stopper.end


def filled(talk: Conversation) -> int:
    """Return about how many tokens the next request has (pure), as the provider counts where it does."""
    return (talk.context_tokens or talk.estimated_tokens) + tokens_of(talk.unsaid)


async def shortened(
    parts: TurnParts, model: Model, *, keep: Keep | None = None, at_any_price: bool = False
) -> bool:
    """Replace the older part of the conversation by a summary. False when there is nothing to replace.

    May raise ModelFault when the model gives none; ``at_any_price`` the first and last words stand for it.
    """
    talk = parts.log.conversation
    count = replaceable(talk.messages, keep or _usual(parts, model))
    if count == 0:
        return False
    old, before = talk.messages[:count], talk.compactions
    with parts.stopper.stoppable():
        summary = await _summary(parts, model, old, at_any_price=at_any_price)
        kept = await _kept(parts, old)
        event = Compacted(
            messages=count,
            summary=_STANDS_FOR.format(kept=kept, summary=_MARKS.sub("‹", summary.text)),
            tokens_before=talk.context_tokens,
            usage=summary.usage,
            cost=model.profile.prices.cost(summary.usage) if model.profile.prices is not None else 0.0,
        )
        parts.log.record(event)
    return talk.compactions > before


def _usual(parts: TurnParts, model: Model) -> Keep:
    """What settings say, and no more than a quarter of a small window."""
    settings = parts.compaction
    return Keep(settings.keep_messages, min(settings.keep_tokens, model.profile.context_window // 4))


def replaceable(messages: Sequence[Message], keep: Keep) -> int:
    """Return how many of the first messages a summary may stand for (pure).

    As many as leave behind what is to be kept; a few less or more where the next message holds results,
    whose calls would be lost. A single message is not worth a summary.
    """
    wanted = len(messages) - max(_kept_whole(messages, keep), 1)
    spans = (range(wanted, 1, -1), range(max(wanted + 1, 2), len(messages)))
    for span in spans:
        for count in span:
            if count < len(messages) and not _has_results(messages[count]):
                return count
    return 0


def _kept_whole(messages: Sequence[Message], keep: Keep) -> int:
    """How many of the last messages are within both measures."""
    tokens = 0
    for number, message in enumerate(reversed(messages[-keep.messages :])):
        tokens += tokens_of(message.blocks)
        if tokens > keep.tokens:
            return number
    return min(keep.messages, len(messages))


def _has_results(message: Message) -> bool:
    return any(isinstance(block, ResultBlock) for block in message.blocks)


async def _kept(parts: TurnParts, old: Sequence[Message]) -> str:
    """Keep the text of what is replaced; return the sentence that says where."""
    if parts.blobs is None:
        return ""
    try:
        blob = await parts.blobs.put("conversation", transcript(old).encode("utf-8", "replace"))
    except OSError as problem:
        return _LOST.format(why=problem.strerror or type(problem).__name__)
    return _KEPT.format(path=blob.path)


# --- the summary -----------------------------------------------------------------------------


async def _summary(parts: TurnParts, model: Model, old: Sequence[Message], *, at_any_price: bool) -> Answer:
    """Ask for a summary where all of it stands and was read before; else of as much as the model can read."""
    try:
        try:
            return await _asked(parts, model, old)
        except ModelFault as fault:
            if fault.code != "too_large":
                raise
            most = model.profile.context_window * _CHARS_OF_WINDOW
            as_text = Message("user", (TextBlock(excerpt(old, most_chars=most)),))
            return await _asked(parts, model, [as_text])
    except ModelFault:
        if not at_any_price:
            raise
        words = TextBlock(excerpt(old, most_chars=_EXCERPT))
        return Answer(blocks=(words,), stop="end_turn", usage=NO_USAGE)


async def _asked(parts: TurnParts, model: Model, messages: Sequence[Message]) -> Answer:
    """Ask until there is a summary. May raise ModelFault."""
    question = Message("user", (TextBlock(files(__package__).joinpath("summary.md").read_text("utf-8")),))
    request = ModelRequest(
        model=model.name,
        preamble=parts.preamble_for(model),
        messages=[*messages, question],
        max_tokens=min(_MOST_SUMMARY_TOKENS, model.profile.max_output),
        tool_choice="none",
        session_id=parts.session_id,
    )
    began, attempt = parts.clock.monotonic(), 0
    while True:
        attempt += 1
        try:
            return await _asked_once(model, request)
        except ModelFault as fault:
            elapsed = parts.clock.monotonic() - began
            again = next_try(parts.retries, fault, attempt=attempt, elapsed=elapsed, chance=parts.random())
            if again is None:
                raise
            await parts.clock.sleep(again.wait)


async def _asked_once(model: Model, request: ModelRequest) -> Answer:
    answer: Answer | None = None
    async with model.provider.stream(request) as events:
        async for event in events:
            if isinstance(event, Answer):
                answer = event
    if answer is None:
        raise ModelFault("cut", f"The stream of {model.written} ended without an answer.")
    if answer.stop == "refusal" or not answer.text.strip():
        raise ModelFault("bad_request", f"{model.written} gave no summary.")
    return answer
