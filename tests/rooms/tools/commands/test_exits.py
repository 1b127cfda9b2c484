"""Which exit codes are answers."""

import pytest

from toolwright.tools.commands.exits import described, interpretation


@pytest.mark.parametrize(
    ("command", "code", "meaning"),
    [
        ("grep a b", 1, "no line matched"),
        ("/usr/bin/grep a b", 1, "no line matched"),
        ("egrep a b", 1, "no line matched"),
        ("fgrep a b", 1, "no line matched"),
        ("rg a", 1, "no line matched"),
        ("cat x | sort | rg a", 1, "no line matched"),
        ("git grep a", 1, "no line matched"),
        ("git --no-pager diff --exit-code", 1, "the files differ"),
        ("diff a b", 1, "the files differ"),
        ("cmp a b", 1, "the files differ"),
        ("test -f x", 1, "the condition is false"),
        ("[ -f x ]", 1, "the condition is false"),
        ("[[ -f x ]]", 1, "the condition is false"),
        ("find . -name x", 1, "some folders could not be read"),
        ("grep a b", 2, None),
        ("grep a b | head", 1, None),
        ("grep a b; false", 1, None),
        ("git status", 1, None),
        ("git", 1, None),
        ("make", 1, None),
        ("diff a b", 2, None),
        ("grep ${", 1, None),
        ("", 1, None),
    ],
)
def test_meaning(command: str, code: int, meaning: str | None) -> None:
    assert interpretation(command, code, {}) == meaning


def test_more_codes_by_program() -> None:
    benign = {"make": (1, 2), "git status": (1,)}
    assert interpretation("make all", 2, benign) == "make ended with 2, which is set to be no failure"
    assert interpretation("git status", 1, benign) is not None
    assert interpretation("make all", 3, benign) is None


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (1, "Exit code 1"),
        (128, "Exit code 128"),
        (129, "Exit code 129 (SIGHUP)"),
        (137, "Exit code 137 (SIGKILL)"),
        (139, "Exit code 139 (SIGSEGV)"),
        (160, "Exit code 160"),
        (255, "Exit code 255"),
    ],
)
def test_described(code: int, text: str) -> None:
    assert described(code) == text
