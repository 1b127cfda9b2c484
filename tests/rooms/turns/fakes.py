"""What a turn is given in tests: a log in a list, a scripted model, calls of fake tools."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from tests.rooms.tool_calls import fakes
from tests.rooms.tool_calls.fakes import FakeTool

from toolwright.backends.clock.fake import FakeClock
from toolwright.contracts.events import (
    CallAnswered,
    InputAccepted,
    InterruptRequested,
    LiveDelta,
    LoggedEvent,
    ModelAnswered,
    RunStarted,
)
from toolwright.contracts.ids import new_id
from toolwright.contracts.messages import Message, ResultBlock, SaidBlock
from toolwright.contracts.models import ModelProvider, Preamble, StopReason
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest
from toolwright.contracts.tool import Offered
from toolwright.testing import ScriptedModel
from toolwright.tool_calls.parts import Judge, Parts
from toolwright.tool_calls.pipeline import Pipeline
from toolwright.turns import loop
from toolwright.turns.call_log import CallLog
from toolwright.turns.conversation import Conversation
from toolwright.turns.parts import Model, RunEnd, TurnParts

Kind = TypeVar("Kind")
PREAMBLE = Preamble(("You help.",), (), "print_1")


class ListLog:
    """A ``Log`` that keeps everything; ``watch`` is told of each event once it is in."""

    def __init__(self, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.conversation = Conversation()
        self.events: list[LoggedEvent] = []
        self.shown: list[LiveDelta] = []
        self.waits = 0
        """How often somebody waited until everything was durable."""
        self.watch: Callable[[LoggedEvent], None] = lambda event: None

    def record(self, event: LoggedEvent) -> None:
        self.events.append(event)
        self.conversation.apply(event, self.clock.now())
        self.watch(event)

    async def durable(self) -> None:
        self.waits += 1

    async def acknowledged(self) -> None:
        """What clients ask for is durable at once."""

    async def room(self) -> None:
        """There is always room."""

    def show(self, delta: LiveDelta) -> None:
        self.shown.append(delta)

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.events]


class Later:
    """The approver of a session: the answer comes as an event."""

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        return None


class Bench:
    """A session without its room: a log, a model, tools, and the loop to run over them."""

    def __init__(
        self,
        script: Iterable[Any] | ScriptedModel,
        *tools: FakeTool,
        rules: Judge | None = None,
        log: ListLog | None = None,
        **more: Any,
    ) -> None:
        self.log = log or ListLog()
        self.model = script if isinstance(script, ScriptedModel) else ScriptedModel(script)
        calls = replace(
            fakes.parts(rules=rules), approver=Later(), journal=CallLog(self.log), clock=self.log.clock
        )
        self.parts = turn_parts(self.log, self.model, calls, fakes.offered(*tools), **more)

    @property
    def talk(self) -> Conversation:
        return self.log.conversation

    @property
    def messages(self) -> list[Message]:
        return self.talk.messages

    def say(self, text: str = "Go.", **more: Any) -> str:
        accepted = InputAccepted(input_id=new_id("input"), content=text, **more)
        self.log.record(accepted)
        return accepted.input_id

    async def run(self, text: str = "") -> RunEnd:
        """Run the loop as a session does."""
        if text:
            self.say(text)
        self.parts.start_over()
        self.log.record(RunStarted(run_id=new_id("run"), epoch=1))
        return await loop.run(self.parts)

    def stop(self, why: str = "Interrupted by the user") -> None:
        self.log.record(InterruptRequested(reason=why))
        self.parts.stopper.stop(RunEnd("interrupted", why))

    def question(self, place: int = 0) -> ApprovalRequest:
        assert self.talk.block is not None
        request = self.talk.block.questions[place].request
        assert request is not None
        return request

    def answer(self, request: ApprovalRequest, *, allow: bool = True, **more: Any) -> None:
        answered = (fakes.yes if allow else fakes.no)(request, **more)
        self.log.record(CallAnswered(call_id=request.call_id, tool=request.tool, answer=answered))


def turn_parts(
    log: ListLog, provider: ModelProvider, calls: Parts, offered: Offered, **more: Any
) -> TurnParts:
    """Return the parts of a turn in which nothing is left to chance."""
    model = Model(provider, "m", "fake/m")
    given: dict[str, Any] = {
        "lookup": lambda written: model,
        "model": "fake/m",
        "clock": log.clock,
        "random": lambda: 1.0,
        "session_id": "ses_1",
        "preamble": PREAMBLE,
        **more,
    }
    return TurnParts(log=log, pipeline=Pipeline(calls), offered=offered, **given)


def answer(*blocks: SaidBlock, stop: StopReason = "calls", **more: Any) -> ModelAnswered:
    return ModelAnswered(turn_id=more.pop("turn", "turn_1"), blocks=blocks, stop=stop, **more)


def results_in(message: Message) -> Sequence[ResultBlock]:
    return [block for block in message.blocks if isinstance(block, ResultBlock)]
