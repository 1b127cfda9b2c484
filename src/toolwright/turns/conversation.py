"""What model and person have said so far, folded from the log of a session (pure).

A message is made once, when the log says that it is complete, and never changes; so each provider may keep
with it the bytes it is sent as, and every request begins with the bytes of the request before.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from toolwright.contracts.content import Content, TextBlock
from toolwright.contracts.events import (
    CallAnswered,
    CallEnded,
    CallStarted,
    CallWaiting,
    ChildEnded,
    Compacted,
    Event,
    InputAccepted,
    InputDropped,
    InputTaken,
    ModelAnswered,
    ModelAsked,
    ModelChosen,
    PermissionsChanged,
    PreambleChanged,
    PromptAnswered,
    ResultsSettled,
    RunEnded,
    RunStarted,
    ToolsListed,
)
from toolwright.contracts.messages import (
    CallBlock,
    Message,
    MessageBlock,
    ResultBlock,
    SaidBlock,
    ThinkingBlock,
)
from toolwright.contracts.models import StopReason
from toolwright.turns.accounts import Account, Spent
from toolwright.turns.transcript import tokens_in

_FROM_ELSEWHERE = "<{source}>\n{text}\n</{source}>"
"""How the words of others than the person are marked."""
_MARKS = re.compile(r"<(?=\s*/?\s*(?:notification|agent|system)\b)", re.IGNORECASE)
"""Where such words could end their mark, to go on as if they were the person's."""


@dataclass(slots=True)
class CallProgress:
    """How far one call of the open block is."""

    block: CallBlock
    waiting: CallWaiting | None = None
    answered: CallAnswered | None = None
    started: CallStarted | None = None
    ended: CallEnded | None = None
    judge_anew: bool = False
    """The permissions changed since the question was put."""

    @property
    def state(self) -> str:
        """``requested, waiting, started, done, failed, denied`` or ``interrupted``."""
        if self.ended is not None:
            return self.ended.state
        if self.started is not None:
            return "started"
        return "waiting" if self.waiting is not None and self.answered is None else "requested"

    @property
    def awaits_child(self) -> bool:
        """Whether it waits for an agent: answers to a question are for that one, a content is the end."""
        return self.waiting is not None and self.waiting.kind == "child" and self.answered is None

    @property
    def changes_permissions(self) -> bool:
        """Whether the answer to its question says more than yes or no to this call."""
        answer = self.answered.answer if self.answered is not None else None
        return answer is not None and bool(answer.changes)


@dataclass(slots=True)
class OpenBlock:
    """The calls of the last answer, until all of them have their results."""

    turn_id: str
    calls: dict[str, CallProgress]
    stop: StopReason

    @property
    def open_calls(self) -> list[CallProgress]:
        return [call for call in self.calls.values() if call.ended is None]

    @property
    def questions(self) -> list[CallWaiting]:
        """What a person or a client still has to answer, in the order of the calls."""
        return [
            call.waiting
            for call in self.calls.values()
            if call.waiting is not None
            and call.answered is None
            and call.ended is None
            and (call.waiting.request is not None or call.waiting.kind == "client_result")
        ]

    @property
    def is_being_judged(self) -> bool:
        """Whether a change of permissions, or an answer that makes one, has not had its effect yet."""
        return any(
            call.judge_anew or (call.state == "requested" and call.changes_permissions)
            for call in self.open_calls
        )

    @property
    def can_go_on(self) -> bool:
        """Whether some call of it neither is over nor waits for somebody."""
        return any(call.state in {"requested", "started"} or call.judge_anew for call in self.open_calls)


