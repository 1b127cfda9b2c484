"""Docstrings in three styles say the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.tools.docstrings import Docstring, parse

GOOGLE = """Return recent commits.

    Use this to see what changed.

    Args:
        limit (int): Number of commits
            to return.
        *paths: Only commits that touch: these.
        -i: Ignore case.

    Returns:
        One line each.

    Raises:
        ValueError: never shown.
    """

NUMPY = """Return recent commits.

    Use this to see what changed.

    Parameters
    ----------
    limit : int, optional
        Number of commits
        to return.
    paths
        Only commits that touch: these.
    -i
        Ignore case.

    Returns
    -------
    One line each.
    """

SPHINX = """Return recent commits.

    Use this to see what changed.

    :param int limit: Number of commits
        to return.
    :param paths: Only commits that touch: these.
    :param -i: Ignore case.
    :returns: One line each.
    :raises ValueError: never shown.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_every_style_gives_description_properties_and_what_comes_back(text: str) -> None:
    assert parse(text) == Docstring(
        "Return recent commits.\n\nUse this to see what changed.",
        {
            "limit": "Number of commits to return.",
            "paths": "Only commits that touch: these.",
            "-i": "Ignore case.",
        },
        "One line each.",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, Docstring()),
        ("", Docstring()),
        ("One line.", Docstring("One line.")),
        ("Note: this is no section.\n\nReally.", Docstring("Note: this is no section.\n\nReally.")),
        ("Do.\n\nArgs:\n", Docstring("Do.")),
        ("Do.\n\nArgs:\n    a: One.\n\nReturns: A line.", Docstring("Do.", {"a": "One."}, "A line.")),
        ("Do.\n\nArgs:\n    a: One.\n\n        Two.", Docstring("Do.", {"a": "One.\nTwo."})),
        (
            "Do.\n\nArgs:\n    a: Any of\n        - x\n        - y",
            Docstring("Do.", {"a": "Any of\n- x\n- y"}),
        ),
        (
            "Do.\n\nParameters\n----------\na, b : int\n    Both.",
            Docstring("Do.", {"a": "Both.", "b": "Both."}),
        ),
    ],
)
def test_odd_docstrings(text: str | None, expected: Docstring) -> None:
    assert parse(text) == expected


@given(st.text(alphabet=st.sampled_from("ab :\n-*()Args Returns:param"), max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_text_can_be_read(text: str) -> None:
    assert isinstance(parse(text), Docstring)
