"""Texts that try to deceive."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.surfaces.rendering.safety import APPROVAL, EVERYDAY, marked

KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz"
DANGEROUS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)

HOSTILE = [
    ("\x1b[2J\x1b[H", "‹U+001B›[2J‹U+001B›[H"),
    ("\x1b]0;pwned\x07", "‹U+001B›]0;pwned‹U+0007›"),
    ("\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\", None),
    ("\x1b]52;c;ZXZpbA==\x07", "‹U+001B›]52;c;ZXZpbA==‹U+0007›"),
    ("\x1bP+q544e\x1b\\", "‹U+001B›P+q544e‹U+001B›\\"),
    ("\x9b2J", "‹U+009B›2J"),
    ("\x1b[6n", "‹U+001B›[6n"),
    ("safe\rrm -rf /", "safe‹U+000D›rm -rf /"),
    ("abc\b\b\bxyz", "abc‹U+0008›‹U+0008›‹U+0008›xyz"),
    ("a\x00b\x7fc", "a‹U+0000›b‹U+007F›c"),
    ("user\u202etxt.exe", "user‹U+202E›txt.exe"),
    ("\u2066admin\u2069", "‹U+2066›admin‹U+2069›"),
    ("pass\u200bword", "pass‹U+200B›word"),
    ("\ufeffbom", "‹U+FEFF›bom"),
    ("a\u2028b\u2029c", "a‹U+2028›b‹U+2029›c"),
    ("tag\U000e0041", "tag‹U+E0041›"),
    ("fill\u3164er\u2800", "fill‹U+3164›er‹U+2800›"),
    ("half\ud800", "half‹U+D800›"),
    ("z" + "\u0301" * 20, "z" + "\u0301" * 8 + "‹12 more combining marks›"),
]


@pytest.mark.parametrize(("hostile", "shown"), HOSTILE)
def test_what_steers_or_hides_becomes_a_mark(hostile: str, shown: str | None) -> None:
    for text in (EVERYDAY.text(hostile), APPROVAL.text(hostile)):
        assert DANGEROUS.search(text) is None
        assert shown is None or text == shown


@pytest.mark.parametrize("text", ["plain", "Grüße, 世界 🙂", "a\n\tb", "naïve e\u0301"])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert EVERYDAY.text(text) == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\u00a0b", "a‹U+00A0›b"),
        ("a\u3000b", "a‹U+3000›b"),
        ("v\ufe0f", "v‹U+FE0F›"),
        ("two\nlines", "two‹U+000A›lines"),
        ("tab\there", "tab‹TAB›here"),
    ],
)
def test_names_show_also_unusual_blanks_and_variants(name: str, shown: str) -> None:
    assert EVERYDAY.name(name) == shown


def test_colours_are_dropped_where_they_are_not_drawn() -> None:
    assert EVERYDAY.text("\x1b[1;31mred\x1b[0m") == "red"
    assert APPROVAL.text("\x1b[31mred") == "‹U+001B›[31mred"


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
        ("\x1b[8mhidden\x1b[0m", "hidden\x1b[0m"),
        ("\x1b[5;1mblink", "\x1b[1mblink"),
        ("\x1b[38;5;8mgrey", "\x1b[38;5;8mgrey"),
        ("\x1b[38;2;8;8;8mdark", "\x1b[38;2;8;8;8mdark"),
        ("\x1b[2J\x1b[31mred", "‹U+001B›[2J\x1b[31mred"),
        ("\x1b[31", "‹U+001B›[31"),
        (f"\x1b[31m{KEY}\x1b[0m", "\x1b[31m[redacted]\x1b[0m"),
    ],
)
def test_output_keeps_colours_and_nothing_else(printed: str, shown: str) -> None:
    assert EVERYDAY.output(printed) == shown


def test_long_lines_are_cut_and_counted_but_never_in_an_approval() -> None:
    text = "x" * 2_500 + "\nshort"

    assert EVERYDAY.text(text) == "x" * 2_000 + " ‹500 more characters›\nshort"
    assert APPROVAL.text(text) == text
    assert APPROVAL.command(text) == text


def test_a_coloured_line_that_is_cut_loses_its_colours() -> None:
    assert EVERYDAY.output("\x1b[31m" + "x" * 2_100 + "\x1b[0m") == "x" * 2_000 + " ‹100 more characters›"


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("ls\t-la", "ls‹TAB›-la"),
        ("ls   ", "ls‹3 blanks›"),
        ("a \nb", "a‹1 blank›\nb"),
        ("rm\u00a0-rf", "rm‹U+00A0›-rf"),
        (f"curl -H 'x-api-key: {KEY}'", f"curl -H 'x-api-key: {KEY}'"),
    ],
)
def test_a_command_to_approve_shows_every_character(command: str, shown: str) -> None:
    assert APPROVAL.command(command) == shown


def test_credentials_are_masked_except_where_something_is_approved() -> None:
    assert EVERYDAY.text(f"key={KEY}.") == "key=[redacted]."
    assert EVERYDAY.command(f"x {KEY}") == "x [redacted]"
    assert EVERYDAY.url("https://me:hunter22@example.com/") == "https://me:[redacted]@example.com/"
    assert APPROVAL.url("https://me:hunter22@example.com/") == "https://me:hunter22@example.com/"
    assert EVERYDAY.name(f"/tmp/{KEY}") == f"/tmp/{KEY}"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.com/ä", "https://example.com/ä"),
        ("https://exаmple.com/", "https://xn--exmple-4nf.com/"),
        ("https://bücher.example:8080/", "https://xn--bcher-kva.example:8080/"),
        ("https://exa\u200bmple.com/", "https://example.com/"),
        ("https://\u202eevil/", None),
    ],
)
def test_hosts_are_shown_as_they_are_looked_up(url: str, shown: str | None) -> None:
    text = APPROVAL.url(url)

    assert DANGEROUS.search(text) is None
    assert shown is None or text == shown


@settings(max_examples=300, deadline=None, derandomize=True)
@given(text=st.text() | st.text("\x1b\x9b[]0123456789;mJ\x07\r\u202e\u200b", max_size=40))
def test_nothing_dangerous_passes(text: str) -> None:
    for safety in (EVERYDAY, APPROVAL):
        for shown in (safety.text(text), safety.command(text), safety.name(text), safety.url(text)):
            assert DANGEROUS.search(shown) is None
    colours_left = re.sub("\x1b\\[[0-9;]*m", "", EVERYDAY.output(text))
    assert DANGEROUS.search(colours_left) is None


def test_marking_is_quick_for_text_without_oddities() -> None:
    text = "plain text\n" * 10

    assert marked(text) is text
