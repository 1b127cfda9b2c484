"""Which calls stand in each other's way."""

from typing import Literal

import pytest

from toolwright.contracts.tool import Access, Touch, Traits
from toolwright.tool_calls.conflicts import ALONE, FREE, SAFE, Footprint, footprint, in_the_way, meet


def touching(
    name: str, access: Access = "read", kind: Literal["path", "host", "key"] = "path", *, safe: bool = False
) -> Footprint:
    return footprint(Traits(touches=(Touch(kind, name, access),), concurrency_safe=safe), str)


READ_A, WRITE_A = touching("/a"), touching("/a", "write")
NOTHING = footprint(Traits(touches=()), str)
SAFE_WRITE_A = touching("/a", "write", safe=True)


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        (FREE, ALONE, True),
        (FREE, FREE, True),
        (ALONE, ALONE, False),
        (ALONE, SAFE, False),
        (ALONE, READ_A, False),
        (ALONE, NOTHING, False),
        (SAFE, SAFE, True),
        (SAFE, READ_A, True),
        (SAFE, WRITE_A, False),
        (SAFE, SAFE_WRITE_A, True),
        (SAFE, NOTHING, True),
        (READ_A, READ_A, True),
        (READ_A, WRITE_A, False),
        (WRITE_A, WRITE_A, False),
        (SAFE_WRITE_A, SAFE_WRITE_A, False),
        (WRITE_A, touching("/b", "write"), True),
        (WRITE_A, touching("/a/b"), False),
        (touching("/a/b", "delete"), READ_A, False),
        (WRITE_A, touching("/ab"), True),
        (touching("/", "write"), touching("/x"), False),
        (touching("todos", "write", "key"), touching("todos", "write", "key"), False),
        (touching("todos", "write", "key"), touching("todos/x", "write", "key"), True),
        (touching("h", "write", "host"), touching("h", "read", "host"), False),
        (touching("h", "write", "host"), touching("h", "write", "key"), True),
        (touching("h", "read", "host"), touching("h", "read", "host"), True),
    ],
)
def test_two_calls(one: Footprint, other: Footprint, together: bool) -> None:
    assert meet(one, other) is not together
    assert meet(other, one) is not together


def test_a_call_waits_for_all_earlier_ones_in_its_way() -> None:
    prints = [READ_A, touching("/b", "write"), WRITE_A, ALONE, FREE, READ_A]
    assert in_the_way(prints) == ((), (), (0,), (0, 1, 2), (), (2, 3))


def test_readers_wait_for_nobody() -> None:
    assert in_the_way([READ_A, SAFE, READ_A, FREE]) == ((), (), (), ())


def test_no_promise_means_alone() -> None:
    assert footprint(Traits(), str) == ALONE
    assert footprint(Traits(concurrency_safe=True), str) == SAFE


def test_paths_are_compared_where_they_lead() -> None:
    one = footprint(Traits(touches=(Touch("path", "link", "write"),)), {"link": "/real"}.__getitem__)
    assert meet(one, touching("/real"))
