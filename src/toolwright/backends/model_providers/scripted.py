"""A model that plays a script: for tests, demonstrations, and trying out an engine without a key.

::

    ScriptedModel([[call("read", file_path="a.txt")], "The file says hello."])

An item of the script is one answer:

==========================  ===========================================================================
a text                      a final answer
a list                      texts, calls, thoughts; also pauses and a fault, where they are to happen
an ``Answer``               given as it stands
a ``ModelFault``            raised before anything is said
an ``anyio.Event``          no answer: the next item waits until it is set
a function                  is given the request and returns one of these
==========================  ===========================================================================

What stands right before a fault in a list is left unfinished. Nothing is waited for unless the script or
``delay`` says so; who plays a script without end has to let other tasks run.
"""

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import orjson

from toolwright.backends.model_providers.invented_usage import InventedUsage
from toolwright.backends.model_providers.script_file import read_script
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, Message, SaidBlock, ThinkingBlock
from toolwright.contracts.models import (
    Answer,
    BlockDone,
    CallDelta,
    ModelEvent,
    ModelFault,
    ModelProfile,
    ModelRequest,
    TextDelta,
    ThinkingDelta,
)

if TYPE_CHECKING:
    from toolwright.contracts.models import ModelProvider

Part = str | SaidBlock | ModelFault | anyio.Event
Item = Part | Sequence[Part] | Answer | Callable[[ModelRequest], "Item"]
Steps = list[ModelEvent | ModelFault | anyio.Event]
NO_PROFILES: Mapping[str, ModelProfile] = {}
_CAREFUL = ModelProfile()
_CALL_ID = "call_"


def call(name: str, /, **input: Any) -> CallBlock:
    """Return a call for a script; it gets its id when it is played."""
    return CallBlock("", name, orjson.dumps(input).decode())


def thought(text: str) -> ThinkingBlock:
    """Return a thought for a script."""
    return ThinkingBlock(text, provider=ScriptedModel.name)


