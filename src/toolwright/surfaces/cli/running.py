"""The work behind ``toolwright run``."""

import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import anyio
import orjson

from toolwright.contracts.content import Content
from toolwright.contracts.errors import NoUserChannel, SettingsError, ToolwrightError
from toolwright.contracts.events import RunEndKind
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest
from toolwright.settings import load
from toolwright.surfaces.approving import answered
from toolwright.surfaces.cli.asking import TerminalApprover
from toolwright.surfaces.cli.attaching import content_of
from toolwright.surfaces.cli.run_screen import Form, RunScreen
from toolwright.surfaces.cli.session_options import SessionOptions, engine_for, session_of, way_back
from toolwright.surfaces.rendering.calls import Verbosity
from toolwright.surfaces.rendering.session_items import FRAMES_PER_SECOND
from toolwright.wiring.skills import task_of

if TYPE_CHECKING:
    from toolwright.contracts.models import ModelProvider
    from toolwright.surfaces.engine import RunResult, Session

__all__ = ["EXIT_CODES", "Form", "RunRequest", "run_task"]

EXIT_CODES: Mapping[RunEndKind | Literal["idle"], int] = {
    "idle": 0,
    "done": 0,
    "returned": 0,
    "failed": 1,
    "stopped": 3,
    "waiting": 4,
    "limit": 5,
    "max_tokens": 6,
    "context_full": 6,
    "refusal": 7,
    "interrupted": 130,
}
_GRACE = 5.0
_GRACE_WHEN_LEAVING = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What a person typed that concerns one run only."""

    task: str
    attached: tuple[str, ...] = ()
    skill: str = ""
    """A skill that the task is for: its instructions come first."""
    form: Form = "terminal"
    details: Verbosity = "normal"
    may_ask: bool = True
    screen_reader: bool = False


def run_task(request: RunRequest, options: SessionOptions, *, provider: "ModelProvider | None" = None) -> int:
    """Carry out what was asked for and return the exit code.

    ``provider`` is asked instead of a model by name. May raise ToolwrightError.
    """
    task = content_of(request.task, request.attached)
    if request.skill:
        task = _with_skill(request, options)
    if not task and not (options.continues or options.resume):
        raise SettingsError('there is no task: write one, such as toolwright run "Why does the build fail?"')
    return anyio.run(_run, task, request, options, provider)


def _with_skill(request: RunRequest, options: SessionOptions) -> Content:
    """Return the instructions of a skill, with the task as what it works on. May raise ToolwrightError."""
    if request.attached:
        raise SettingsError("--skill and --attach exclude each other; name the files in the task.")
    text = content_of(request.task, ())
    loaded = load(os.path.realpath(options.folder), environ=os.environ)
    return task_of(loaded, request.skill, text if isinstance(text, str) else "")


async def _run(
    task: Content, request: RunRequest, options: SessionOptions, provider: "ModelProvider | None"
) -> int:
    screen = RunScreen(request.form, os.environ, details=request.details, screen_reader=request.screen_reader)
    person = _Person(screen)
    asks = request.may_ask and sys.stdin.isatty()
    async with engine_for(options, approve=person.ask if asks else None, provider=provider) as engine:
        for notice in engine.notices:
            screen.notice(notice)
        session = await session_of(engine, options)
        running = _Running(session, screen, person)
        running.shows_beginning = request.form == "json" and not (options.continues or options.resume)
        with screen:
            left = await running.watched(task, asks=asks)
        result = await session.result()
        await engine.close(grace=_GRACE_WHEN_LEAVING if left else _GRACE)
    left = left or running.taken_back or (running.interrupted and result.end == "idle")
    return _told(screen, result, request.form, left=left, folder=options.folder)


class _Person:
    """Whoever sits at the terminal. A question is taken back when the run is interrupted."""

    def __init__(self, screen: RunScreen) -> None:
        self._approver = TerminalApprover(screen)
        self._scope: anyio.CancelScope | None = None

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        with anyio.CancelScope() as self._scope:
            return await self._approver.ask(request)
        return None

    def leave_alone(self) -> None:
        """Take the question back."""
        if self._scope is not None:
            self._scope.cancel()


class _Running:
    def __init__(self, session: "Session", screen: RunScreen, person: _Person) -> None:
        self._session = session
        self._screen = screen
        self._person = person
        self.interrupted = False
        self.taken_back = False
        """The task was taken back before the agent could read it."""
        self._input_id = ""
        self.shows_beginning = False
        """Whether also what made the session is shown."""
        self._left = True
        self._problem: ToolwrightError | OSError | None = None

    async def watched(self, task: Content, *, asks: bool) -> bool:
        """Work until nobody works on the session any more. Whether the person left before that."""
        with anyio.open_signal_receiver(signal.SIGINT) as signals:
            async with anyio.create_task_group() as group:
                group.start_soon(self._ticking)
                group.start_soon(self._interrupting, signals, group.cancel_scope)
                await self._to_the_end(task, asks=asks)
                group.cancel_scope.cancel()
        if self._problem is not None:
            raise self._problem
        return self._left

    async def _to_the_end(self, task: Content, *, asks: bool) -> None:
        """Work. A problem is kept for who watches: passing through the group it would be one of a group."""
        try:
            await self._worked(task, asks=asks)
        except ToolwrightError as problem:
            self._problem = problem
        except OSError as problem:  # whoever read what was printed has gone
            self._problem = problem
            await self._stop("What was said could not be printed any more.")
        self._left = False

    async def _worked(self, task: Content, *, asks: bool) -> None:
        session, head = self._session, (await self._session.state()).head
        if task:
            self._input_id = await session.send(task)
        await self._answer_what_waits(asks=asks)
        await session.wake()
        async for record in session.stream(after=0 if self.shows_beginning else head):
            self._screen.show(record)
        state = await session.state()
        if state.head == head and not state.questions:
            raise SettingsError("the session has nothing left to do: give it a task.")

    async def _answer_what_waits(self, *, asks: bool) -> None:
        """Put the questions that an earlier run left open."""
        for waiting in (await self._session.state()).questions:
            if waiting.request is None:
                continue
            answer = answered(waiting.request, allow=False, message="Nobody can answer here.")
            if asks:
                try:
                    given = await self._person.ask(waiting.request)
                except NoUserChannel:
                    given = answer
                if given is None:
                    return
                answer = given
            await self._session.answer(answer)

    async def _stop(self, reason: str) -> None:
        """Stop the run, also when it has not read the task yet: nothing shall begin after it."""
        if self._input_id:
            self.taken_back = await self._session.take_back(self._input_id)
        await self._session.interrupt(reason)

    async def _ticking(self) -> None:
        while True:
            self._screen.tick()
            await anyio.sleep(1 / FRAMES_PER_SECOND)

    async def _interrupting(self, signals: AsyncIterator[signal.Signals], scope: anyio.CancelScope) -> None:
        """Stop the run at the first Ctrl-C; a second one gives up waiting for its end."""
        async for _ in signals:
            if self.interrupted:
                scope.cancel()
                return
            self.interrupted = True
            try:
                await self._stop("Interrupted by the user")
            except ToolwrightError as problem:
                self._screen.notice(str(problem))
            self._person.leave_alone()


def _told(screen: RunScreen, result: "RunResult", form: Form, *, left: bool, folder: str) -> int:
    """Say how it ended and how to go on; return the exit code."""
    code = EXIT_CODES["interrupted"] if left else EXIT_CODES[result.end]
    if form == "json":
        screen.line(result_line(result, code))
    for way in screen.ways_on():
        screen.notice(way)
    for waiting in result.questions:
        screen.notice(f"{waiting.tool} waits for {_awaited(waiting.kind)}.")
    screen.say(f'{way_back("run", folder, result.session_id)} "…"\n')
    return code


def _awaited(kind: str) -> str:
    from_client = kind == "client_result"
    return "its result from a client" if from_client else "an answer: resume the session on a terminal"


def result_line(result: "RunResult", code: int) -> bytes:
    """Return the last line that programs read."""
    event = {
        "end": result.end,
        "message": result.message,
        "text": result.text,
        "rounds": result.rounds,
        "calls": result.calls,
        "usage": result.usage,
        "cost": result.cost,
        "questions": [
            {"call_id": waiting.call_id, "tool": waiting.tool, "kind": waiting.kind, "input": waiting.input}
            for waiting in result.questions
        ],
        "exit_code": code,
    }
    whole = {
        "session_id": result.session_id,
        "seq": None,
        "at": time.time(),
        "type": "result",
        "event": event,
    }
    return orjson.dumps(whole, default=str)
