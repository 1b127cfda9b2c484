"""Puts a question about a call to the person at the terminal."""

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import anyio

from toolwright.contracts.errors import NoUserChannel
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest
from toolwright.surfaces.rendering.approvals import draw_approval

if TYPE_CHECKING:
    from rich.console import Console

_LONGEST_LINE = 65_536
"""A terminal hands over one line at a time, and no line of it is longer."""


class AskingScreen(Protocol):
    """Where a question is put: what goes on stands still until it is answered."""

    @property
    def err(self) -> "Console": ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def say(self, text: str) -> None: ...

    def notice(self, text: str) -> None: ...


class Nobody:
    """Stands where no person can be asked. What would have been offered to remember is still known."""

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        raise NoUserChannel(request.title)


class TerminalApprover:
    """Asks on standard error and reads the answer from standard input."""

    def __init__(self, screen: AskingScreen) -> None:
        self._screen = screen

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        self._screen.pause()
        try:
            draw_approval(request, self._screen.err)
            return await self._answered(request)
        finally:
            self._screen.resume()

    async def _answered(self, request: ApprovalRequest) -> ApprovalAnswer:
        while True:
            typed = await self._typed(_prompt(request))
            answer = read_answer(request, typed)
            if answer is not None:
                return answer
            self._screen.notice("answer y, n, n followed by a reason, or the number of a rule to remember.")

    async def _typed(self, prompt: str) -> str:
        """Read one line without a thread, so that an interrupted call leaves nobody waiting for a key."""
        self._screen.say(prompt)
        await anyio.wait_readable(sys.stdin)
        line = os.read(sys.stdin.fileno(), _LONGEST_LINE)
        if not line:
            self._screen.say("\n")
            raise NoUserChannel("standard input has ended")
        return line.decode(errors="replace")


def _prompt(request: ApprovalRequest) -> str:
    if not request.suggestions or request.one_time_only:
        return "Run it? [y]es, [n]o, or n and a reason: "
    return "Run it? [y]es once, a number to remember that rule, [n]o, or n and a reason: "


def read_answer(request: ApprovalRequest, typed: str) -> ApprovalAnswer | None:
    """Return what a person meant, or None when that is not clear."""
    word, _, rest = typed.strip().partition(" ")
    word = word.lower()

    yes = ApprovalAnswer(request_id=request.request_id, fingerprint=request.fingerprint, behavior="allow")
    if word in {"y", "yes"} and not rest:
        return yes
    if word in {"n", "no"}:
        return replace(yes, behavior="deny", message=rest.strip())
    if word.isascii() and word.isdigit() and not request.one_time_only:
        place = int(word) - 1
        if 0 <= place < len(request.suggestions):
            return replace(yes, changes=(request.suggestions[place],))
    return None
