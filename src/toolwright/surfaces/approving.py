"""Asking the owner of a Python program."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from toolwright.contracts.errors import NoUserChannel
from toolwright.contracts.events import CallWaiting, Event
from toolwright.contracts.mcp import Elicitation, ElicitationAnswer
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest

if TYPE_CHECKING:
    from toolwright.sessions.service import Sessions
    from toolwright.turns.conversation import OpenBlock

log = logging.getLogger(__name__)

Answer = bool | ApprovalAnswer | None
Approve = Callable[[ApprovalRequest], Answer | Awaitable[Answer]]
"""Answers a question: True, False, a whole ApprovalAnswer, or None for "later" (the call then waits)."""
Elicit = Callable[[str, Elicitation], ElicitationAnswer | Awaitable[ElicitationAnswer]]
"""Answers what an MCP server, given by its name, wants from a person."""


class Elicitors:
    """``Elicitor`` around the code of a program's owner."""

    def __init__(self, elicit: Elicit) -> None:
        self._elicit = elicit

    async def elicit(self, server: str, asked: Elicitation) -> ElicitationAnswer:
        try:
            answer = self._elicit(server, asked)
            return await answer if isinstance(answer, Awaitable) else answer
        except Exception:
            log.exception("answering MCP server %s failed; its question is cancelled", server)
            return ElicitationAnswer(action="cancel")


async def as_answer(approve: Approve, request: ApprovalRequest) -> ApprovalAnswer | None:
    """Ask, and return a whole answer, None for later."""
    answer = approve(request)
    if isinstance(answer, Awaitable):
        answer = await answer
    return answered(request, allow=answer) if isinstance(answer, bool) else answer


def answered(request: ApprovalRequest, *, allow: bool, message: str = "") -> ApprovalAnswer:
    """Return the answer to a question."""
    return ApprovalAnswer(
        request_id=request.request_id,
        fingerprint=request.fingerprint,
        behavior="allow" if allow else "deny",
        message=message,
    )


class Asking:
    """Puts the questions of a session to its owner, one at a time, while somebody follows it."""

    def __init__(self, sessions: "Sessions", session_id: str, approve: Approve | None) -> None:
        self._sessions = sessions
        self._session_id = session_id
        self._approve = approve
        self._seen: set[str] = set()
        self._unasked: deque[ApprovalRequest] = deque()
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()

    def see(self, events: Iterable[Event]) -> None:
        """Take note of questions. Raises what the owner's code raised at an earlier one."""
        self.check()
        self._news.set()
        for event in events:
            if isinstance(event, CallWaiting) and event.request is not None:
                self._note(event.request)

    def _note(self, request: ApprovalRequest) -> None:
        if self._approve is None or request.request_id in self._seen:
            return
        self._seen.add(request.request_id)
        self._unasked.append(request)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._ask_all(self._approve))

    async def _ask_all(self, approve: Approve) -> None:
        while self._unasked:
            request = self._unasked.popleft()
            await self._all_judged()
            if await self._is_open(request):
                await self._ask(request, approve)

    async def _ask(self, request: ApprovalRequest, approve: Approve) -> None:
        try:
            answer = await as_answer(approve, request)
        except NoUserChannel:
            answer = answered(request, allow=False, message="Nobody can answer here.")
        if answer is not None and await self._is_open(request):
            await self._sessions.answer(self._session_id, answer)

    async def _all_judged(self) -> None:
        """Return once an earlier answer has had its effect on the rules: it may settle further questions."""
        while (block := await self._block()) is not None and block.is_being_judged:
            self._news.clear()
            waiting = [
                asyncio.ensure_future(self._news.wait()),
                asyncio.ensure_future(self._sessions.idle(self._session_id)),
            ]
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for done in waiting:
                    done.cancel()
            if not self._sessions.is_busy(self._session_id):
                return

    async def _is_open(self, request: ApprovalRequest) -> bool:
        """Whether nobody else answered meanwhile, and no rule by now does."""
        questions = (await self._sessions.state(self._session_id)).questions
        return any(
            waiting.request is not None and waiting.request.request_id == request.request_id
            for waiting in questions
        )

    async def _block(self) -> "OpenBlock | None":
        return (await self._sessions.state(self._session_id)).conversation.block

    def check(self) -> None:
        """Raise what the owner's code raised."""
        if self._task is not None and self._task.done() and not self._task.cancelled():
            self._task.result()

    @property
    def is_over(self) -> bool:
        """Whether nobody works on the session, and nobody is being asked."""
        asks = self._task is not None and not self._task.done()
        return not asks and not self._sessions.is_busy(self._session_id)

    async def over(self) -> None:
        """Return once it is over."""
        while not self.is_over:
            if self._task is not None and not self._task.done():
                await asyncio.wait([self._task])
            else:
                await self._sessions.idle(self._session_id)

    async def close(self) -> None:
        """Ask no more."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])
