"""Patterns of shell rules."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.shell.fallback import hit, pieces
from toolwright.shell.patterns import collapsed, compiled, may_match


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("npm test *", "npm test", True),
        ("npm test *", "npm test a b", True),
        ("npm test *", "npm tests", False),
        ("npm test:*", "npm test a", True),
        ("npm test:*", "npm test", True),
        ("npm test:*", "npm testing", False),
        ("npm*", "npmx", True),
        ("npm run build", "npm run builder", False),
        ("git * main", "git push main", True),
        ("git * main", "git push maine", False),
        ("git * main *", "git push main -f", True),
        ("git * main *", "git push mainx main", True),
        ("echo \\*", "echo *", True),
        ("echo \\*", "echo a", False),
        ("a:*b", "a:xb", True),
        ("a  b", "a b", True),
        ("*", "anything at all", True),
        ("Npm *", "npm a", False),
        ("* --force", "git push --force", True),
    ],
)
def test_matching(pattern: str, text: str, *, matches: bool) -> None:
    assert compiled(pattern).matches(text) is matches


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text("ab *", max_size=8), st.text("ab ", max_size=12))
def test_matching_agrees_with_a_regular_expression(pattern: str, text: str) -> None:
    plain, subject = collapsed(pattern), collapsed(text)
    bounded = plain.endswith(" *")
    body = plain[:-2].rstrip() if bounded else plain
    expression = ".*".join(map(re.escape, body.split("*"))) + ("(?: .*)?" if bounded else "")
    assert compiled(pattern).matches(subject) is bool(re.fullmatch(expression, subject, re.DOTALL))


def test_unknown_words_may_complete_a_pattern() -> None:
    pattern = compiled("git push *")
    assert [may_match(pattern, start) for start in ("git ", "git push ", "git log ", "npm ")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("npm test &&& rm x", True),
        ("echo 'rm x", True),
        ('A=1 "r"m x', True),
        ("/bin/rm x (", True),
        ("r\\\nm x (", True),
        ("$'\\x72m' x (", True),
        ("echo \\\\\\`rm x\\\\\\`", True),
        ("echo $(rm x", True),
        ("rmdir x (", False),
        ("farm x (", False),
    ],
)
def test_coarse_scan_finds_a_program_anywhere(text: str, *, found: bool) -> None:
    assert any(hit(piece, compiled("rm *")) for piece in pieces(text)) is found
