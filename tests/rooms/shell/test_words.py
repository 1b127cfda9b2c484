"""What text a word becomes, and what keeps it from being known."""

import pytest

from toolwright.shell.analysis import analysed
from toolwright.shell.units import Dynamic, Word
from toolwright.shell.words import ansi_text


def word(source: str) -> Word:
    analysis = analysed(f"echo {source}")
    assert analysis.parsable
    [unit] = [unit for unit in analysis.units if unit.program == "echo"]
    return unit.words[1]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("plain", "plain"),
        ("'a b'", "a b"),
        ('"a b"', "a b"),
        ('"a \\$x \\" \\\\ \\n"', 'a $x " \\ \\n'),
        ("a\\ b", "a b"),
        ("r\"m\"'x'", "rmx"),
        ("$'\\x72m'", "rm"),
        ("$'\\162\\155'", "rm"),
        ("$'a\\'b'", "a'b"),
        ('$"rm"', "rm"),
        ('r$"m"', "rm"),
        ('a"b"$"c"d', "abcd"),
        ("$", "$"),
        ("a$", "a$"),
        ('"a"$', "a$"),
        ("''", ""),
        ("'*'", "*"),
        ("\\*", "*"),
        ('"~"', "~"),
        ("a{b", "a{b"),
        ("'{a,b}'", "{a,b}"),
        ("{}", "{}"),
        ("a=~b", None),
        ('"  two  "', "  two  "),
    ],
)
def test_text_of_a_word(source: str, text: str | None) -> None:
    assert word(source).text == text


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("$x", {Dynamic.PARAMETER}),
        ("${x}", {Dynamic.PARAMETER}),
        ('"a$x"', {Dynamic.PARAMETER}),
        ("$?", {Dynamic.STATUS}),
        ("$(a)", {Dynamic.SUBSTITUTION}),
        ("`a`", {Dynamic.SUBSTITUTION}),
        ("<(a)", {Dynamic.SUBSTITUTION}),
        ("${x:-a}", {Dynamic.COMPLEX}),
        ("$((1))", {Dynamic.ARITHMETIC}),
        ("*.py", {Dynamic.GLOB}),
        ("[ab]", {Dynamic.GLOB}),
        ("{a,b}", {Dynamic.BRACE}),
        ("{1..9}", {Dynamic.BRACE}),
        ("~/x", {Dynamic.TILDE}),
        ("~", {Dynamic.TILDE}),
    ],
)
def test_why_a_word_is_not_known(source: str, kinds: set[Dynamic]) -> None:
    assert word(source).text is None
    assert word(source).kinds == kinds


def test_shape_keeps_what_stands_beside_an_expansion() -> None:
    assert word('"$D"/*') == Word(
        '"$D"/*', None, "\x00/*", "$D/*", frozenset({Dynamic.PARAMETER, Dynamic.GLOB})
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("\\x41\\x{42}C", "ABC"),
        ("\\u00e9\\U1F600", "é😀"),
        ("\\xc3\\xa9", "é"),
        ("\\e[0m\\t", "\x1b[0m\t"),
        ("\\cA", "\x01"),
        ("a\\0b", "a"),
        ("\\q", "\\q"),
        ("\\xzz", "\\xzz"),
    ],
)
def test_escapes_of_dollar_quotes(body: str, text: str) -> None:
    assert ansi_text(body) == text
