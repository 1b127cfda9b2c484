"""Server-sent events: the same frames come out however the bytes are cut, and nothing else does."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.backends.model_providers.frames import Frame, FrameError, FrameReader

NEWLINES = st.sampled_from(["\n", "\r\n", "\r"])
LINE = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=12)
EVENT = st.sampled_from(["", "ping", "message_start"])
NOISE = st.sampled_from([":", ": a comment", "id: 7", "retry: 10"])
CUTS = st.lists(st.integers(min_value=0, max_value=400), max_size=12)


def read(pieces: Sequence[bytes], max_frame: int = 10_000) -> list[Frame]:
    reader = FrameReader(max_frame)
    return [frame for piece in pieces for frame in reader.feed(piece)]


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    borders = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(borders)]


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, list[Frame]]:
    """A stream as its server writes it, and the frames that are in it."""
    newline, text, frames = draw(NEWLINES), "", []
    for event, data in draw(st.lists(st.tuples(EVENT, st.lists(LINE, max_size=3)), max_size=5)):
        lines = [f"event: {event}"] if event else []
        lines += [f"data: {line}" for line in data]
        lines.insert(draw(st.integers(min_value=0, max_value=len(lines))), draw(NOISE))
        text += newline.join([*lines, "", draw(st.sampled_from(["", newline]))])
        if data:
            frames.append(Frame(event, "\n".join(data).encode()))
    return text.encode(), frames


@settings(max_examples=200, derandomize=True)
@given(stream=streams(), places=CUTS)
def test_any_cut_of_any_stream_gives_its_frames(stream: tuple[bytes, list[Frame]], places: list[int]) -> None:
    written, frames = stream
    ended = written + b"\n\n"  # the last frame's empty line, whatever ends the lines
    assert read(cut(ended, places)) == frames
    assert read([ended[place : place + 1] for place in range(len(ended))]) == frames


@settings(max_examples=200, derandomize=True)
@given(data=st.binary(max_size=120), places=CUTS)
def test_noise_means_the_same_however_it_is_cut(data: bytes, places: list[int]) -> None:
    def meaning(pieces: Sequence[bytes]) -> tuple[list[Frame], str]:
        frames: list[Frame] = []
        reader = FrameReader()
        try:
            for piece in pieces:
                for frame in reader.feed(piece):
                    frames.append(frame)
        except FrameError as problem:
            return frames, str(problem)
        return frames, ""

    assert meaning(cut(data, places)) == meaning([data])


@pytest.mark.parametrize(
    ("written", "frames"),
    [
        (b"data: one\n\n", [Frame("", b"one")]),
        (b"data:one\n\n", [Frame("", b"one")]),
        (b"data:  two spaces\n\n", [Frame("", b" two spaces")]),
        (b"data: a\ndata: b\n\n", [Frame("", b"a\nb")]),
        (b"data\n\n", [Frame("", b"")]),
        (b"event: ping\n\n", []),
        (b": OPEN\n\ndata: 1\n\n", [Frame("", b"1")]),
        (b"\xef\xbb\xbfdata: 1\n\n", [Frame("", b"1")]),
        (b"\n\n\n\ndata: 1\n\n\n\n", [Frame("", b"1")]),
        (b"data: 1\r\n\r\ndata: 2\r\n\r\n", [Frame("", b"1"), Frame("", b"2")]),
        (b"data: 1\n\ndata: 2\n", [Frame("", b"1")]),
        (b'error: {"code": 500}\n\n', [Frame("error", b'{"code": 500}')]),
    ],
)
def test_the_format_is_read_as_it_is_written(written: bytes, frames: list[Frame]) -> None:
    assert read([written]) == frames


@pytest.mark.parametrize("line", [b"<html>", b'{"error": 1}', b"dat: 1", b"\x00\xff"])
def test_a_line_of_anything_else_is_refused_after_the_frames_before_it(line: bytes) -> None:
    frames = FrameReader().feed(b"data: 1\n\n" + line + b"\n\n")
    assert next(frames) == Frame("", b"1")
    with pytest.raises(FrameError):
        next(frames)


def test_a_frame_may_fill_its_bound_and_not_pass_it() -> None:
    fits = b"data: " + b"x" * 94
    assert read([fits + b"\n\n"], max_frame=100) == [Frame("", b"x" * 94)]
    with pytest.raises(FrameError, match="longer than 100 bytes"):
        read([fits + b"x\n\n"], max_frame=100)
    with pytest.raises(FrameError, match="longer than 100 bytes"):
        read([b"x"] * 101, max_frame=100)


def test_a_frame_that_comes_byte_by_byte_costs_no_more_than_its_length() -> None:
    size = 200_000
    reader = FrameReader(10**6)
    held = [frame for _ in range(size) for frame in reader.feed(b"x")]
    assert held == []
    assert reader.unfinished
