"""The clients in examples/engine run as written, each against a server with a scripted model."""

import asyncio
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from toolwright.testing import call

from .conftest import KEY, serving

pytestmark = pytest.mark.anyio
EXAMPLES = Path(__file__).parents[3] / "examples" / "engine"
LOOK: list[Any] = [call("find"), "There are none."]
SCRIPTS: dict[str, list[Any]] = {
    "execute.py": LOOK,
    "resume.py": LOOK,
    "confirm.py": [call("bash", command="shred --help"), "It is done."],
    "execute.mjs": LOOK,
    "execute.sh": LOOK,
}
PRINTED = {
    "execute.py": "[find]\nThere are none.\n",
    "resume.py": "left\nThere are none.\n",
    "confirm.py": "May bash run? shred destroys files for good\nresumed\nIt is done.\n",
    "execute.mjs": "[find]\nThere are none.\n",
}
RUN_BY = {".py": sys.executable, ".mjs": "node", ".sh": "bash"}


def test_every_example_has_a_script() -> None:
    assert {path.name for path in EXAMPLES.iterdir() if path.suffix in RUN_BY} == set(SCRIPTS)


@pytest.mark.parametrize("script", sorted(SCRIPTS))
async def test_an_example_does_what_it_says(tmp_path: Path, script: str) -> None:
    program = RUN_BY[Path(script).suffix]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    async with serving(tmp_path, SCRIPTS[script]) as server:
        environ = {"PATH": os.environ["PATH"], "ENGINE_URL": server.address, "ENGINE_KEY": KEY}
        running = await asyncio.create_subprocess_exec(
            program,
            str(EXAMPLES / script),
            env=environ,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        said, complained = await running.communicate()
    assert running.returncode == 0, complained.decode()
    if script in PRINTED:
        assert said.decode() == PRINTED[script]
    else:
        assert said.decode().count("\n\n") == said.decode().count("data: ")
        assert said.decode().rstrip().endswith("}")
