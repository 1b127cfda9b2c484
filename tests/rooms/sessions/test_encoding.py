"""What is logged is written whole, and in the way that is quick."""

from dataclasses import MISSING, fields
from typing import Any, get_args

import orjson
import pytest

from toolwright.contracts.content import TextBlock
from toolwright.contracts.events import LOGGED
from toolwright.contracts.messages import SaidBlock
from toolwright.contracts.models import Usage
from toolwright.contracts.permissions import Decision, Reason, Rule
from toolwright.contracts.view import Node, View
from toolwright.sessions.codec import encoded

PARTS: tuple[type, ...] = (
    *get_args(SaidBlock), *get_args(Node), View, Usage, Decision, Reason, Rule, TextBlock,
)  # fmt: skip


def made(kind: type) -> Any:
    """An object of a kind; nobody looks at the values of its required members."""
    given = {
        field.name: "x"
        for field in fields(kind)
        if field.default is MISSING and field.default_factory is MISSING
    }
    return kind(**given)


@pytest.mark.parametrize("kind", LOGGED)
def test_every_member_of_an_event_is_written(kind: type) -> None:
    written = orjson.loads(encoded(7, 1.5, made(kind)))
    assert (written["seq"], written["at"]) == (7, 1.5)
    assert set(written["event"]) == {field.name for field in fields(kind)}


@pytest.mark.parametrize("kind", PARTS)
def test_every_member_of_a_part_is_written(kind: type) -> None:
    assert set(orjson.loads(orjson.dumps(made(kind)))) == {field.name for field in fields(kind)}


@pytest.mark.parametrize("kind", [*LOGGED, *PARTS])
def test_what_is_written_often_has_a_dictionary(kind: type) -> None:
    """Objects with slots take four times as long to write."""
    assert hasattr(made(kind), "__dict__")
    assert not any("__slots__" in vars(base) for base in kind.__mro__[:-1])
