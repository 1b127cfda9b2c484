"""Events of tasks on their way to a client: live, and again from a time on."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final

import orjson
from starlette.responses import Response, StreamingResponse

from toolwright.contracts.ports import Clock
from toolwright.surfaces.http.engine.channels import Channel, Channels, Sent
from toolwright.surfaces.http.engine.words import moment
from toolwright.surfaces.http.frames import HEARTBEAT

_HEADERS: Final = {"cache-control": "no-cache", "x-accel-buffering": "no"}


def streamed(frames: AsyncGenerator[bytes]) -> Response:
    """Return a stream of events as a response."""
    return StreamingResponse(frames, media_type="text/event-stream", headers=_HEADERS)


class Beat:
    """What is sent where nothing happens. Its stamp is that of the last event, so that nothing is skipped."""

    def __init__(self, clock: Clock, *, every: float = HEARTBEAT) -> None:
        self._clock = clock
        self.every = every

    def frame(self, *, task_id: str, turn_id: str, ts: int) -> bytes:
        """Return one beat."""
        body = {
            "type": "heartbeat",
            "task_id": task_id,
            "turn_id": turn_id,
            "timestamp": moment(self._clock.now()),
            "ts": ts,
        }
        return b"event: heartbeat\ndata: " + orjson.dumps(body) + b"\n\n"


async def turn_frames(
    channel: Channel, channels: Channels, turn_id: str, *, place: int, beat: Beat
) -> AsyncGenerator[bytes]:
    """Yield the events of one turn, from a place in the channel on, to its end."""
    last = 0
    while True:
        waiting = channel.sent[place:]
        place += len(waiting)
        pieces: list[bytes] = []
        for sent in waiting:
            last = sent.ts
            if sent.turn_id == turn_id:
                pieces.append(sent.data)
                if sent.ends_turn:
                    yield b"".join(pieces)
                    return
        if pieces:
            yield b"".join(pieces)
        if channel.is_lost or (channels.ending and channel.is_paused):
            return
        if not await _came(channel, place, beat.every):
            yield beat.frame(task_id=channel.task_id, turn_id=turn_id, ts=last)


async def _came(channel: Channel, place: int, within: float) -> bool:
    """Wait for more; False when nothing comes in time."""
    try:
        await asyncio.wait_for(channel.news(place), within)
    except TimeoutError:
        return False
    return True


async def replayed(
    open_channels: contextlib.AsyncExitStack,
    channels: Sequence[Channel],
    *,
    after: int,
    counts: Callable[[Channel, Sent], bool],
    ending: Callable[[], bool],
    beat: Beat,
) -> AsyncGenerator[bytes]:
    """Yield what was sent after a time, in the order of time; then what is sent until all turns are over."""
    async with open_channels:
        places = dict.fromkeys(channels, 0)
        last = after
        while True:
            found: list[tuple[int, bytes]] = []
            for channel, place in places.items():
                new = channel.sent[place:]
                places[channel] = place + len(new)
                found += [(one.ts, one.data) for one in new if one.ts > after and counts(channel, one)]
            if found:
                found.sort(key=lambda one: one[0])
                last = found[-1][0]
                yield b"".join(data for _, data in found)
                continue
            going = [
                one
                for one in channels
                if one.is_open and not one.is_lost and not (ending() and one.is_paused)
            ]
            if not going:
                return
            if not await _any_came(places, beat.every):
                task_id = channels[0].task_id if len(channels) == 1 else ""
                yield beat.frame(task_id=task_id, turn_id="", ts=last)


async def _any_came(places: dict[Channel, int], within: float) -> bool:
    waits = [asyncio.ensure_future(channel.news(place)) for channel, place in places.items()]
    try:
        done, _ = await asyncio.wait(waits, timeout=within, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for wait in waits:
            wait.cancel()
