"""Cases tried against a model over HTTP, recorded, and played again without a network."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright.catalog.eval_suites import read_suite
from toolwright.contracts.messages import CallBlock
from toolwright.settings import load
from toolwright.surfaces.evals.preparing import EvalOptions, prepared
from toolwright.surfaces.evals.results import EvalReport
from toolwright.surfaces.evals.running import run_evals
from toolwright.testing import FakeUpstream
from toolwright.testing.replies import Reply, ScriptItem, SeenRequest

pytestmark = pytest.mark.anyio
WITHIN = 60
KEY = "sk-very-secret-0123456789"


async def tried(
    folder: Path, cases: Sequence[dict[str, Any]], options: EvalOptions, url: str = ""
) -> EvalReport:
    """Try cases of a project whose models are behind ``url``."""
    environ = {"HOME": str(folder / "home"), "HOUSE_KEY": KEY}
    house = {"base_url": url or "http://127.0.0.1:9", "kind": "anthropic", "key_env": "HOUSE_KEY"}
    settings = {"models": {"providers": {"house": house}}, "model": "house/m"}
    loaded = load(str(folder), environ=environ, cli=settings)
    written = read_suite(str(folder / "s.json"), json.dumps({"cases": cases}).encode())
    ready = prepared(written, options, loaded, lambda _: [])
    with anyio.fail_after(WITHIN):
        return await run_evals(ready, options, environ=environ)


def answering(request: SeenRequest) -> ScriptItem:
    """Reads a file, says what is in it, and judges; by what is asked, since cases run side by side."""
    body = request.body.decode()
    if '"verdict"' in body:
        return (CallBlock("call_v", "verdict", json.dumps({"reason": "It says blue.", "passed": True})),)
    if "tool_result" in body:
        return f"It is {'blue' if 'sea.txt' in body else 'green'}. My key is {KEY}."
    path = "sea.txt" if "the sea" in body else "wood.txt"
    return (CallBlock("call_1", "read", json.dumps({"file_path": path})),)


def looking(id: str, file: str, colour: str, **expected: Any) -> dict[str, Any]:
    return {
        "id": id,
        "tools": ["read"],
        "input": {"message": f"What colour has the {id}?", "files": {file: f"The {id} is {colour}.\n"}},
        "expected": {"called": {"tool": "read", "times": 1}, "contains": f"It is {colour}", **expected},
    }


CASES = [looking("sea", "sea.txt", "blue", judge="It says blue."), looking("wood", "wood.txt", "green")]


def statuses(report: EvalReport) -> list[tuple[str, str]]:
    return [(result.case.id, attempt.status) for result in report.results for attempt in result.attempts]


async def test_what_was_recorded_is_played_without_a_network(tmp_path: Path) -> None:
    tapes = str(tmp_path / "tapes")
    async with FakeUpstream(answering) as upstream:
        report = await tried(tmp_path, CASES, EvalOptions(record_to=tapes, concurrency=2), upstream.url)
    assert statuses(report) == [("sea", "passed"), ("wood", "passed")]
    assert len(upstream.requests) == 5
    found = sorted(str(path.relative_to(tapes)) for path in Path(tapes).rglob("*.jsonl"))
    assert found == ["sea/house.jsonl", "sea/judge/house.jsonl", "wood/house.jsonl"]
    again = await tried(tmp_path, CASES, EvalOptions(replay_from=tapes, repeat=2))
    assert statuses(again) == [("sea", "passed")] * 2 + [("wood", "passed")] * 2
    assert again.results[0].means == report.results[0].means
    assert not any(KEY in path.read_text() for path in Path(tapes).rglob("*.jsonl"))


async def test_a_case_that_asks_otherwise_than_was_recorded_could_not_be_tried(tmp_path: Path) -> None:
    tapes = str(tmp_path / "tapes")
    async with FakeUpstream(answering) as upstream:
        await tried(tmp_path, CASES[1:], EvalOptions(record_to=tapes), upstream.url)
    other = looking("wood", "wood.txt", "red")
    report = await tried(tmp_path, [other, CASES[0]], EvalOptions(replay_from=tapes))
    [changed], [missing] = (result.attempts for result in report.results)
    assert (changed.status, missing.status) == ("error", "error")
    assert "no recorded request" in changed.problem
    assert "there is no recording in" in missing.problem
    assert "make one with --record" in missing.problem


async def test_no_credential_is_in_a_report(tmp_path: Path) -> None:
    async with FakeUpstream(answering) as upstream:
        cases = [looking("sea", "sea.txt", "blue", lacks="key")]
        report = await tried(tmp_path, cases, EvalOptions(), upstream.url)
    [attempt] = report.results[0].attempts
    assert KEY not in repr(attempt)
    assert attempt.observed.text == "It is blue. My key is [redacted]."
    assert attempt.failures[0].problem == 'it says so: "It is blue. My key is [redacted]."'


async def test_context_and_message_are_what_the_agent_reads(tmp_path: Path) -> None:
    case = {"id": "a", "tools": ["read"], "input": {"message": "Greet me.", "context": "I am Ann."}}
    async with FakeUpstream(["Hello Ann."]) as upstream:
        await tried(tmp_path, [case], EvalOptions(), upstream.url)
    [request] = upstream.requests
    content = json.loads(request.body)["messages"][0]["content"]
    assert "<context>\nI am Ann.\n</context>\n\nGreet me." in json.dumps(content, ensure_ascii=False).replace(
        "\\n", "\n"
    )


async def test_at_most_so_many_are_tried_at_once_and_their_order_stays(tmp_path: Path) -> None:
    cases = [{"id": f"c{n}", "tools": ["read"], "input": {"message": f"I am c{n}."}} for n in range(5)]
    held = [Reply(f"Done {n}.", hold_at=0) for n in range(5)]
    async with FakeUpstream(held) as upstream:

        async def look() -> None:
            await upstream.until(lambda it: len(it.requests) == 2)
            await anyio.wait_all_tasks_blocked()
            seen.append(len(upstream.requests))
            upstream.release()

        seen: list[int] = []
        async with anyio.create_task_group() as group:
            group.start_soon(look)
            report = await tried(tmp_path, cases, EvalOptions(concurrency=2), upstream.url)
    assert seen == [2]
    assert statuses(report) == [(f"c{n}", "passed") for n in range(5)]
