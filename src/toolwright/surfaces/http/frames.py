"""Server-sent events: written once for all who listen, bounded for each of them.

One task reads a session for everybody who follows it. Who reads too slowly loses previews first; when what
must not be lost does not fit any more the line is closed, and the client comes back and asks for the rest.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from toolwright.contracts.errors import ToolwrightError

log = logging.getLogger(__name__)
MOST_FRAMES: Final = 1_000
MOST_BYTES: Final = 1024 * 1024
HEARTBEAT: Final = 15.0


class Frame(NamedTuple):
    """One event as it is sent."""

    data: bytes
    preview: bool = False
    """May be left out for who reads slowly: what it says comes again, whole."""
    last: bool = False
    """Nothing comes behind it."""
    kind: str = ""
    """Of a preview: what it is of, for those who want only some."""


def frame(
    event: str, data: bytes, *, id: str = "", preview: bool = False, last: bool = False, kind: str = ""
) -> Frame:
    """Write a frame; ``data`` is JSON without line breaks."""
    head = f"id: {id}\n" if id else ""
    return Frame(f"{head}event: {event}\ndata: ".encode() + data + b"\n\n", preview, last, kind)


class Listener:
    """One open stream."""

    def __init__(
        self,
        *,
        previews: bool = True,
        kinds: Collection[str] | None = None,
        most_frames: int = MOST_FRAMES,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """``kinds`` are those of the previews that are wanted; None is all."""
        self._previews = previews
        self._kinds = kinds
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self._most_frames = most_frames
        self._most_bytes = most_bytes
        self._news = asyncio.Event()
        self._closed = False

    def put(self, given: Frame) -> None:
        """Take a frame for later. Never waits."""
        if self._closed or (given.preview and not self._wants(given)):
            return
        if self._is_full(given):
            self._drop_previews()
            if given.preview:
                return
            if self._is_full(given):
                self.close()
                return
        self._frames.append(given)
        self._bytes += len(given.data)
        self._news.set()

    def _wants(self, preview: Frame) -> bool:
        return self._previews and (self._kinds is None or preview.kind in self._kinds)

    def begin_anew(self, given: Iterable[Frame]) -> None:
        """Let these stand in the place of everything that waits."""
        self._frames = deque(given)
        self._bytes = sum(len(one.data) for one in self._frames)
        self._news.set()

    def close(self) -> None:
        """End the stream once what is waiting has been read."""
        self._closed = True
        self._news.set()

    async def frames(self, beat: bytes, *, every: float = HEARTBEAT) -> AsyncGenerator[bytes]:
        """Yield bytes to send, several frames at once where several wait; ``beat`` where none comes."""
        while True:
            waiting = self._taken()
            if waiting:
                yield b"".join(one.data for one in waiting)
                if waiting[-1].last:
                    return
            elif self._closed:
                return
            else:
                self._news.clear()
                try:
                    await asyncio.wait_for(self._news.wait(), every)
                except TimeoutError:
                    yield beat

    def _taken(self) -> list[Frame]:
        waiting = list(self._frames)
        self._frames.clear()
        self._bytes = 0
        return waiting

    def _is_full(self, given: Frame) -> bool:
        return len(self._frames) >= self._most_frames or self._bytes + len(given.data) > self._most_bytes

    def _drop_previews(self) -> None:
        self._frames = deque(one for one in self._frames if not one.preview)
        self._bytes = sum(len(one.data) for one in self._frames)


class Watch(Protocol):
    """Watches a topic for as long as somebody listens to it."""

    async def __call__(
        self, topic: str, /, *, ready: Callable[[], None], put: Callable[[Frame], None]
    ) -> None:
        """Hand every frame to ``put``; call ``ready`` once nothing can be missed any more.

        Returns when nothing comes any more. May raise ToolwrightError.
        """
        ...


@dataclass(slots=True)
class _Topic:
    listeners: list[Listener] = field(default_factory=list)
    watcher: "asyncio.Task[None] | None" = None
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, given: Frame) -> None:
        for listener in self.listeners:
            listener.put(given)


class Broadcast:
    """Watches each topic once, for however many listen to it."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._topics: dict[str, _Topic] = {}

    async def join(
        self, topic: str, *, previews: bool = True, kinds: Collection[str] | None = None
    ) -> Listener:
        """Listen from now on: what happens after this has returned is not missed."""
        known = self._topics.get(topic)
        if known is None:
            known = self._topics[topic] = _Topic()
            known.watcher = asyncio.create_task(self._watched(topic, known))
        listener = Listener(previews=previews, kinds=kinds)
        known.listeners.append(listener)
        try:
            await known.ready.wait()
        except BaseException:
            self.leave(topic, listener)
            raise
        return listener

    def leave(self, topic: str, listener: Listener) -> None:
        """Listen no more. Safe to repeat."""
        listener.close()
        known = self._topics.get(topic)
        if known is None or listener not in known.listeners:
            return
        known.listeners.remove(listener)
        if not known.listeners:
            self._end(topic, known)

    def put(self, topic: str, given: Frame) -> None:
        """Tell everybody who listens to a topic now."""
        known = self._topics.get(topic)
        if known is not None:
            known.put(given)

    def end(self, topic: str) -> None:
        """End all streams of one topic, once what is waiting has been read."""
        known = self._topics.get(topic)
        if known is not None:
            for listener in known.listeners:
                listener.close()
            self._end(topic, known)

    def close(self) -> None:
        """End all streams."""
        for topic, known in list(self._topics.items()):
            for listener in known.listeners:
                listener.close()
            self._end(topic, known)

    async def _watched(self, topic: str, known: _Topic) -> None:
        try:
            await self._watch(topic, ready=known.ready.set, put=known.put)
        except ToolwrightError as problem:
            log.warning("the stream of %s ended: %s", topic, problem)
        finally:
            known.ready.set()
            for listener in known.listeners:
                listener.close()
            if self._topics.get(topic) is known:
                del self._topics[topic]

    def _end(self, topic: str, known: _Topic) -> None:
        self._topics.pop(topic, None)
        if known.watcher is not None:
            known.watcher.cancel()
