"""Globs: what they match, what they refuse."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.workspaces.globs import MOST_ALTERNATIVES, BadGlob, compiled, expand_braces

MATCHES = [
    ("*.py", "a.py", True),
    ("*.py", "deep/er/a.py", True),
    ("*.py", "a.pyc", False),
    ("./*.py", "a.py", True),
    ("src/*.py", "src/a.py", True),
    ("src/*.py", "src/b/a.py", False),
    ("src/**/*.py", "src/a.py", True),
    ("src/**/*.py", "src/b/c/a.py", True),
    ("**/*.py", "a.py", True),
    ("src/**", "src/b/c", True),
    ("src/**", "other/src/b", False),
    ("*.{ts,tsx}", "x.tsx", True),
    ("*.{ts,tsx}", "x.js", False),
    ("{a,b}/{c,d}.txt", "b/c.txt", True),
    ("{a,{b,c}}.txt", "c.txt", True),
    ("{alone}.txt", "{alone}.txt", True),
    ("file?.txt", "file1.txt", True),
    ("file?.txt", "file/.txt", False),
    ("file[0-9].txt", "file7.txt", True),
    ("file[!0-9].txt", "file7.txt", False),
    ("[[]x]", "[x]", True),
    ("a\\*b", "a*b", True),
    ("a\\*b", "aXb", False),
    (".env", "sub/.env", True),
    ("*", "with\nnewline", True),
]


@pytest.mark.parametrize(("pattern", "path", "expected"), MATCHES)
def test_a_glob_matches_as_people_expect(pattern: str, path: str, expected: bool) -> None:
    assert bool(compiled((pattern,)).fullmatch(path)) is expected


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "a/../b", "nul\0", "[z-a]x"])
def test_a_glob_that_leaves_the_folder_or_makes_no_sense_is_refused(pattern: str) -> None:
    with pytest.raises(BadGlob):
        compiled((pattern,))


def test_alternatives_are_allowed_up_to_the_limit_and_refused_beyond() -> None:
    assert MOST_ALTERNATIVES == 1024
    assert len(expand_braces("{a,b}" * 10)) == 1024
    with pytest.raises(BadGlob, match="1024 alternatives"):
        expand_braces("{a,b}" * 10 + "{a,b}")


@given(st.text(alphabet="ab*?[]{},/\\.!", max_size=30))
def test_any_text_is_either_a_glob_or_refused(pattern: str) -> None:
    try:
        expression = compiled((pattern,))
    except BadGlob:
        return
    assert isinstance(expression, re.Pattern)
