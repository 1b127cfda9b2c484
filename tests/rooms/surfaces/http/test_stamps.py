"""Stamps: later and later, and the same again from the log."""

from hypothesis import given
from hypothesis import strategies as st

from toolwright.surfaces.http.engine.stamps import Stamps


def told(stamps: Stamps, at: float, events: int, *, words: int = 0) -> list[int]:
    """Stamp what one record tells: words of an answer, then what follows from the log."""
    stamps.begin(at, slots=8 if words else 0)
    found = [stamps.next(at) for _ in range(words)]
    stamps.settle()
    found += [stamps.next(at) for _ in range(events)]
    stamps.end()
    return found


def test_events_of_one_millisecond_are_told_apart() -> None:
    stamps = Stamps()
    found = [stamp for _ in range(5) for stamp in told(stamps, 1.0, 2)]
    assert found == list(range(1_000, 1_010))


def test_a_clock_that_goes_back_does_not_take_stamps_with_it() -> None:
    stamps = Stamps()
    assert told(stamps, 5.0, 1) == [5_000]
    assert told(stamps, 1.0, 1) == [5_001]


def test_words_that_are_told_live_wait_for_the_clock() -> None:
    stamps = Stamps()
    stamps.rise(1.0)
    assert not stamps.has_room(1.0)
    assert stamps.has_room(1.001)
    assert stamps.next(1.5) == 1_001


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(0, 3)), max_size=30))
def test_what_the_log_tells_has_the_same_stamps_with_and_without_live_words(
    records: list[tuple[int, int, int]],
) -> None:
    live, again = Stamps(), Stamps()
    at = 1.0
    for passed, events, pieces in records:
        asked = at
        at += (passed + pieces) / 1000
        for stamps in (live, again):
            stamps.rise(asked)
        for _ in range(pieces):  # told while they were said, never faster than the clock
            live.next(asked)
        after_words = told(live, at, events, words=1)[1:]
        assert told(again, at, events, words=3)[3:] == after_words
        assert after_words == sorted(set(after_words))
