"""Strict JSON: what is taken, what is refused and where."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.tool_calls.json_text import MAX_DEPTH, MAX_DIGITS, Broken, clipped, parsed, unfit

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(10**40), max_value=10**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='ab:"\\', max_size=4), inner)
    ),
    max_leaves=20,
)
OBJECTS = st.dictionaries(st.text(alphabet="abc:é", max_size=5), VALUES, max_size=5)


@settings(max_examples=60, derandomize=True)
@given(value=OBJECTS, escaped=st.booleans())
def test_whatever_python_writes_is_read_back_exactly(value: dict[str, Any], escaped: bool) -> None:
    assert parsed(json.dumps(value, ensure_ascii=escaped)) == value


@settings(max_examples=200, derandomize=True)
@given(text=st.text(alphabet='{}[]":,0123456789.eE+-\\u truefalsn\n', max_size=40))
def test_what_is_taken_is_what_the_standard_parser_takes(text: str) -> None:
    value = parsed(text)
    if not isinstance(value, Broken):
        assert value == json.loads(text)


@pytest.mark.parametrize(
    ("text", "problem", "position"),
    [
        ('{"a": NaN}', "NaN is not JSON", 6),
        ('{"a": -Infinity}', "-Infinity is not JSON", 6),
        ('{"a": 1, "a": 2}', 'the key "a" is given twice', 9),
        ('{"a": 1, "\\u0061": 2}', 'the key "\\u0061" is given twice', 9),
        ('{"x": {"k": ":", "k": "::"}}', 'the key "k" is given twice', 17),
        ('{"a": "\\ud800"}', "half of a surrogate pair", 6),
        ('{"a": "\ud800"}', "half of a surrogate pair", 7),
        ('{"a": 1e999}', "a number too large to hold", 6),
        ('{"a": ' + "9" * (MAX_DIGITS + 1) + "}", f"a number of more than {MAX_DIGITS} digits", 6),
        ('{"a": [1,]}', "expecting value", 9),
        ("[1]", "expected a JSON object, found an array", 0),
        (' "text"', "expected a JSON object, found a string", 1),
        ("true", "expected a JSON object, found a boolean", 0),
        ("null", "expected a JSON object, found null", 0),
        ('{"a": 1} trailing', "extra data", 9),
        ('```json\n{"a": 1}\n```', "expecting value", 0),
        ("{'a': 1}", "expecting property name enclosed in double quotes", 1),
        ('{"a": "line\nbreak"}', "invalid control character at", 11),
    ],
)
def test_text_is_refused_with_the_place(text: str, problem: str, position: int) -> None:
    assert parsed(text) == Broken(problem, position)


@pytest.mark.parametrize("text", ['{"a": "unfini', '{"a": 1', '{"a":', "{", '{"a": [1, 2', ""])
def test_text_that_ends_too_early_is_known_to_be_cut(text: str) -> None:
    broken = parsed(text)
    assert isinstance(broken, Broken)
    assert broken.cut


def test_depth_is_bounded_before_anything_recurses() -> None:
    deepest = '{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH
    assert isinstance(parsed(deepest), dict)
    for levels in (MAX_DEPTH + 1, 100_000):
        broken = parsed('{"a":' * levels + "1" + "}" * levels)
        assert broken == Broken(f"nested deeper than {MAX_DEPTH} levels", 5 * MAX_DEPTH)


def test_many_brackets_side_by_side_are_not_deep() -> None:
    value = parsed('{"a": [' + ",".join(["[]"] * 1000) + "]}")
    assert value == {"a": [[]] * 1000}


def test_size_is_bounded() -> None:
    assert parsed('{"a": "' + "x" * 5_000_000 + '"}') == Broken("longer than 4,194,304 characters", 4_194_304)


@pytest.mark.parametrize("number", [2**53 + 1, 2**63, 2**64, -(2**64) - 1, 10**40])
def test_whole_numbers_stay_exact(number: int) -> None:
    assert parsed(f'{{"n": {number}}}') == {"n": number}


def test_colons_in_texts_are_no_keys() -> None:
    assert parsed('{"a": "b:c::d", "e": ":"}') == {"a": "b:c::d", "e": ":"}


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"a": [1, 2.5, None, True, "x", {"b": ()}]}, None),
        ({"a": 10**MAX_DIGITS - 1}, None),
        ({"a": nested(MAX_DEPTH - 1)}, None),
        ({"a": float("nan")}, "a number that is not finite"),
        ({"a": float("inf")}, "a number that is not finite"),
        ({"a": 10**MAX_DIGITS}, f"a number of more than {MAX_DIGITS} digits"),
        ({"a": nested(MAX_DEPTH)}, f"nested deeper than {MAX_DEPTH} levels"),
        ({"a": nested(200_000)}, f"nested deeper than {MAX_DEPTH} levels"),
        ({"a": "\ud800"}, "half of a surrogate pair"),
        ({1: "a"}, "a key that is no text"),
        ({"a": b"bytes"}, "a value of type bytes, which is not JSON"),
        ({"a": object()}, "a value of type object, which is not JSON"),
        ({"a": "x" * 5_000_000}, "larger than 4,194,304 characters"),
        ({"a": 10**30, "b": "x" * 5_000_000}, "larger than 4,194,304 characters"),
    ],
    ids=range(14),
)
def test_values_are_measured_before_native_code_sees_them(value: object, problem: str | None) -> None:
    assert unfit(value) == problem


def test_clipping_makes_one_short_line() -> None:
    assert clipped("a\nb") == "a b"
    assert clipped("x" * 100, 10) == "xxxxxxxxx…"