class Conversation:
    """The state of the talk. ``apply`` takes the events of the log in their order and nothing else."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.queue: dict[str, InputAccepted] = {}
        self.block: OpenBlock | None = None
        self.last: ModelAnswered | None = None
        self.preamble: PreambleChanged | None = None
        self.model = ""
        self.context_tokens = 0
        self.call_ids: set[str] = set()
        self.input_ids: set[str] = set()
        self.put: set[str] = set()
        """Every question that was ever put, by its id, and every call that was ever left to the client."""
        self.compactions = 0
        self.counts_on = False
        """What was used is never forgotten, whoever speaks: the account of a child is its parent's."""
        self._unsaid: list[MessageBlock] = []
        self._early: dict[str, CallStarted] = {}
        self._running_since: float | None = None
        self._answered = True
        self._lately = Account()
        self._total = Account()
        self._measured = 0
        self._estimate = 0

    @property
    def estimated_tokens(self) -> int:
        """About how many tokens the messages take, where the provider counts none. Each is measured once."""
        self._estimate += tokens_in(self.messages[self._measured :])
        self._measured = len(self.messages)
        return self._estimate

    @property
    def account(self) -> Account:
        """What was used since a person spoke last, as it grows."""
        return self._lately

    @property
    def spent(self) -> Spent:
        """What was used since a person spoke last."""
        return self._lately.spent

    @property
    def total(self) -> Spent:
        """What was used in all."""
        return self._total.spent

    @property
    def owes_answer(self) -> bool:
        """Whether the model has something to read that it has not answered."""
        return bool(self._unsaid) or not self._answered

    @property
    def unsaid(self) -> Sequence[MessageBlock]:
        """What stands ready for the next request: results, notes, inputs."""
        return self._unsaid

    def apply(self, event: Event, at: float) -> None:
        """Take one event of the log."""
        take = self._TAKEN_BY.get(type(event))
        if take is not None:
            take(self, event, at)

    def running_seconds(self, now: float) -> float:
        """Seconds of running since a person spoke last, the present run included."""
        since = self._running_since
        return self._lately.seconds + (max(now - since, 0.0) if since is not None else 0.0)

    # --- asking and answering -------------------------------------------------------------------

    def _asked(self, event: ModelAsked, at: float) -> None:
        del event, at
        if self._unsaid:
            self.messages.append(Message("user", tuple(self._unsaid)))
            self._unsaid = []
        self._answered = False
        self._early.clear()

    def _answered_with(self, event: ModelAnswered, at: float) -> None:
        del at
        self.last = event
        self._answered = event.stop != "pause_turn" or event.cut
        self._lately.asked(event.usage, event.cost)
        self._total.asked(event.usage, event.cost)
        if event.usage.context_tokens:
            self.context_tokens = event.usage.context_tokens
        blocks = sent_back(event)
        if blocks:
            self.messages.append(Message("assistant", blocks))
        calls = [block for block in event.blocks if isinstance(block, CallBlock)]
        if calls:
            started = self._early
            self.block = OpenBlock(
                event.turn_id,
                {call.call_id: CallProgress(call, started=started.get(call.call_id)) for call in calls},
                event.stop,
            )
            self.call_ids.update(self.block.calls)
        self._early = {}

    # --- calls ----------------------------------------------------------------------------------

    def _call(self, call_id: str) -> CallProgress | None:
        return self.block.calls.get(call_id) if self.block is not None else None

    def _started(self, event: CallStarted, at: float) -> None:
        del at
        call = self._call(event.call_id)
        if call is None:
            self._early[event.call_id] = event
        else:
            call.started = event

    def _waits(self, event: CallWaiting, at: float) -> None:
        del at
        self._put(event)
        call = self._call(event.call_id)
        if call is not None:
            call.waiting, call.answered, call.started = event, None, None
            call.judge_anew = False

    def _is_answered(self, event: CallAnswered, at: float) -> None:
        del at
        call = self._call(event.call_id)
        if call is None:
            return
        if event.answer is not None and call.awaits_child:
            call.waiting = replace(call.waiting, request=None) if call.waiting else None  # still it waits
        else:
            call.answered = event

    def _ended(self, event: CallEnded, at: float) -> None:
        del at
        call = self._call(event.call_id)
        if call is not None:
            call.ended = event
            if event.code != "budget_exhausted" or event.input is not None:  # what a quota refused uses none
                self._lately.called(event.tool)
                self._total.called(event.tool)

    def _put(self, event: CallWaiting) -> None:
        if event.request is not None:
            self.put.add(event.request.request_id)
        if event.kind == "client_result":
            self.put.add(event.call_id)

    def _permissions_changed(self, event: PermissionsChanged, at: float) -> None:
        del event, at
        for call in self.block.open_calls if self.block is not None else ():
            if call.waiting is not None and call.waiting.kind == "permission" and call.answered is None:
                call.judge_anew = True

    def _settled(self, event: ResultsSettled, at: float) -> None:
        del at
        if self.block is None:
            return
        self._unsaid += results_of(self.block, event.shortened)
        self._unsaid += [TextBlock(note) for note in event.notes]
        self.block = None

    # --- inputs ---------------------------------------------------------------------------------

    def _take(self, event: InputTaken, at: float) -> None:
        accepted = self.queue.pop(event.input_id, None)
        if accepted is None:
            return
        self._unsaid += said(accepted)
        if accepted.source == "user" and not self.counts_on:
            self._time_passes(at)
            self._lately = Account()

    def _queue(self, event: InputAccepted, at: float) -> None:
        del at
        self.queue[event.input_id] = event
        self.input_ids.add(event.input_id)

    def _drop(self, event: InputDropped, at: float) -> None:
        del at
        self.queue.pop(event.input_id, None)

    # --- accounts -------------------------------------------------------------------------------

    def _child_ended(self, event: ChildEnded, at: float) -> None:
        del at
        used = used_by_child(event)
        self._lately.add(used)
        self._total.add(used)

    def _run_begins(self, event: RunStarted, at: float) -> None:
        del event
        self._running_since = at

    def _run_over(self, event: RunEnded, at: float) -> None:
        del event
        self._time_passes(at)
        self._running_since = None

    def _time_passes(self, now: float) -> None:
        """Count the seconds of running up to now."""
        if self._running_since is not None:
            took = max(now - self._running_since, 0.0)
            self._lately.ran(took)
            self._total.ran(took)
            self._running_since = now

    # --- what is asked, and of whom ---

    def _preamble(self, event: PreambleChanged, at: float) -> None:
        del at
        self.preamble = event

    def _listed(self, event: ToolsListed, at: float) -> None:
        del at
        if event.text:
            self._unsaid.append(TextBlock(event.text))

    def _choose(self, event: ModelChosen, at: float) -> None:
        del at
        self.model = event.model

    # --- making it shorter ----------------------------------------------------------------------

    def _compacted(self, event: Compacted, at: float) -> None:
        del at
        self.messages[: event.messages] = [Message("user", (TextBlock(event.summary),))]
        self._measured = self._estimate = 0
        self.context_tokens = 0
        self.compactions += 1
        self._lately.asked(event.usage, event.cost, rounds=0)
        self._total.asked(event.usage, event.cost, rounds=0)

    def _prompt_answered(self, event: PromptAnswered, at: float) -> None:
        """A question outside the conversation costs like one of it."""
        del at
        self._lately.asked(event.usage, event.cost)
        self._total.asked(event.usage, event.cost)

    _TAKEN_BY: ClassVar[Mapping[type, Callable[..., None]]] = {
        ModelAsked: _asked,
        ModelAnswered: _answered_with,
        CallStarted: _started,
        CallWaiting: _waits,
        CallAnswered: _is_answered,
        CallEnded: _ended,
        ResultsSettled: _settled,
        InputAccepted: _queue,
        InputTaken: _take,
        InputDropped: _drop,
        Compacted: _compacted,
        PromptAnswered: _prompt_answered,
        PermissionsChanged: _permissions_changed,
        PreambleChanged: _preamble,
        ToolsListed: _listed,
        ModelChosen: _choose,
        ChildEnded: _child_ended,
        RunStarted: _run_begins,
        RunEnded: _run_over,
    }


