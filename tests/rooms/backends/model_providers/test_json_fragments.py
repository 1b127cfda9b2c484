"""Pieces of JSON for requests: what a model wrote stays as it wrote it, or becomes something valid."""

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.backends.model_providers.json_fragments import UNREADABLE, written, written_input

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    "raw",
    [
        "{}",
        '{"a": 1.0, "b": 1e5, "c": 12345678901234567890123}',
        ' {\n "a" : [1,2,3] }\n',
        '{"a": "\\u00e9\\ud83d\\ude00", "1e999": "1e999"}',
    ],
)
def test_an_object_is_embedded_byte_for_byte(raw: str) -> None:
    assert written_input(raw) == raw.encode()


@pytest.mark.parametrize("raw", ["", "  ", "\n"])
def test_nothing_is_an_empty_object(raw: str) -> None:
    assert written_input(raw) == b"{}"


@pytest.mark.parametrize(
    "raw",
    [
        '{"path": "a.txt", "content": "cut off',
        "[1, 2]",
        '"text"',
        "null",
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": [{"b": -1e400}]}',
        '{"a": "\\ud800"}',
        '{"a": "\ud800"}',
        '{"a":' + "[" * 70 + "]" * 70 + "}",
        "no JSON at all",
    ],
)
def test_anything_else_is_wrapped_so_that_the_model_can_still_read_it(raw: str) -> None:
    value = json.loads(written_input(raw))
    assert value == {UNREADABLE: raw.encode("utf-16", "surrogatepass").decode("utf-16", "replace")}


@settings(max_examples=200, derandomize=True)
@given(text=st.text(alphabet='{}[]":,0123456789.eE+-\\u truefalsn\nINx\ud800', max_size=40))
def test_whatever_a_model_writes_is_sent_as_a_valid_object(text: str) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert isinstance(json.loads(written_input(text), parse_constant=refuse), dict)


@settings(max_examples=100, derandomize=True)
@given(value=JSON)
def test_values_are_written_as_any_reader_reads_them(value: Any) -> None:
    assert json.loads(written(value)) == value


def test_half_of_a_surrogate_pair_becomes_a_replacement_character_wherever_it_is() -> None:
    value = {"a\udc00": ["x\ud800y", ("\ud83d\ude00",)], "n": 1}
    assert json.loads(written(value)) == {"a�": ["x�y", ["😀"]], "n": 1}


def test_what_is_no_number_is_written_as_null() -> None:
    assert written([float("nan"), 1.5]) == b"[null,1.5]"
    assert written([float("inf"), "\ud800"]) == '[null,"�"]'.encode()


def test_schemas_of_any_mapping_are_written() -> None:
    assert written(MappingProxyType({"type": "object"})) == b'{"type":"object"}'
