"""Events as bytes: the same whatever the pieces are, and nothing that is not exactly one."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.client.problems import WireFault
from toolwright.client.wire import EventReader, SentEvent, understood

STREAM = (
    'event: text_delta\ndata: {"text": "ﬁrst – "}\n\n'
    ": a comment\n\n"
    'id: 7\nevent: usage\ndata: {"input_tokens": 1}\n\n'
    'event:tool_call\r\ndata:{"a":\r\ndata: 1}\r\nretry: 5\r\n\r\n'
    "event: nothing\n\n"
    "data: {}\n\n"
    "event: cut\ndata: {}\n"
).encode()
EVENTS = [
    SentEvent("text_delta", '{"text": "ﬁrst – "}'),
    SentEvent("usage", '{"input_tokens": 1}', "7"),
    SentEvent("tool_call", '{"a":\n1}'),
    SentEvent("message", "{}"),
]


def read(*pieces: bytes) -> list[SentEvent]:
    reader = EventReader()
    return [event for piece in pieces for event in reader.feed(piece)]


@given(st.sets(st.integers(0, len(STREAM))))
def test_pieces_make_no_difference(places: set[int]) -> None:
    cuts = [0, *sorted(places), len(STREAM)]
    assert read(*(STREAM[a:b] for a, b in pairwise(cuts))) == EVENTS


def test_an_event_that_is_not_complete_is_none() -> None:
    assert read(b"event: a\ndata: {}") == []
    assert read(b"event: a\ndata: {}\n") == []
    assert [event.type for event in read(b"event: a\ndata: {}\n\n")] == ["a"]


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(WireFault, match="not UTF-8"):
        read(b"data: \xff\n\n")


def test_an_event_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwright.client.wire.MOST_BYTES", 1000)
    with pytest.raises(WireFault, match="larger than 1,000 bytes"):
        read(*[b"data: 12345\n"] * 200)
    with pytest.raises(WireFault, match="larger than"):
        EventReader().feed(b"data: " + b"x" * 1001)


@pytest.mark.parametrize(
    ("sent", "event"),
    [
        (SentEvent("a", '{"text": "x"}'), {"type": "a", "text": "x"}),
        (SentEvent("a", '{"type": "a", "ts": 5}', "7"), {"type": "a", "ts": 5}),
        (SentEvent("a", "{}", "7"), {"type": "a", "ts": 7}),
        (SentEvent("a", "{}", "x7"), {"type": "a"}),
    ],
)
def test_an_event_has_its_type_and_its_stamp(sent: SentEvent, event: dict[str, object]) -> None:
    assert understood(sent) == event


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("", "is no JSON object"),
        ("[]", "is no JSON object"),
        ("{", "is no JSON object"),
        ('{"a": NaN}', "is no JSON object"),
        ('{"a": 1, "a": 2}', "is no JSON object"),
        ('{"type": "b"}', "an event 'a' says that it is 'b'"),
        ('{"type": 5}', "an event 'a' says that it is 5"),
        ('{"ts": "5"}', "is '5', not a whole number"),
        ('{"ts": true}', "is True, not a whole number"),
        ('{"ts": 1.5}', "is 1.5, not a whole number"),
    ],
)
def test_what_is_no_event_is_refused(data: str, said: str) -> None:
    with pytest.raises(WireFault, match=said):
        understood(SentEvent("a", data))