class ScriptedModel:
    """``ModelProvider`` that gives the next answer of a script and remembers what it was asked.

    Calls without an id get ``call_1``, ``call_2`` and so on, going on after the calls that a conversation
    already has. Usage is invented as ``invented_usage`` says. Texts and inputs come in pieces of ``piece``
    characters, ``delay`` seconds apart by ``sleep``. ``profiles`` says what a model can do, by its name. With
    ``continues`` the script goes on where the first conversation stands: as many items are left out as that
    already holds answers.
    """

    name = "scripted"

    def __init__(
        self,
        script: Iterable[Item] = (),
        *,
        profiles: Mapping[str, ModelProfile] = NO_PROFILES,
        piece: int = 24,
        delay: float = 0.0,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        continues: bool = False,
        remembers: bool = True,
    ) -> None:
        self.asked: list[ModelRequest] = []
        """Every request so far, as it was when it came; empty for a model that remembers none."""
        self._remembers = remembers
        self._script = list(script)
        self._place = 0
        self._answers = 0
        self._profiles = profiles
        self._piece = piece
        self._delay = delay
        self._sleep = sleep
        self._continues = continues
        self._usage = InventedUsage()
        self._calls = 0
        self._sessions: set[str] = set()

    @classmethod
    def from_file(cls, path: str) -> "ScriptedModel":
        """Return a model that plays a JSON file as ``script_file`` describes it and remembers no request.

        Blocking. Raises DefinitionError naming the file, the place in it and what is wrong.
        """
        written = read_script(path)
        return cls(written.answers, delay=written.delay, continues=written.continues, remembers=False)

    @property
    def remaining(self) -> int:
        """How many items of the script are still to be played."""
        return len(self._script) - self._place

    def profile(self, model: str) -> ModelProfile:
        return self._profiles.get(model, _CAREFUL)

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return _Playing(self._taken, self._played, request)

    async def close(self) -> None:
        """Nothing is held open."""

    async def _taken(self, request: ModelRequest) -> Steps:
        """Take the next answer from the script, waiting where it says so; return what happens then."""
        if self._remembers:
            self.asked.append(replace(request, messages=tuple(request.messages)))
        self._meet(request)
        item = self._next_item()
        while isinstance(item, anyio.Event):
            await item.wait()
            item = self._next_item()
        while callable(item):
            item = item(request)
        if isinstance(item, Answer):
            return self._whole(item)
        return self._steps(request, [item] if isinstance(item, Part) else item)

    async def _played(self, steps: Steps) -> AsyncGenerator[ModelEvent]:
        """Give the events among ``steps`` one by one, waiting and failing where they say so."""
        for step in steps:
            if isinstance(step, ModelFault):
                raise step
            if isinstance(step, anyio.Event):
                await step.wait()
                continue
            if self._delay and not isinstance(step, BlockDone | Answer):
                await self._sleep(self._delay)
            yield step

    def _next_item(self) -> Item:
        if self._place == len(self._script):
            said = f"only {len(self._script)} item(s)" if self._script else "nothing"
            raise ModelFault(
                "script_ended",
                f"the script holds {said} and the model was asked once more: add an answer to it, or let its "
                "last answer be a text without calls",
            )
        self._place += 1
        return self._script[self._place - 1]

    def _meet(self, request: ModelRequest) -> None:
        """Look once at what a session has behind it."""
        if request.session_id in self._sessions:
            return
        if self._continues and not self._sessions:
            answers = sum(message.role == "assistant" for message in request.messages)
            self._place = min(answers, len(self._script))
        self._sessions.add(request.session_id)
        self._calls = max(self._calls, _last_number(request.messages))

    def _whole(self, answer: Answer) -> Steps:
        blocks = tuple(map(self._named, answer.blocks))
        steps: Steps = [event for block in blocks for event in (*self._deltas(block), BlockDone(block))]
        return [*steps, answer if blocks == answer.blocks else replace(answer, blocks=blocks)]

    def _steps(self, request: ModelRequest, parts: Sequence[Part]) -> Steps:
        steps: Steps = []
        blocks: list[SaidBlock] = []
        for part in parts:
            if isinstance(part, ModelFault):
                if steps and isinstance(steps[-1], BlockDone):
                    steps.pop()
                return [*steps, part]
            if isinstance(part, anyio.Event):
                steps.append(part)
                continue
            block = self._named(TextBlock(part) if isinstance(part, str) else part)
            blocks.append(block)
            steps += self._deltas(block)
            steps.append(BlockDone(block))
        steps.append(self._answer(request, tuple(blocks)))
        return steps

    def _answer(self, request: ModelRequest, blocks: tuple[SaidBlock, ...]) -> Answer:
        self._answers += 1
        return Answer(
            blocks=blocks,
            stop="calls" if any(isinstance(block, CallBlock) for block in blocks) else "end_turn",
            usage=self._usage.of(request, blocks),
            model=request.model,
            answer_id=f"answer_{self._answers}",
        )

    def _named(self, block: SaidBlock) -> SaidBlock:
        if not isinstance(block, CallBlock) or (block.call_id and block.input):
            return block
        call_id = block.call_id
        if not call_id:
            self._calls += 1
            call_id = f"{_CALL_ID}{self._calls}"
        return CallBlock(call_id, block.name, block.input or "{}")

    def _deltas(self, block: SaidBlock) -> Iterator[ModelEvent]:
        if isinstance(block, TextBlock):
            return map(TextDelta, self._pieces(block.text))
        if isinstance(block, ThinkingBlock):
            return map(ThinkingDelta, self._pieces(block.text))
        return (CallDelta(block.call_id, block.name, piece) for piece in self._pieces(block.input))

    def _pieces(self, text: str) -> Iterator[str]:
        size = self._piece
        if len(text) <= size:
            return iter((text,) if text else ())
        return (text[start : start + size] for start in range(0, len(text), size))


class _Playing:
    """One answer, from entering to leaving."""

    __slots__ = ("_events", "_played", "_request", "_taken")

    def __init__(
        self,
        taken: Callable[[ModelRequest], Awaitable[Steps]],
        played: Callable[[Steps], AsyncGenerator[ModelEvent]],
        request: ModelRequest,
    ) -> None:
        self._taken = taken
        self._played = played
        self._request = request

    async def __aenter__(self) -> AsyncIterator[ModelEvent]:
        steps = await self._taken(self._request)
        if isinstance(steps[0], ModelFault):
            raise steps[0]
        self._events = self._played(steps)
        return self._events

    async def __aexit__(self, *raised: object) -> None:
        await self._events.aclose()


def _last_number(messages: Sequence[Message]) -> int:
    """The highest number among the ids that scripts gave to the calls of a conversation."""
    ids = (block.call_id for message in messages for block in message.calls)
    numbers = (call_id.removeprefix(_CALL_ID) for call_id in ids if call_id.startswith(_CALL_ID))
    return max((int(number) for number in numbers if number.isascii() and number.isdigit()), default=0)


if TYPE_CHECKING:
    _: ModelProvider = ScriptedModel()
