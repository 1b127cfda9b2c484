"""What readers of every protocol share: JSON taken apart strictly, errors told without secrets."""

from typing import Any

import pytest

from toolwright.backends.model_providers.strict_events import (
    BrokenAnswer,
    count,
    member,
    optional_text,
    parsed,
    text,
    told,
    word,
)


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[1]", b"7", b'"a"', b"null", b'{"a": NaN}', b'{"a": "\\ud800"}', b'{"a": "\xff"}'],
)
def test_what_is_no_json_object_is_no_event(data: bytes) -> None:
    with pytest.raises(BrokenAnswer) as caught:
        parsed(data)
    assert caught.value.code == "garbage"


def test_members_are_there_and_of_their_kind_or_the_answer_is_broken() -> None:
    event: dict[str, Any] = {"object": {"a": 1}, "text": "b", "nothing": None}
    assert member(event, "object") == {"a": 1}
    assert (text(event, "text"), optional_text(event, "text")) == ("b", "b")
    assert optional_text(event, "nothing") == optional_text(event, "missing") == ""
    for take, name in ((member, "text"), (member, "missing"), (text, "object"), (text, "nothing")):
        with pytest.raises(BrokenAnswer, match=f"without {name}"):
            take(event, name)
    with pytest.raises(BrokenAnswer, match="without object"):
        optional_text(event, "object")


@pytest.mark.parametrize(
    ("holder", "names", "tokens"),
    [
        ({"a": 3}, ("a",), 3),
        ({"a": None, "b": 4}, ("a", "b"), 4),
        ({"a": True, "b": 2.0, "c": -1}, ("a", "b", "c"), 0),
        ({}, ("a",), 0),
        (None, ("a",), 0),
        ([1], ("a",), 0),
    ],
)
def test_tokens_are_whole_numbers_or_nothing(holder: Any, names: tuple[str, ...], tokens: int) -> None:
    assert count(holder, *names) == tokens


def test_a_strangers_word_is_bounded_and_printable() -> None:
    assert word("a\nb" * 99) == ("a b" * 99)[:60]
    assert word(7) == "7"


@pytest.mark.parametrize(
    ("event", "code", "words"),
    [
        ({"error": {"type": "overloaded_error", "message": "Busy"}}, "overloaded", "overloaded_error: Busy"),
        ({"error": {"code": 503, "message": "Busy"}}, "overloaded", "an error: Busy"),
        ({"error": "gone"}, "server_error", "an error: gone"),
        ({"error": 7}, "server_error", "broken off with an error"),
        ({"error": {"code": "sk-012345", "message": "sk-012345"}}, "server_error", "[hidden]: [hidden]"),
    ],
)
def test_an_error_in_the_middle_has_its_code_and_shows_no_secret(
    event: dict[str, Any], code: str, words: str
) -> None:
    broken = told(event, ("sk-012345",))
    assert broken.code == code
    assert words in str(broken)
    assert "sk-012345" not in str(broken)
