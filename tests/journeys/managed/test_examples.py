"""The examples for the official client run as written, each against a server with a scripted model."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.journeys.managed.conftest import KEY, serving

from toolwright.testing import call

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
EXAMPLES = Path(__file__).parents[3] / "examples" / "managed"
VISITS = "/mnt/session/uploads/visits.csv"
ADD = "awk -F, 'NR > 1 { sum += $2 } END { print sum }'"
WRITE = call("write", file_path="notes.txt", content="known")
SCRIPTS: dict[str, list[Any]] = {
    "01_agent.py": [[call("glob", pattern="*")], "There are none."],
    "02_two_tools_off.py": [],
    "03_only_these.py": [],
    "04_confirm.py": [[call("write", file_path="elsewhere.txt", content="known")], [WRITE], "It is written."],
    "05_custom_tool.py": [[call("weigh", thing="feather")], [call("weigh", thing="stone")], "3 kg it is."],
}
SCRIPTS["06_files.py"] = [
    [call("bash", command=f"{ADD} {VISITS} > /mnt/session/outputs/sum.txt")],
    "There were 8 visits.",
]
PRINTED = {
    "01_agent.py": "[glob]\nThere are none.\n",
    "04_confirm.py": "It is written.\n",
    "05_custom_tool.py": "3 kg it is.\n",
    "06_files.py": "There were 8 visits.\nsum.txt 2\n8\n\n",
}


async def printed(script: str, address: str) -> str:
    environ = {
        "PATH": os.environ["PATH"],
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": KEY,
    }
    running = await asyncio.create_subprocess_exec(
        sys.executable,
        str(EXAMPLES / script),
        env=environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        said, complained = await running.communicate()
    assert running.returncode == 0, complained.decode()
    return said.decode()


def test_every_example_has_a_script() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SCRIPTS)


@pytest.mark.parametrize("script", sorted(SCRIPTS))
async def test_an_example_does_what_it_says(tmp_path: Path, script: str) -> None:
    async with serving(tmp_path, SCRIPTS[script]) as server:
        said = await printed(script, server.address)
    if script in PRINTED:
        assert said == PRINTED[script]
    else:
        [toolset] = json.loads(said)["tools"]
        off = [one["name"] for one in toolset["configs"] if not one["enabled"]]
        on = [one["name"] for one in toolset["configs"] if one["enabled"]]
        default = toolset["default_config"]["enabled"]
        assert (off, on, default) in [(["web_fetch", "web_search"], [], True), ([], ["read", "grep"], False)]
