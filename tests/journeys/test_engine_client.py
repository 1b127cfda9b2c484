"""The client against ``toolwright serve``: real lines, cut at many places, and every event once."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.servers.cutting import cut_lines

from toolwright.client import EngineClient, EngineRefused

pytestmark = pytest.mark.anyio
KEY = "a-key-for-these-tests"
WITHIN = 240
LOOK = [{"call": "read_file", "input": {"path": "none.txt"}}]
SESSION = re.compile("sesn_[0-9a-f]+")
"""In the name of a task's workspace."""
ANSWER = "It is not there. " * 8
FRAME = {"task_id", "turn_id", "timestamp", "ts", "seq", "tool_call_id", "message_id", "assistant_message_id"}


@asynccontextmanager
async def served(folder: Path, answers: Iterable[Any]) -> AsyncIterator[str]:
    """Serve with a model that plays a script; yields the address. Skips where this API is not served."""
    (folder / "script.json").write_text(json.dumps(list(answers)))
    (folder / "cwd").mkdir()
    words = [
        "serve",
        "--port",
        "0",
        "--data",
        str(folder / "data"),
        "--model",
        f"scripted/{folder}/script.json",
    ]
    environ = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"], "ENGINE_API_KEY": KEY}
    started = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "toolwright", *words),
        env=environ,
        cwd=folder / "cwd",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        address = await address_said(started)
        assert await anyio.to_thread.run_sync(lambda: speaks_engine(address))
        yield address
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()


async def address_said(started: asyncio.subprocess.Process) -> str:
    assert started.stderr is not None
    said = b""
    while line := await started.stderr.readline():
        said += line
        if b" serves at " in line:
            return line.split(b" serves at ")[1].split(b",")[0].strip().decode()
    raise AssertionError(f"the server ended before it served: {said.decode()}")


def speaks_engine(address: str) -> bool:
    with EngineClient(address, KEY) as engine:
        try:
            engine.pending()
        except EngineRefused:
            return False
    return True


def story(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was told, without ids and times, and with the words of a block in one piece."""
    told: list[dict[str, Any]] = []
    for event in events:
        plain = {name: value for name, value in event.items() if name not in FRAME}
        if told and plain["type"] == told[-1]["type"] == "text_delta":
            told[-1]["text"] += plain["text"]
        else:
            told.append(json.loads(SESSION.sub("sesn", json.dumps(plain))))
    return told


async def turn(address: str, task_id: str) -> list[dict[str, Any]]:
    with EngineClient(address, KEY) as engine:
        return [event async for event in engine.aexecute("Look", task_id=task_id)]


async def test_a_turn_is_told_once_wherever_its_line_breaks(tmp_path: Path) -> None:
    with anyio.fail_after(WITHIN):
        async with served(tmp_path, [LOOK, ANSWER] * 200) as address:
            whole = await turn(address, "whole")
            assert "".join(event.get("text", "") for event in whole) == ANSWER
            assert [event["tool"] for event in whole if event["type"] == "tool_call"] == ["read_file"]
            for place in range(300, 5_000, 400):
                async with cut_lines(address, [place, 700, None]) as cut:
                    events = await turn(cut, f"cut {place}")
                assert story(events) == story(whole), place
                stamps = [event["ts"] for event in events]
                assert stamps == sorted(set(stamps))


async def test_the_verbs_of_the_client_are_those_of_the_server(tmp_path: Path) -> None:
    def talk(address: str) -> None:
        with EngineClient(address, KEY) as engine:
            assert engine.health()["status"] == "ok"
            assert engine.pending() == []
            response = engine.execute("Look", task_id="t")
            assert response[-1]["phase"] == "completed"
            assert response.text == ANSWER
            assert story(engine.replay(task_id="t")) == story(response)
            assert len(engine.replay(response[-2]["ts"], task_id="t")) == 1
            assert engine.reload_catalog()["status"] == "reloaded"
            with pytest.raises(EngineRefused, match="METHOD_NOT_FOUND"):
                engine.rpc("tool.nothing_of_this_name")
            with pytest.raises(EngineRefused, match="TASK_NOT_FOUND"):
                engine.replay(task_id="nobody")
        with EngineClient(address, "wrong") as engine, pytest.raises(EngineRefused, match="INVALID_KEY"):
            engine.execute("Look", task_id="t")

    with anyio.fail_after(WITHIN):
        async with served(tmp_path, [LOOK, ANSWER]) as address:
            await anyio.to_thread.run_sync(lambda: talk(address))
