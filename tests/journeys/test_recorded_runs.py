"""A run recorded over HTTP and played again without a network, in another folder: the same story."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.endurance.promises import broken
from tests.journeys.engines import events_of, log_of

from toolwright import Engine, RunResult, Session
from toolwright.contracts.content import TextBlock
from toolwright.contracts.events import CallEnded, ModelAnswered, ModelFailed
from toolwright.contracts.messages import CallBlock
from toolwright.testing import FakeUpstream
from toolwright.testing.replies import Reply, ScriptItem, SeenRequest, Status

pytestmark = pytest.mark.anyio

WITHIN = 60
PROGRAM_WITHIN = 240
"""Seconds for a whole program, also where many others run."""
KEY = "sk-very-secret-0123456789"
PROTOCOLS = ["anthropic", "chat", "responses"]


def project(folder: Path) -> Path:
    made = folder / "project"
    made.mkdir(parents=True)
    (made / "note.txt").write_text("The sea is blue.\n")
    return made


def upstream_script(made: Path) -> Callable[[SeenRequest], ScriptItem]:
    """An agent that reads a file by its whole path, fails once, and says what it found, in two tasks."""
    read = CallBlock("call_1", "read", json.dumps({"file_path": str(made / "note.txt")}))
    missing = CallBlock("call_2", "read", json.dumps({"file_path": str(made / "none.txt")}))
    items: list[ScriptItem] = [
        (TextBlock(f"I read {made}/note.txt."), read, missing),
        Reply("This answer is broken off in the middle.", keep=2, ending="cut"),
        Status(529),
        f"It says that the sea is blue. My key is {KEY}.",
        "Nothing more.",
    ]
    left = iter(items)
    return lambda _: next(left)


def engine(made: Path, model: str, **settings: Any) -> Engine:
    return Engine(
        model=model,
        workspace=made,
        tools=["read", "glob"],
        settings={"retries": {"base_seconds": 0.001}, **settings},
        environ={"HOME": str(made.parent / "home"), "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY},
    )


async def two_tasks(session: Session) -> list[RunResult]:
    return [await session.run("What colour is the sea?"), await session.run("What else?")]


async def recorded(made: Path, protocol: str) -> tuple[list[RunResult], list[Any]]:
    """Run it once for real; the recording is then ``tapes/house.jsonl``."""
    async with FakeUpstream(upstream_script(made)) as upstream:
        url = upstream.url if protocol == "anthropic" else f"{upstream.url}/v1"
        house = {"base_url": url, "key_env": "OPENAI_API_KEY", "probe": False}
        house |= {"kind": "anthropic"} if protocol == "anthropic" else {"api": protocol}
        models = {"providers": {"house": house}, "record_to": "tapes"}
        async with engine(made, "house/m", models=models) as works:
            session = await works.session()
            results = await two_tasks(session)
            log = await log_of(session)
    assert list(broken(log)) == []
    assert len(upstream.requests) == 5
    return results, events_of(log)


def moved(made: Path, folder: Path) -> Path:
    """The same project somewhere else, with its recording."""
    other = project(folder)
    shutil.move(made / "tapes", other / "tapes")
    shutil.rmtree(made)
    return other


def story(events: list[Any], made: Path) -> list[Any]:
    """What happened, without ids and times, the name of the folder, and which of two calls was over first."""
    told: list[Any] = []
    for event in events:
        if isinstance(event, CallEnded):
            told.append((event.tool, event.state, str(event.content)))
        elif isinstance(event, ModelAnswered):
            told.append((event.stop, event.blocks, event.usage))
        elif isinstance(event, ModelFailed):
            told.append((event.code, event.attempt))
    return sorted(repr(one).replace(str(made), "<project>") for one in told)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_recorded_run_is_the_same_story_in_another_folder(tmp_path: Path, protocol: str) -> None:
    with anyio.fail_after(WITHIN):
        made = project(tmp_path / "first")
        results, events = await recorded(made, protocol)
        assert [result.end for result in results] == ["done", "done"]
        before = story(events, made)
        other = moved(made, tmp_path / "second")
        for _ in range(2):  # a recording can be played as often as one likes
            async with engine(other, "cassette/tapes/house.jsonl") as works:
                session = await works.session()
                again = await two_tasks(session)
                log = await log_of(session)
            assert list(broken(log)) == []
            assert [(r.end, r.calls, r.usage) for r in again] == [(r.end, r.calls, r.usage) for r in results]
            hidden = [one.replace(KEY, "[redacted]") for one in before]
            assert story(events_of(log), other) == hidden
            assert any(f"{other}/note.txt" in repr(event) for event in events_of(log))


async def test_a_recording_holds_no_secret_no_folder_and_no_session(tmp_path: Path) -> None:
    with anyio.fail_after(WITHIN):
        made = project(tmp_path / "first")
        await recorded(made, "anthropic")
    tape = (made / "tapes/house.jsonl").read_text()
    assert KEY not in tape
    assert str(made) not in tape
    assert "session_" not in tape
    assert "⟦project⟧/note.txt" in tape


async def test_a_run_that_goes_another_way_says_where(tmp_path: Path) -> None:
    with anyio.fail_after(WITHIN):
        made = project(tmp_path / "first")
        await recorded(made, "anthropic")
        (made / "note.txt").write_text("The sea is green.\n")
        async with engine(made, "cassette/tapes/house.jsonl") as works:
            session = await works.session()
            result = await session.run("What colour is the sea?")
    assert (result.end, result.calls) == ("failed", 2)
    assert "no recorded request" in result.message
    assert "blue" in result.message
    assert "green" in result.message


async def test_by_order_a_run_may_go_another_way(tmp_path: Path) -> None:
    with anyio.fail_after(WITHIN):
        made = project(tmp_path / "first")
        await recorded(made, "anthropic")
        (made / "note.txt").write_text("The sea is green.\n")
        async with engine(made, "cassette/tapes/house.jsonl", models={"replay": "order"}) as works:
            result = await works.run("Any colour?")
    assert result.ok
    assert "the sea is blue" in result.text


# --- from the command line -------------------------------------------------------------------


def command(made: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolwright", "run", *words, "--dir", str(made), "--no-input"],
        env={"HOME": str(made.parent / "home"), "PATH": os.environ["PATH"], **environ},
        capture_output=True,
        text=True,
        timeout=PROGRAM_WITHIN,
        check=False,
    )


@pytest.mark.slow
async def test_a_task_is_recorded_and_played_again_from_the_command_line(tmp_path: Path) -> None:
    made = project(tmp_path)
    async with FakeUpstream(upstream_script(made)) as upstream:
        environ = {
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": upstream.url,
            "TOOLWRIGHT_RECORD_TO": "tapes",
        }
        task = ("What colour is the sea?", "--model", "anthropic")
        first = await anyio.to_thread.run_sync(lambda: command(made, *task, **environ))
    assert first.returncode == 0, first.stderr
    assert "It says that the sea is blue." in first.stdout
    assert len(upstream.requests) == 4
    again = await anyio.to_thread.run_sync(
        lambda: command(made, task[0], "--model", "cassette/tapes/anthropic.jsonl")
    )
    assert again.returncode == 0, again.stderr
    assert again.stdout == first.stdout.replace(KEY, "[redacted]")


@pytest.mark.slow
def test_a_script_is_played_from_the_command_line(tmp_path: Path) -> None:
    made = project(tmp_path)
    answers = [[{"call": "read", "input": {"file_path": "note.txt"}}], "It is blue."]
    (made / "talk.json").write_text(json.dumps(answers))
    done = command(made, "What colour is the sea?", "--model", "scripted/talk.json")
    assert (done.returncode, done.stdout.strip()) == (0, "It is blue."), done.stderr
    assert "The sea is blue." in done.stderr
    empty = command(made, "And now?", "--model", "scripted/none.json")
    assert empty.returncode == 2
    assert "none.json cannot be read: No such file or directory" in empty.stderr
