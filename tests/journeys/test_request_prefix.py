"""The requests of a session, as bytes on a real line: each begins as the one before, so that caches hit."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.journeys.engines import events_of, log_of

from toolwright import Engine, ImageBlock, TextBlock, tool
from toolwright.contracts.events import ModelAsked
from toolwright.contracts.messages import CallBlock, ThinkingBlock
from toolwright.contracts.permissions import RuleChange
from toolwright.testing import FakeUpstream
from toolwright.testing.replies import ScriptItem, SeenRequest, Status

pytestmark = pytest.mark.anyio

WITHIN = 60
MARK = b',"cache_control":{"type":"ephemeral"}'
PROVIDERS: dict[str, dict[str, Any]] = {
    "anthropic": {"kind": "anthropic"},
    "chat": {"api": "chat"},
    "responses": {"api": "responses"},
    "constrained": {"api": "chat", "tools": "constrained"},
}


@tool(read_only=True)
def look(at: str) -> str:
    """Look at something.

    Args:
        at: What to look at.
    """
    return f"saw {at}" * 3


def engine(folder: Path, protocol: str, upstream: FakeUpstream) -> Engine:
    project = folder / "project"
    project.mkdir(exist_ok=True)
    url = upstream.url if protocol == "anthropic" else f"{upstream.url}/v1"
    house = {"base_url": url, "probe": False, "images": True, **PROVIDERS[protocol]}
    return Engine(
        model="house/m",
        tools=[look, "read", "glob"],
        workspace=project,
        settings={
            "models": {"providers": {"house": house}},
            "retries": {"base_seconds": 0.001},
        },
        environ={"HOME": str(folder / "home")},
    )


def calls(protocol: str, number: int) -> ScriptItem:
    """An answer with two calls, in the form that the protocol asks for."""
    if protocol == "constrained":
        one = '{"name": "look", "input": {"at": "%s"}}'
        return f'{{"calls": [{one % f"sea {number}"}, {one % f"sky {number}"}]}}'
    return (
        ThinkingBlock(f"Let me see {number}.", f"seal {number}"),
        TextBlock("I look."),
        CallBlock(f"call_{number}_1", "look", f'{{"at": "sea {number}"}}'),
        CallBlock(f"call_{number}_2", "look", f'{{"at":  "sky {number}"}}'),
    )


def script(protocol: str) -> list[ScriptItem]:
    answer = '{"text": "So."}' if protocol == "constrained" else "So."
    rounds = [[calls(protocol, 2 * turn), calls(protocol, 2 * turn + 1), answer] for turn in range(4)]
    return [item for items in rounds for item in items]


async def whole_story(folder: Path, protocol: str) -> tuple[list[SeenRequest], set[str]]:
    """What was asked in a session of two processes, with all that happens in one."""
    async with FakeUpstream([*script(protocol)[:4], Status(529), *script(protocol)[4:]]) as upstream:
        async with engine(folder, protocol, upstream) as first:
            session = await first.session()
            await session.run((TextBlock("What is this?"), ImageBlock("aGk=", "image/png")))
            await session.change_permissions(RuleChange("setMode", mode="plan"))
            await session.run("And this?")
        async with engine(folder, protocol, upstream) as second:
            session = await second.open(session.id)
            await session.run("And now?")
            await session.run("And then?")
            log = await log_of(session)
        fingerprints = {event.fingerprint for event in events_of(log) if isinstance(event, ModelAsked)}
        return list(upstream.requests), fingerprints


def preamble_of(body: bytes) -> bytes:
    """Everything before the conversation."""
    return body[: min(body.find(mark) for mark in (b'"messages":[', b'"input":[') if mark in body)]


def conversation_end(body: bytes) -> int:
    """Where the list of messages ends and the rest of the request begins."""
    return body.rindex(b'],"model":')


@pytest.mark.parametrize("protocol", list(PROVIDERS))
async def test_each_request_begins_with_the_bytes_of_the_one_before(tmp_path: Path, protocol: str) -> None:
    with anyio.fail_after(WITHIN):
        requests, fingerprints = await whole_story(tmp_path, protocol)
    assert len(requests) == 13
    bodies = [seen.body for seen in requests]
    plain = [body.replace(MARK, b"") for body in bodies]
    for before, after in pairwise(plain):
        assert after.startswith(before[: conversation_end(before)])
    rest = {body[conversation_end(body) :] for body in plain}
    assert len({preamble_of(body) for body in bodies}) == 1  # with the marks in it
    assert len(rest) == 1
    assert len(fingerprints) == 1
    assert plain[5] == plain[4]  # what is asked again is asked in the same words


async def test_marks_for_the_cache_move_only_as_the_page_says(tmp_path: Path) -> None:
    with anyio.fail_after(WITHIN):
        requests, _ = await whole_story(tmp_path, "anthropic")
    before: list[int] = []
    for seen in requests:
        body = seen.json
        assert [is_marked(one) for one in body["tools"]] == last_only(body["tools"])
        assert [is_marked(one) for one in body["system"]] == last_only(body["system"])
        messages = body["messages"]
        marked = [place for place, one in enumerate(messages) if is_marked(one["content"][-1])]
        assert marked == expected_marks(messages)
        assert sum(is_marked(part) for one in messages for part in one["content"]) == len(marked)
        assert set(before[-1:]) <= set(marked)  # where the request before left its last one
        before = marked


def is_marked(part: Any) -> bool:
    return "cache_control" in part


def last_only(parts: Sequence[Any]) -> list[bool]:
    return [False] * (len(parts) - 1) + [True]


def expected_marks(messages: Sequence[Any]) -> list[int]:
    """The last message of the user, and the last one before the answer before that."""
    places = [place for place, one in enumerate(messages) if one["role"] == "user"]
    earlier = [
        place for place in places if any(one["role"] == "assistant" for one in messages[place : places[-1]])
    ]
    return [*earlier[-1:], places[-1]]
