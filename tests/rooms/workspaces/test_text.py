"""Bytes to text and back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.contracts.errors import ToolFailure
from toolwright.workspaces.text import (
    Encoding,
    TextFile,
    decoded,
    encoded_or_refused,
    lines_of,
    looks_binary,
    newline_of,
    with_newline,
)

CASES = [
    (b"", "", "utf-8", False),
    (b"plain\n", "plain\n", "utf-8", False),
    ("grüße\r\n".encode(), "grüße\r\n", "utf-8", False),
    (b"\xef\xbb\xbfmarked", "marked", "utf-8", False),
    ("\ufefföwide".encode("utf-16-le"), "öwide", "utf-16-le", False),
    ("\ufeffwide".encode("utf-16-be"), "wide", "utf-16-be", False),
    ("\ufeffwide".encode("utf-32-le"), "wide", "utf-32-le", False),
    ("unmarked text".encode("utf-16-le"), "unmarked text", "utf-16-le", True),
    ("unmarked text".encode("utf-16-be"), "unmarked text", "utf-16-be", True),
    (b"caf\xe9 \x80", "café €", "cp1252", True),
    (b"caf\xe9 \x81", "café \x81", "latin-1", True),
    (b"\xff\xfeodd", "ÿþodd", "cp1252", True),
]


@pytest.mark.parametrize(("data", "text", "codec", "guessed"), CASES)
def test_encodings_are_told_by_their_bytes(data: bytes, text: str, codec: str, guessed: bool) -> None:
    file = decoded(data)
    assert (file.text, file.encoding.codec, file.encoding.guessed) == (text, codec, guessed)
    assert file.encoded(file.text) == data


def test_only_what_is_not_plain_is_noted() -> None:
    assert decoded(b"plain").encoding.note == ""
    assert decoded(b"\xef\xbb\xbfmarked").encoding.note == ""
    assert decoded(b"caf\xe9").encoding.note == (
        "The file is not UTF-8; it was read as Windows-1252, which is a guess."
    )
    assert decoded("\ufeffwide".encode("utf-16-le")).encoding.note == "The file is encoded as UTF-16."


ANYTHING = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.tuples(
        st.sampled_from(["utf-16", "utf-32", "utf-8-sig", "cp1252"]), st.text("aé\r\n€ ", max_size=60)
    ).map(lambda pair: pair[1].encode(pair[0])),
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(ANYTHING)
def test_what_is_not_changed_stays_the_same_byte_for_byte(data: bytes) -> None:
    file = decoded(data)
    assert file.encoded(file.text) == data


def test_characters_that_do_not_fit_are_refused_and_not_replaced() -> None:
    with pytest.raises(ToolFailure) as caught:
        encoded_or_refused(decoded(b"caf\xe9"), "漢", "/w/f")
    assert caught.value.code == "unsupported"


@pytest.mark.parametrize(
    ("text", "newline"),
    [
        ("", "\n"),
        ("a", "\n"),
        ("a\nb", "\n"),
        ("a\r\nb", "\r\n"),
        ("a\r\nb\nc", "\n"),
        ("a\r\nb\r\nc\n", "\r\n"),
    ],
)
def test_the_line_end_of_most_lines_counts(text: str, newline: str) -> None:
    assert newline_of(text) == newline


def test_line_ends_are_made_alike() -> None:
    assert with_newline("a\r\nb\nc\rd", "\r\n") == "a\r\nb\r\nc\rd"
    assert with_newline("a\r\nb\nc\rd", "\n") == "a\nb\nc\rd"


def test_lines_have_no_ends() -> None:
    assert [lines_of(text) for text in ("", "a", "a\n", "a\r\n\n")] == [[], ["a"], ["a"], ["a", ""]]


@pytest.mark.parametrize(
    ("head", "binary"),
    [
        (b"text", False),
        (b"nul\0here", True),
        (b"x" * 8191 + b"\0", True),
        (b"x" * 8192 + b"\0", False),
        ("\ufeffwide".encode("utf-16-le"), False),
        ("some wide text".encode("utf-16-be"), False),
        (b"\0\0\0\0", True),
    ],
)
def test_a_nul_at_the_start_makes_a_file_binary_unless_it_is_wide_text(head: bytes, binary: bool) -> None:
    assert looks_binary(head) is binary


def test_a_text_file_is_plain_utf8_unless_told() -> None:
    assert TextFile("é").encoded("é") == "é".encode()
    assert Encoding().title == "UTF-8"