def used_by_child(event: ChildEnded) -> Spent:
    """Return what a child used since it was started."""
    return Spent(
        rounds=event.rounds,
        calls=event.calls,
        calls_by_tool=event.calls_by_tool,
        usage=event.usage,
        cost=event.cost,
        seconds=event.seconds,
    )


def sent_back(event: ModelAnswered) -> tuple[SaidBlock, ...]:
    """Return what the model reads again of its answer. Thoughts with nothing behind them are refused."""
    blocks = event.blocks
    while blocks and isinstance(blocks[-1], ThinkingBlock) and event.stop != "pause_turn":
        blocks = blocks[:-1]
    return blocks


def said(accepted: InputAccepted) -> list[MessageBlock]:
    """Return the blocks of an input; what did not come from the person says so."""
    if accepted.source == "user":
        return list(as_blocks(accepted.content))
    blocks = as_blocks(accepted.content)
    return [
        replace(block, text=_FROM_ELSEWHERE.format(source=accepted.source, text=_MARKS.sub("‹", block.text)))
        if isinstance(block, TextBlock)
        else block
        for block in blocks
    ]


def as_blocks(content: Content) -> Sequence[MessageBlock]:
    """Return content as blocks; empty text is nothing."""
    if isinstance(content, str):
        return (TextBlock(content),) if content else ()
    return content


def results_of(block: OpenBlock, shortened: Mapping[str, Content]) -> Iterable[ResultBlock]:
    """Return the results of a settled block in the order of its calls."""
    for call_id, call in block.calls.items():
        if call.ended is not None:
            content = shortened.get(call_id, call.ended.content)
            failed = call.ended.state != "done"
            yield ResultBlock(call_id, content, is_error=failed, loads=call.ended.loads)
