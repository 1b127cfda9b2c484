"""The block of text that stands for a failure."""

from typing import Any

import pytest

from toolwright.contracts.content import ImageBlock, TextBlock
from toolwright.contracts.tool import Failed
from toolwright.tool_calls.texts import compact, error_text, with_line


def test_an_error_is_a_first_line_then_what_helps() -> None:
    failed = Failed(
        "http_error", "503", hint="later", retry_after=30, details={"body": "busy", "headers": {"a": [1]}}
    )
    assert error_text(failed) == (
        'Error [http_error]: 503\nHint: later\nRetry after: 30 s\nbody: busy\nheaders: {"a":[1]}'
    )
    assert error_text(Failed("timeout", "slow")) == "Error [timeout]: slow"


def test_details_are_bounded() -> None:
    assert len(str(error_text(Failed("http_error", "x", details={"body": "b" * 100_000})))) < 2100


@pytest.mark.parametrize(
    ("details", "shown"),
    [
        ({"lines": [6, 13], "count": 2}, ""),
        ({"near": []}, ""),
        ({"size": 3000}, ""),
        ({"lines": [6, 14]}, "\nlines: [6,14]"),
        ({"count": 3}, "\ncount: 3"),
        ({"path": "/work/a.p"}, "\npath: /work/a.p"),
        ({"whole": True}, "\nwhole: true"),
        ({"body": {}}, "\nbody: {}"),
    ],
)
def test_a_detail_that_was_said_is_not_repeated(details: dict[str, Any], shown: str) -> None:
    said = (
        "Error [multiple_matches]: It stands in 2 places of /work/a.py (3,000 bytes)\nHint: See lines 6, 13."
    )
    failed = Failed(
        "multiple_matches",
        "It stands in 2 places of /work/a.py (3,000 bytes)",
        hint="See lines 6, 13.",
        details=details,
    )
    assert error_text(failed) == said + shown


def test_fixed_wording_is_kept() -> None:
    assert error_text(Failed("command_failed", "exit 1", content="out\nExit code 1")) == "out\nExit code 1"


def test_a_line_is_added_at_the_end() -> None:
    assert error_text(with_line(Failed("timeout", "slow"), "again")) == "Error [timeout]: slow\nagain"
    picture = ImageBlock("aaaa", "image/png")
    assert error_text(with_line(Failed("timeout", "slow", content=(picture,)), "again")) == (
        picture,
        TextBlock("again"),
    )


def test_values_that_json_cannot_hold_are_still_written() -> None:
    assert compact({"n": 2**70}) == f'{{"n":{2**70}}}'
    assert compact({"x": {1}}) == '{"x":"{1}"}'
