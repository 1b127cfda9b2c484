"""Streams: written once for all, bounded for each, and who is slow holds up nobody."""

import asyncio
from collections.abc import Callable

import pytest

from toolwright.contracts.errors import EngineFault
from toolwright.surfaces.http.frames import Broadcast, Frame, Listener, frame

pytestmark = pytest.mark.anyio
BEAT = b": beat\n\n"


async def read(listener: Listener) -> bytes:
    async with asyncio.timeout(30):
        return b"".join([piece async for piece in listener.frames(BEAT)])


def test_a_frame_has_its_name_and_one_line_of_data() -> None:
    assert frame("a.b", b"{}").data == b"event: a.b\ndata: {}\n\n"
    assert frame("a", b"1", id="7").data == b"id: 7\nevent: a\ndata: 1\n\n"


async def test_frames_come_in_order_and_end_with_the_last() -> None:
    listener = Listener()
    for number in range(3):
        listener.put(frame("n", str(number).encode(), last=number == 2))
    assert await read(listener) == b"".join(b"event: n\ndata: %d\n\n" % number for number in range(3))


async def test_a_quiet_stream_beats() -> None:
    stream = Listener().frames(BEAT, every=0.001)
    async with asyncio.timeout(30):
        assert await anext(stream) == BEAT
    await stream.aclose()


async def test_a_slow_reader_loses_previews_first_and_then_its_line() -> None:
    listener = Listener(most_frames=4)
    for number in range(3):
        listener.put(Frame(b"preview", preview=True))
        listener.put(Frame(b"whole%d " % number))
    listener.put(Frame(b"preview", preview=True))
    listener.put(Frame(b"whole3 "))
    listener.put(Frame(b"whole4 "))  # the fifth: there is no room for it, and it must not be lost in silence
    listener.put(Frame(b"whole5 "))
    assert await read(listener) == b"whole0 whole1 whole2 whole3 "


async def test_bytes_are_bounded_too() -> None:
    listener = Listener(most_bytes=10)
    listener.put(Frame(b"12345"))
    listener.put(Frame(b"123456"))
    assert await read(listener) == b"12345"


class Source:
    """What topics say, and how often each was read."""

    def __init__(self) -> None:
        self.read: list[str] = []
        self.queues: dict[str, asyncio.Queue[Frame | EngineFault | None]] = {}

    def say(self, topic: str, given: Frame | EngineFault | None) -> None:
        self.queues.setdefault(topic, asyncio.Queue()).put_nowait(given)

    async def __call__(
        self, topic: str, /, *, ready: Callable[[], None], put: Callable[[Frame], None]
    ) -> None:
        self.read.append(topic)
        queue = self.queues.setdefault(topic, asyncio.Queue())
        ready()
        while (given := await queue.get()) is not None:
            if isinstance(given, EngineFault):
                raise given
            put(given)


async def test_a_topic_is_read_once_for_all_who_listen() -> None:
    source = Source()
    broadcast = Broadcast(source)
    listeners = [await broadcast.join("a") for _ in range(20)]
    other = await broadcast.join("b")
    source.say("a", Frame(b"one "))
    source.say("a", Frame(b"two", last=True))
    assert {await read(listener) for listener in listeners} == {b"one two"}
    assert source.read == ["a", "b"]
    broadcast.leave("b", other)
    assert await read(other) == b""


async def test_the_slowest_listener_holds_up_nobody() -> None:
    source = Source()
    broadcast = Broadcast(source)
    slow, quick = await broadcast.join("a"), await broadcast.join("a")
    for number in range(5_000):
        source.say("a", Frame(b"x", last=number == 4_999))
    taken = b""
    async with asyncio.timeout(30):
        async for piece in quick.frames(BEAT):
            taken += piece
    assert len(taken) <= 5_000
    assert len(await read(slow)) <= 1_000


async def test_who_comes_after_the_last_has_left_starts_a_new_reading() -> None:
    source = Source()
    broadcast = Broadcast(source)
    first = await broadcast.join("a")
    broadcast.leave("a", first)
    broadcast.leave("a", first)
    second = await broadcast.join("a")
    source.say("a", Frame(b"for the second", last=True))
    assert await read(second) == b"for the second"
    assert source.read == ["a", "a"]


async def test_a_topic_that_fails_or_ends_closes_its_streams_and_no_other() -> None:
    source = Source()
    broadcast = Broadcast(source)
    failing, ending, going = [await broadcast.join(topic) for topic in "abc"]
    source.say("a", EngineFault("broken"))
    source.say("b", None)
    assert await read(failing) == b""
    assert await read(ending) == b""
    source.say("c", Frame(b"still here", last=True))
    assert await read(going) == b"still here"
    broadcast.close()


async def test_previews_reach_only_who_asked_for_them() -> None:
    source = Source()
    broadcast = Broadcast(source)
    plain, eager = await broadcast.join("a", previews=False), await broadcast.join("a")
    source.say("a", Frame(b"wo", preview=True))
    source.say("a", Frame(b"words", last=True))
    assert await read(plain) == b"words"
    assert await read(eager) == b"wowords"


async def test_who_comes_back_begins_with_what_was_missed() -> None:
    listener = Listener()
    listener.put(Frame(b"told already"))
    listener.begin_anew([Frame(b"missed "), Frame(b"told already ")])
    listener.put(Frame(b"new", last=True))
    assert await read(listener) == b"missed told already new"
