"""The same task with other libraries, each in a throw-away environment of its own, and with ourselves.

python -m bench.peers [TURNS [ROUNDS [FOLDER]]]

Installs the peers from the package index that pip is set to; with FOLDER what was installed is used again.
One that cannot be installed is named. Nothing a peer does while it is measured can leave the loopback.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.measuring import MICRO, Stamps, Turns, conditions
from bench.upstream import started

PEERS: Mapping[str, Sequence[str]] = {
    "agno": ("agno", "openai"),
    "agent_framework": ("agent-framework-core", "agent-framework-openai"),
    "pydantic_ai": ("pydantic-ai-slim[openai]",),
    "langchain": ("langchain", "langchain-openai"),
    "openai_agents": ("openai-agents",),
}
NOWHERE = "http://127.0.0.1:9"
QUIET = {
    "AGNO_TELEMETRY": "false",
    "LANGSMITH_TRACING": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
    "HTTP_PROXY": NOWHERE,
    "HTTPS_PROXY": NOWHERE,
    "NO_PROXY": "127.0.0.1",
}


def installed(folder: Path, peer: str, packages: Sequence[str]) -> str:
    """Return the Python that has a peer; nothing when it cannot be installed."""
    place = folder / peer
    python = str(place / "bin" / "python")
    if (place / "ready").exists():
        return python
    for command in (
        [sys.executable, "-m", "venv", str(place)],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{peer} is absent: {(done.stderr.strip().splitlines() or ['it cannot be installed'])[-1]}")
            return ""
    (place / "ready").touch()
    return python


async def measured(python: str, peer: str, *asked: str) -> tuple[str, Turns] | None:
    """Run an adapter; None when it fails."""
    with tempfile.TemporaryDirectory() as home:
        process = await asyncio.create_subprocess_exec(
            *(python, "-m", f"bench.peers.{peer}_peer", *asked),
            env={"PATH": os.environ["PATH"], "HOME": home, **QUIET},
            cwd=Path(__file__).parents[2],
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, error = await process.communicate()
    if process.returncode:
        print(f"{peer} cannot be measured: {error.decode().strip().splitlines()[-1]}")
        return None
    said: dict[str, Any] = json.loads(out.splitlines()[-1])
    return said["version"], Turns([Stamps(at) for at in said["rounds"]])


async def compare(pythons: Mapping[str, str], turns: int, rounds: int) -> None:
    print(f"{'':32}{'in memory':>12}{'last/first':>12}{'over HTTP':>12}{'last/first':>12}")
    async with started(turns) as url:
        for peer, python in pythons.items():
            memory = await measured(python, peer, "memory", str(turns), str(rounds))
            http = await measured(python, peer, "http", str(turns), str(max(rounds // 2, 1)), url)
            if memory is None or http is None:
                continue
            version, of = memory
            print(
                f"{peer + ' ' + version:32}{of.seconds * MICRO:9.0f} us{of.growth:12.2f}"
                f"{http[1].seconds * 1000:9.2f} ms{http[1].growth:12.2f}"
            )


def main(turns: str = "200", rounds: str = "6", folder: str = "") -> None:
    with tempfile.TemporaryDirectory() as throw_away:
        place = Path(folder or throw_away).absolute()
        pythons = {peer: installed(place, peer, packages) for peer, packages in PEERS.items()}
        there = {"toolwright": sys.executable, **{peer: python for peer, python in pythons.items() if python}}
        asyncio.run(compare(there, int(turns), int(rounds)))
    print(f"a turn of {turns}, least of {rounds} rounds, half as many over HTTP, {conditions()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
