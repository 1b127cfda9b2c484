"""The examples for the official client run as written, each against a server with a scripted model."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.journeys.casts import Cast
from tests.journeys.managed.conftest import KEY, serving
from tests.journeys.managed.test_environments import little_server
from tests.servers.serving import http_server

from toolwright.testing import ScriptedModel, call

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
EXAMPLES = Path(__file__).parents[3] / "examples" / "managed"
VISITS = "/mnt/session/uploads/visits.csv"
ADD = "awk -F, 'NR > 1 { sum += $2 } END { print sum }'"
WRITE = call("write", file_path="notes.txt", content="known")
SCRIPTS: dict[str, Any] = {
    "01_agent.py": [[call("glob", pattern="*")], "There are none."],
    "02_two_tools_off.py": [],
    "03_only_these.py": [],
    "04_confirm.py": [[call("write", file_path="elsewhere.txt", content="known")], [WRITE], "It is written."],
    "05_custom_tool.py": [[call("weigh", thing="feather")], [call("weigh", thing="stone")], "3 kg it is."],
    "07_mcp_with_vault.py": [[call("mcp__little__echo", text="hello")], "It is there."],
    "08_words_as_they_come.py": ScriptedModel(["The sea is wide."], piece=8),
    "09_coordinator.py": Cast(
        {
            "Have the notes": [
                [call("send_to_agent", agent_name="Digger", message="Read the notes.")],
                "Wait.",
                "Gold it is.",
            ],
            "Read the notes": ["There is gold."],
        }
    ),
}
SCRIPTS["06_files.py"] = [
    [call("bash", command=f"{ADD} {VISITS} > /mnt/session/outputs/sum.txt")],
    "There were 8 visits.",
]
PRINTED = {
    "01_agent.py": "[glob]\nThere are none.\n",
    "04_confirm.py": "It is written.\n",
    "05_custom_tool.py": "3 kg it is.\n",
    "07_mcp_with_vault.py": "[little: echo]\nIt is there.\n",
    "08_words_as_they_come.py": "The sea |is wide.|\n",
    "09_coordinator.py": "Wait.\n[Digger: There is gold.]\nGold it is.\nidle True\nidle False\n",
    "06_files.py": "There were 8 visits.\nsum.txt 2\n8\n\n",
}


async def printed(script: str, address: str, **more: str) -> str:
    environ = {
        "PATH": os.environ["PATH"],
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": KEY,
        **more,
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
    async with (
        http_server(little_server()) as url,
        serving(tmp_path, SCRIPTS[script], TOOLWRIGHT_EGRESS_ALLOW="127.0.0.0/8") as server,
    ):
        said = await printed(script, server.address, MCP_URL=url, MCP_TOKEN="a-token-for-tests")
    if script in PRINTED:
        assert said == PRINTED[script]
    else:
        [toolset] = json.loads(said)["tools"]
        off = [one["name"] for one in toolset["configs"] if not one["enabled"]]
        on = [one["name"] for one in toolset["configs"] if one["enabled"]]
        default = toolset["default_config"]["enabled"]
        assert (off, on, default) in [(["web_fetch", "web_search"], [], True), ([], ["read", "grep"], False)]
