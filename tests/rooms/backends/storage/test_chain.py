"""Every kind of damage to a log is found, at the first entry it concerns."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.backends.storage.chain import first_damage
from toolwright.contracts.storage import FIRST_HASH, Damage, Entry
from toolwright.testing.event_store import entries_after

LOG = entries_after(None, 6)


def damage(entries: Sequence[Entry], *, head: int = 6, last: bytes = LOG[-1].hash) -> Damage | None:
    return first_damage("s", entries, head=head, last_hash=last)


def test_a_whole_log_has_no_damage() -> None:
    assert damage(LOG) is None
    assert damage([], head=0, last=FIRST_HASH) is None


@pytest.mark.parametrize(
    ("entries", "seq", "words"),
    [
        ([*LOG[:2], LOG[2]._replace(data=b"{}"), *LOG[3:]], 3, "changed"),
        ([*LOG[:2], LOG[2]._replace(hash=b"\1" * 32), *LOG[3:]], 3, "changed"),
        ([*LOG[:2], LOG[2]._replace(data=b"\xff"), *LOG[3:]], 3, "changed"),
        ([*LOG[:2], *LOG[3:]], 3, "missing; entry 4 follows"),
        (LOG[1:], 1, "missing; entry 2 follows"),
        ([*LOG[:3], LOG[2], *LOG[3:]], 4, "twice"),
        (
            [*LOG[:2], LOG[2]._replace(data=LOG[3].data, hash=LOG[3].hash), *LOG[3:]],
            3,
            "out of order: what was written as entry 4 stands here",
        ),
        (LOG[:5], 6, "cut off: entry 6 is missing"),
        (LOG[:3], 4, "cut off: entries 4 to 6 are missing"),
        ([], 1, "cut off: entries 1 to 6 are missing"),
        (entries_after(None, 8), 7, "goes on behind entry 6"),
        (entries_after(None, 6, word="other"), 6, "not the one that was written last"),
    ],
)
def test_the_first_bad_entry_is_named(entries: Sequence[Entry], seq: int, words: str) -> None:
    found = damage(entries)

    assert found is not None
    assert (found.session_id, found.seq) == ("s", seq)
    assert words in found.problem


@given(st.data())
def test_no_change_of_one_byte_goes_unnoticed(data: st.DataObject) -> None:
    position = data.draw(st.integers(0, 5))
    field = data.draw(st.sampled_from(["data", "hash"]))
    value = bytearray(getattr(LOG[position], field))
    value[data.draw(st.integers(0, len(value) - 1))] ^= data.draw(st.integers(1, 255))
    entry = LOG[position]
    other = entry._replace(data=bytes(value)) if field == "data" else entry._replace(hash=bytes(value))
    changed = [*LOG[:position], other, *LOG[position + 1 :]]

    found = damage(changed)

    assert found is not None
    assert found.seq == position + 1


@given(st.permutations(range(6)), st.integers(0, 6))
def test_a_log_in_another_order_or_cut_is_never_whole(order: list[int], length: int) -> None:
    entries = [LOG[position]._replace(seq=place) for place, position in enumerate(order[:length], 1)]

    assert (damage(entries) is None) == (entries == LOG)
