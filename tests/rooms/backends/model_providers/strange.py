"""JSON that nobody would send, made of the words of a protocol: readers must answer it with a fault."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy


def strange_json(keys: Sequence[str], words: Sequence[str]) -> SearchStrategy[Any]:
    """Any JSON with these keys, and these words among its values."""
    plain = st.none() | st.booleans() | st.integers(-2, 3) | st.floats(-1, 1) | st.sampled_from([*words, ""])
    return st.recursive(
        plain,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(keys)), inner, max_size=4)
        ),
        max_leaves=12,
    )


def strange_object(keys: Sequence[str], words: Sequence[str]) -> SearchStrategy[dict[str, Any]]:
    """An object of such JSON."""
    return st.dictionaries(st.sampled_from(list(keys)), strange_json(keys, words), max_size=5)
