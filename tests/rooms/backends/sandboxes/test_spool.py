"""The spool keeps head and tail, whatever the pieces."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.backends.sandboxes.spool import Spool


@pytest.mark.parametrize(
    ("pieces", "kept"),
    [
        ([], b""),
        ([b"0123456789"], b"0123456789"),
        ([b"0123456789a"], b"01234\n[... 1 bytes of output not kept ...]\n6789a"),
        ([b"0123", b"4567", b"89ab"], b"01234\n[... 2 bytes of output not kept ...]\n789ab"),
    ],
)
def test_keeps_both_ends(pieces: list[bytes], kept: bytes) -> None:
    spool = Spool(10)
    for piece in pieces:
        spool.write(piece)
    assert spool.kept() == kept


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(2, 60), st.integers(0, 200))
@settings(max_examples=300, derandomize=True)
def test_agrees_with_a_plain_list(pieces: list[bytes], kept: int, offset: int) -> None:
    spool = Spool(kept)
    whole = b""
    for piece in pieces:
        spool.write(piece)
        whole += piece
    half = kept // 2
    tail = max(len(whole) - half, min(half, len(whole)))
    assert spool.total == len(whole)
    assert spool.dropped == max(len(whole) - 2 * half, 0)
    expected = whole[:half][offset:] + whole[max(tail, offset) :]
    assert spool.since(offset) == (expected, len(whole))
