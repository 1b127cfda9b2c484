"""Turn lines of a running program into events, few enough to be read."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import anyio

from toolwright.contracts.ports import Clock, Exit, Process
from toolwright.tools.commands.printed import plain

EVENTS_A_MINUTE: Final = 20
LONGEST_LINE: Final = 2_000
LINES_AN_EVENT: Final = 50
JOINED_WITHIN: Final = 0.2
_MINUTE: Final = 60.0


@dataclass(slots=True)
class Digest:
    """Bursts of lines become events; what is too much is counted. Pure: the time is given to it."""

    sent: deque[float] = field(default_factory=deque)
    held: int = 0
    rest: bytes = b""

    def burst(self, data: bytes, now: float, *, final: bool = False) -> str | None:
        """The text of the event for these bytes, or None when there is nothing to say or no room for it."""
        *lines, self.rest = (self.rest + data).split(b"\n")
        if final or len(self.rest) > LONGEST_LINE * 4:
            lines, self.rest = [*lines, self.rest], b""
        texts = [text for line in lines if (text := plain(line)[:LONGEST_LINE].rstrip())]
        if not texts:
            return None
        while self.sent and self.sent[0] <= now - _MINUTE:
            self.sent.popleft()
        if len(self.sent) >= EVENTS_A_MINUTE:
            self.held += len(texts)
            return None
        self.sent.append(now)
        return self._worded(texts)

    def left_out(self) -> str | None:
        """What to say at the end about lines that were only counted."""
        held, self.held = self.held, 0
        return f"[{held} lines left out]" if held else None

    def _worded(self, texts: list[str]) -> str:
        head = self.left_out()
        over = len(texts) - LINES_AN_EVENT
        tail = [f"[{over} more lines at the same moment]"] if over > 0 else []
        return "\n".join([*([head] if head else []), *texts[:LINES_AN_EVENT], *tail])


class WatchedProcess:
    """A process whose follower announces its lines. Whoever follows it calls ``wait_output`` in turn."""

    def __init__(self, process: Process, clock: Clock, *, seconds: float | None) -> None:
        self._process = process
        self._clock = clock
        self._deadline = None if seconds is None else clock.monotonic() + seconds
        self._digest = Digest()
        self._announced = 0
        self._named = anyio.Event()
        self._announce: Callable[[str], None] = lambda _: None

    def announce_to(self, announce: Callable[[str], None]) -> None:
        """Say where events go; nothing is announced before."""
        self._announce = announce
        self._named.set()

    @property
    def pid(self) -> int:
        return self._process.pid

    def output(self) -> bytes:
        return self._process.output()

    def errors(self) -> bytes:
        return self._process.errors()

    def output_since(self, offset: int) -> tuple[bytes, int]:
        return self._process.output_since(offset)

    async def send(self, data: bytes) -> None:
        await self._process.send(data)

    async def wait(self) -> Exit:
        return await self._process.wait()

    async def stop(self, *, grace: float = 2.0) -> Exit:
        return await self._process.stop(grace=grace)

    async def wait_output(self, offset: int) -> None:
        """As of any process; on the way, what is new is announced, bursts together."""
        await self._named.wait()
        with anyio.move_on_after(self._left()) as time_is_over:
            await self._process.wait_output(offset)
        if time_is_over.cancelled_caught:
            self._announce("The time of this monitor is over.")
            await self._process.stop()
        with anyio.move_on_after(JOINED_WITHIN):
            await self._process.wait()
        self._announce_news()

    def _left(self) -> float | None:
        return None if self._deadline is None else max(self._deadline - self._clock.monotonic(), 0)

    def _announce_news(self) -> None:
        data, following = self._process.output_since(self._announced)
        final = following == self._announced
        self._announced = following
        texts = [self._digest.burst(data, self._clock.monotonic(), final=final)]
        if final:
            texts.append(self._digest.left_out())
        for text in filter(None, texts):
            self._announce(text)
