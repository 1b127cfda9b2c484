"""A conversation with one session after another: what is sent, and what comes back."""

import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup
from anyio.to_thread import run_sync

from toolwright.contracts.content import Content, TextBlock
from toolwright.contracts.errors import NotPossible, ToolwrightError
from toolwright.contracts.events import InputAccepted
from toolwright.contracts.permissions import ApprovalAnswer, Mode, RuleChange
from toolwright.surfaces.chat import mentions
from toolwright.surfaces.chat.page import Page, Paper
from toolwright.surfaces.chat.picking import Picker, Row
from toolwright.surfaces.chat.state import ChatState, Printed
from toolwright.surfaces.cli.attaching import attached
from toolwright.surfaces.cli.session_options import short_id

if TYPE_CHECKING:
    from toolwright.surfaces.engine import Engine, Session
    from toolwright.turns.parts import TurnParts

Action = Callable[[], Awaitable[object]]
FRAMES_PER_SECOND = 10
_TO_FINISH = 2.0
"""Seconds in which what was wanted last is still done for somebody who leaves."""
_QUIET_BEFORE_A_QUESTION = 1.0
"""Seconds without a key after which a question may take the keys by itself."""


class Conversation:
    """Talks to sessions of one engine. What goes wrong is said and changes nothing else."""

    def __init__(
        self,
        engine: "Engine",
        session: "Session",
        *,
        page: Page,
        state: ChatState,
    ) -> None:
        self.engine = engine
        self.session = session
        self.project = engine.loaded.project
        self.page = page
        self.state = state
        self.last_key = float("-inf")
        self._tasks: TaskGroup
        self._then: Callable[[str], Awaitable[object]]
        self._catches_up = True
        """What happened before is being read; nothing of it is to be acted on yet."""
        self._besides = anyio.CancelScope()
        self._follows: anyio.CancelScope = anyio.CancelScope()
        self._moves = anyio.Event()
        self._carried_out = anyio.Event()
        self._orders, self._taken = anyio.create_memory_object_stream[Action](1_000)

    @property
    def paper(self) -> Paper:
        """Where it is drawn."""
        return self.page.paper

    # --- from beginning to end ------------------------------------------------------------------

    async def talk(self, run: Callable[[], Awaitable[None]]) -> None:
        """Follow the session and carry out what the person wants, until ``run`` returns."""
        async with self._orders, self._taken, anyio.create_task_group() as self._tasks:
            self._tasks.start_soon(self._carry_out)
            self._tasks.start_soon(self._turn)
            self._follow_now()
            await run()
            self._orders.close()
            with anyio.move_on_after(_TO_FINISH):
                await self._carried_out.wait()
            self._tasks.cancel_scope.cancel()

    async def _carry_out(self) -> None:
        async for action in self._taken:
            await self._guarded(action)
        self._carried_out.set()

    async def _turn(self) -> None:
        """Let spinners turn and seconds go by while there are any."""
        while True:
            self._turn_to_questions()
            self.paper.changed()
            if self._is_moving():
                await anyio.sleep(1 / FRAMES_PER_SECOND)
            else:
                self._moves = anyio.Event()
                await self._moves.wait()

    def _is_moving(self) -> bool:
        state, now = self.state, time.monotonic()
        takes_keys = not (state.has_keys or state.set_aside or state.picker or self.paper.typed)
        opens = state.question is not None and (takes_keys or not state.question.is_open(now))
        return bool(state.transcript.at_work or state.doing or opens) or state.leaving.is_warned(now)

    def moves(self) -> None:
        """Draw anew what changed, and go on drawing while it moves."""
        self._moves.set()
        self.paper.changed()

    # --- doing ----------------------------------------------------------------------------------

    def order(self, action: Action) -> None:
        """Do something after all that was wanted before. Who has left wants nothing more."""
        with suppress(anyio.ClosedResourceError):
            self._orders.send_nowait(action)

    def at_once(self, action: Action) -> None:
        """Do something now, whatever else is being done."""
        self._tasks.start_soon(self._guarded, action)

    async def _guarded(self, action: Action) -> None:
        try:
            await action()
        except ToolwrightError as problem:
            self.page.say(str(problem), "error")
        self.moves()

    async def send(self, text: str) -> None:
        """Say something to the session, with the files it names."""
        try:
            content = await run_sync(self._content, text)
            await self.session.send(content)
        except ToolwrightError:
            if not self.paper.typed:
                self.paper.write(text)  # nothing typed is lost
            raise

    def _content(self, text: str) -> Content:
        folder = self.project
        named = mentions.mentioned(text, lambda path: os.path.isfile(_place(folder, path)))
        if not named:
            return text
        files = (attached(path, folder=folder) for path in map(os.path.expanduser, named))
        return (TextBlock(text), *files)

    async def answer(self, answer: ApprovalAnswer) -> None:
        """Answer a question. The first answer counts, whoever gives it."""
        if not await self.session.answer(answer):
            self.page.say("somebody else has answered that.")

    async def interrupt(self) -> None:
        """Stop what the session does, or what is done besides."""
        self._besides.cancel()
        await self.session.interrupt()

    async def besides(self, words: str, action: Action) -> None:
        """Do something that takes a while and can be interrupted, with words that say what."""
        with anyio.CancelScope() as self._besides:
            self.state.doing = words
            self.moves()
            try:
                await action()
            finally:
                self.state.doing = ""

    async def take_back(self, *, most: int = 1) -> None:
        """Take the last words out of the queue, to be written anew."""
        back: list[str] = []
        for input_id in reversed(self.state.queued[-most:]):
            accepted = self.state.transcript.queue.get(input_id)
            if accepted is not None and await self.session.take_back(input_id):
                back.insert(0, _words(accepted.content))
        if back:
            self.paper.write("\n".join(filter(None, (*back, self.paper.typed))))

    async def enter_mode(self, mode: Mode) -> None:
        """Change how much is asked, for this session."""
        await self.session.change_permissions(RuleChange("setMode", mode=mode))
        await self.look_up()
        if self.state.mode != mode:
            self.page.say(f"mode {mode} cannot be entered here; the mode is {self.state.mode}.", "warn")

    # --- lists to choose from -------------------------------------------------------------------

    def offer(self, picker: Picker, then: Callable[[str], Awaitable[object]]) -> None:
        """Let the person choose a row; ``then`` is given its key."""
        self.state.picker, self._then = picker, then
        self.moves()

    def choose(self, row: Row) -> None:
        """Take what the person chose."""
        self.order(partial(self._then, row.key))

    # --- following ------------------------------------------------------------------------------

    async def go_to(self, session: "Session") -> None:
        """Leave one session alone and talk to another one."""
        self._follows.cancel()
        await self.remove_if_empty()
        self.session = session
        self.state.start_over()
        self.greet()
        self._follow_now()

    def _follow_now(self) -> None:
        self._follows = anyio.CancelScope()
        self._tasks.start_soon(self._follow, self.session, self._follows)
        self.order(self._take_up)

    async def _follow(self, session: "Session", scope: anyio.CancelScope) -> None:
        with scope:
            await self._guarded(partial(self._followed, session))

    async def _followed(self, session: "Session") -> None:
        head = (await self.engine.works.store.card(session.id)).head
        past: list[Printed] = []
        has_past = False
        self._catches_up = True
        async for record in session.stream(until_quiet=False):
            items = self.state.see(record)
            has_past = has_past or isinstance(record.event, InputAccepted)
            if record.seq is None or record.seq > head:
                self.page.print(*items)
            else:
                past += items
                if record.seq < head:
                    continue
                if has_past:
                    self.page.print_past(past)
            self._catches_up = False
            self._turn_to_questions()
            self.moves()

    async def _take_up(self) -> None:
        """Learn what the session is like, and let it go on where a process that is gone left it."""
        await self.look_up()
        await self.session.wake()

    async def look_up(self) -> None:
        """Learn what the session works with: its mode, its model and how much that can hold."""
        parts = await self.parts()
        self.state.mode = parts.pipeline.parts.in_force.policy.mode
        model = parts.chosen_model()
        self.state.transcript.model = model.written
        self.state.window = model.profile.context_window

    async def parts(self) -> "TurnParts":
        """Return what the session works with."""
        return await self.engine.works.sessions.parts(self.session.id)

    def refuse_while_working(self) -> None:
        """Raise NotPossible while the session works: nobody would see what it does."""
        if self.state.is_working:
            raise NotPossible("the session is at work: wait for its end, or interrupt it with Ctrl-C.")

    def greet(self) -> None:
        """Say which session this is."""
        self.page.say(f"session {short_id(self.session.id)} · {self.project}")

    async def remove_if_empty(self) -> bool:
        """Remove a session to which nobody said anything. Whether it was one."""
        from toolwright.wiring.storage import remove_with_files

        state = await self.session.state()
        if state.conversation.input_ids or state.created.forked_from is not None:
            return False
        await remove_with_files(self.engine.works.sessions, self.engine.loaded, self.session.id)
        return True

    # --- questions ------------------------------------------------------------------------------

    def _turn_to_questions(self) -> None:
        if self._catches_up:
            return
        state, now = self.state, time.monotonic()
        touched = now - self.last_key < _QUIET_BEFORE_A_QUESTION
        new = state.turn_to_questions(now, has_draft=bool(self.paper.typed), touched=touched)
        if new is not None and state.question is not None:
            self.page.print_question(state.question)

    def answered(self, answer: ApprovalAnswer) -> None:
        """Take the person's answer and turn to the next question."""
        self.state.answered()
        self.last_key = float("-inf")  # who has answered is not writing
        self.at_once(partial(self.answer, answer))
        self._turn_to_questions()
        self.moves()


def _place(folder: str, path: str) -> str:
    return os.path.join(folder, os.path.expanduser(path))


def _words(content: Content) -> str:
    if isinstance(content, str):
        return content
    first = content[0]
    return first.text if isinstance(first, TextBlock) else ""
