"""A program in a real sandbox reaches what its access names, through the filtering proxy and not else."""

import asyncio
from pathlib import Path

import pytest

from toolwright.backends.egress.proxy import FilteringProxy
from toolwright.backends.sandboxes.bubblewrap.sandbox import BubblewrapSandbox
from toolwright.contracts.network import NetworkAccess
from toolwright.contracts.ports import Command
from toolwright.workspaces.network import NetworkGate

pytestmark = [pytest.mark.anyio, pytest.mark.sandbox, pytest.mark.slow]

PROGRAM = """
import sys, urllib.error, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())
except urllib.error.HTTPError as refused:
    print(refused.code, refused.read().decode())
except OSError:
    print("no network")
"""

CASES = [
    ("http://127.0.0.1:{port}/", NetworkAccess("public"), "hello"),
    ("http://127.0.0.1:{port}/", NetworkAccess("hosts", ("127.0.0.1",)), "hello"),
    ("http://127.0.0.1:{port}/", NetworkAccess("hosts", ("example.com",)), "(rule host-not-allowed)"),
    ("http://127.0.0.1:{port}/", NetworkAccess("none"), "no network"),
    ("http://169.254.169.254/latest/meta-data/", NetworkAccess("public"), "(rule private-address)"),
    ("http://[::1]:{port}/", NetworkAccess("public"), "(rule private-address)"),
    ("http://0x7f.1:{port}/", NetworkAccess("public"), "(rule url-numeric-host)"),
]


async def test_a_sandboxed_program_gets_out_through_the_gate_only(tmp_path: Path) -> None:
    connections = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    gate = NetworkGate.opening(["127.0.0.0/8"])
    sandbox = BubblewrapSandbox(open_proxy=FilteringProxy(gate).open)
    if not (await sandbox.report()).works:
        pytest.skip("bubblewrap does not work here")
    said = []
    for url, network, _ in CASES:
        argv = ("/usr/bin/python3", "-c", PROGRAM, url.format(port=port))
        folder = str(tmp_path)
        command = Command(
            argv=argv, cwd=folder, env={"PATH": "/usr/bin:/bin"}, network=network, writable=(folder,)
        )
        process = await sandbox.start(command)
        async with asyncio.timeout(30):
            await process.wait()
        said.append(process.output().decode())
    wrong = [text for (_, _, expected), text in zip(CASES, said, strict=True) if expected not in text]
    assert wrong == []
    assert len(connections) == 2
    await sandbox.close()
    server.close()
