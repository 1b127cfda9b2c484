"""What is left of text that programs print."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.tools.commands.printed import coloured, last_line, plain, shortened


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (b"text\n", "text\n"),
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07text", "text"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bPdevice\x1b\\text", "text"),
        (b"\x1b(Btext\x1b7\x1b=", "text"),
        (b"\x1b[?25l\x1b[2K\x1b[1Gtext", "text"),
        (b"\x1b", ""),
        (b"0%\r50%\r100%\n", "100%\n"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"a\x00b\x07c\x08d\x7f\te", "abcd\te"),
        (b"\xff\xfeok", "\ufffd\ufffdok"),
        (b"\x9b31m", "\ufffd31m"),
    ],
)
def test_plain(printed: bytes, expected: str) -> None:
    assert plain(printed) == expected


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (b"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
        (b"\x1b[2J\x1b[Hx", "x"),
        (b"\x1b]0;title\x07x", "x"),
        (b"1\r\x1b[32m2\x1b[m", "\x1b[32m2\x1b[m"),
        (b"a\x00b", "ab"),
    ],
)
def test_coloured(printed: bytes, expected: str) -> None:
    assert coloured(printed) == expected


@given(
    st.lists(
        st.sampled_from([b"\x1b", b"[", b"]", b"P", b"31", b"m", b";", b"\r", b"\n", b"a", b"\x07", b"\\"])
    )
)
@settings(max_examples=300, derandomize=True)
def test_nothing_that_moves_a_terminal_is_left(parts: list[bytes]) -> None:
    printed = b"".join(parts)
    assert not set(plain(printed)) & set("\x1b\x07\r")
    left = coloured(printed)
    assert "\x07" not in left
    assert "\r" not in left


def test_hostile_text_takes_no_long_time() -> None:
    started = time.process_time()
    for piece in (b"\x1b]", b"\x1b[", b"\x1bP\x1b", b"\r", b"\x1b[1;"):
        plain(piece * 200_000)
        coloured(piece * 200_000)
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("x" * 10, 10, "x" * 10),
        ("a" * 6 + "b" * 5, 10, "aaaaa\n\n[... 1 characters left out ...]\n\nbbbbb"),
        ("", 10, ""),
    ],
)
def test_shortened(text: str, limit: int, expected: str) -> None:
    assert shortened(text, limit) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", ""), ("a\n b \n\n", "b"), ("x" * 121, "x" * 119 + "…"), ("x" * 120, "x" * 120)],
)
def test_last_line(text: str, expected: str) -> None:
    assert last_line(text) == expected
