"""An untrusted project can make the engine more careful and nothing else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.settings.holding_back import careful, leaves


@pytest.mark.parametrize(
    ("written", "below", "kept"),
    [
        ({"limits": {"rounds": 5}}, {}, {"limits": {"rounds": 5}}),
        ({"limits": {"rounds": 500}}, {}, {}),
        ({"limits": {"rounds": 150}}, {"limits": {"rounds": 100}}, {}),
        ({"limits": {"rounds": 900}}, {"limits": {"rounds": None}}, {"limits": {"rounds": 900}}),
        ({"limits": {"rounds": None}}, {"limits": {"rounds": 100}}, {}),
        ({"limits": {"cost": 0.5, "tokens": 7}}, {"limits": {"tokens": 5}}, {"limits": {"cost": 0.5}}),
        (
            {"limits": {"calls_per_tool": {"bash": 3, "read": 9, "grep": 1}}},
            {"limits": {"calls_per_tool": {"bash": 5, "read": 2}}},
            {"limits": {"calls_per_tool": {"bash": 3, "grep": 1}}},
        ),
        ({"quotas": {"rounds": 9}}, {"quotas": {"rounds": 3}}, {}),
        ({"tools": {"disabled": []}}, {"tools": {"disabled": ["bash"]}}, {"tools": {"disabled": ["bash"]}}),
        (
            {"tools": {"disabled": ["read"], "only": ["read"]}},
            {"tools": {"disabled": ["bash"]}},
            {"tools": {"disabled": ["bash", "read"]}},
        ),
        ({"permissions": {"allow": ["A"], "mode": "auto"}}, {}, {}),
        ({"permissions": {"deny": ["D"], "ask": ["A"]}}, {}, {"permissions": {"deny": ["D"], "ask": ["A"]}}),
        (
            {"agent": "x", "hooks": {}, "data_dir": "/", "fallback_model": "m", "retries": {"attempts": 20}},
            {},
            {},
        ),
    ],
)
def test_what_counts(written: dict[str, Any], below: dict[str, Any], kept: dict[str, Any]) -> None:
    assert careful(written, below) == kept


COUNTS = st.dictionaries(st.sampled_from(["rounds", "calls", "tokens"]), st.none() | st.integers(1, 300))


@given(COUNTS, COUNTS)
def test_no_limit_is_ever_raised(written: dict[str, Any], below: dict[str, Any]) -> None:
    kept = careful({"limits": written}, {"limits": below}).get("limits", {})
    before = {"rounds": 200, "calls": None, "tokens": None} | below
    for key, value in kept.items():
        assert before[key] is None or value < before[key]


def test_leaves_are_the_dotted_keys_of_all_values() -> None:
    assert list(leaves({"a": {"b": 1, "c": {}}, "d": [1]})) == ["a.b", "a.c", "d"]
