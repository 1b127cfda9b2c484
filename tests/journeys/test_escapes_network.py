"""The network: a model that wants to reach this machine, its neighbours, or somebody nobody allowed."""

import asyncio
import json
import shlex
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from toolwright import Failed, Toolbox, tool
from toolwright.contracts.content import text_of

pytestmark = pytest.mark.anyio


@dataclass
class Canary:
    """Listens on loopback, answers with ``answer``, and remembers everybody who came."""

    port: int = 0
    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nContent-Type: text/plain\r\n\r\ncanary"
    seen: list[bytes] = field(default_factory=list)

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                self.seen.append(client.recv(10_000))
                client.sendall(self.answer)


@pytest.fixture
def canary() -> Iterator[Canary]:
    bird = Canary()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        bird.port = listener.getsockname()[1]
        thread = threading.Thread(target=bird.serve, args=(listener,), daemon=True)
        thread.start()
        yield bird
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def box(workspace: Path, **network: Any) -> Toolbox:
    settings = {"features": {"http_tool": True}, "network": network}
    tools = ["web_fetch", "http_request"]
    return Toolbox(tools, workspace=str(workspace), allow=tools, settings=settings)


HOSTS = [
    "127.0.0.1", "localhost", "LOCALHOST.", "a.localhost", "127.1", "127.0.1", "0", "0.0.0.0", "2130706433",
    "0x7f000001", "0x7f.1", "0x7f.0.0.1", "017700000001", "0177.0.0.1", "[::1]", "[::]", "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1%25lo]",
    "127\u30020\u30020\u30021", "\u2460\u2461\u2466.0.0.1", "\u24dbocalhost", "user:pw@127.0.0.1",
    "127.0.0.1%2f", "127.0.0.1\\@example.com", "127.0.0.1\t", "127.0.0.1#@example.com",
]  # fmt: skip
ELSEWHERE = [
    "http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://0xa9fea9fe/", "http://10.0.0.1/",
    "http://172.16.0.1/", "http://192.168.1.1/", "http://100.64.0.1/", "http://224.0.0.1/",
    "http://[fd00:ec2::254]/", "http://[fe80::1]/", "http://[ff02::1]/", "file:///etc/hostname",
    "gopher://127.0.0.1/", "ftp://127.0.0.1/", "unix:/run/docker.sock", "http:///x", "http://",
    "//127.0.0.1/", "http://example.com\r\nHost: 127.0.0.1/", "http://exam ple.com/", "http://example.com:0/",
    "http://a:1:2/",
]  # fmt: skip


async def test_no_spelling_reaches_this_machine(tmp_path: Path, canary: Canary) -> None:
    urls = [*(f"http://{host}:{canary.port}/" for host in HOSTS), *ELSEWHERE]
    async with box(tmp_path) as attacker:
        results = [
            (url, await attacker.call(name, {"url": url}))
            for url in urls
            for name in ("web_fetch", "http_request")
        ]

    assert [url for url, result in results if not isinstance(result.outcome, Failed)] == []
    assert not any("127.0.0.1 " in text_of(result.content) for _, result in results)
    assert canary.seen == []


async def test_where_it_is_opened_the_canary_sings(tmp_path: Path, canary: Canary) -> None:
    async with box(tmp_path, allow_private=["127.0.0.0/8"]) as operator:
        result = await operator.call("http_request", {"url": f"http://127.0.0.1:{canary.port}/"})

    assert "canary" in text_of(result.content)
    assert len(canary.seen) == 1


@pytest.mark.parametrize(
    "target",
    ["http://127.0.0.2:{port}/", "http://[::1]:{port}/", "http://169.254.169.254/", "file:///etc/hostname"],
)
async def test_a_redirect_leads_nowhere_it_may_not_be_asked_to(
    tmp_path: Path, canary: Canary, target: str
) -> None:
    location = target.format(port=canary.port)
    canary.answer = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()
    async with box(tmp_path, allow_private=["127.0.0.1/32"]) as attacker:
        for name in ("web_fetch", "http_request"):
            await attacker.call(name, {"url": f"http://127.0.0.1:{canary.port}/"})

    assert len(canary.seen) <= 2


@pytest.mark.parametrize(
    "attack",
    [
        {"headers": {"X\r\nY": "z"}},
        {"headers": {"X": "z\r\nEvil: 1"}},
        {"headers": {"X": "z\n"}},
        {"headers": {"X\0": "z"}},
        {"headers": {"Host": "internal"}},
        {"headers": {"hOsT": "internal"}},
        {"headers": {"Transfer-Encoding": "chunked"}},
        {"headers": {"Content-Length": "0"}},
        {"headers": {"Connection": "upgrade"}},
        {"method": "GET / HTTP/1.1\r\nX: y"},
        {"method": "CONNECT"},
    ],
)
async def test_a_request_holds_nothing_that_ends_a_line(
    tmp_path: Path, canary: Canary, attack: dict[str, Any]
) -> None:
    async with box(tmp_path, allow_private=["127.0.0.0/8"]) as attacker:
        url = f"http://127.0.0.1:{canary.port}/"
        refused = await attacker.call("http_request", {"url": url, **attack})
        control = await attacker.call("http_request", {"url": url, "headers": {"X-Own": "fine"}})

    assert isinstance(refused.outcome, Failed)
    assert not control.is_error
    assert [b"x-own: fine" in head.lower() for head in canary.seen] == [True]


async def test_a_bomb_is_bounded(tmp_path: Path, canary: Canary) -> None:
    import gzip

    packed = gzip.compress(b"\0" * 50_000_000)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
    canary.answer = head.encode() + packed
    async with box(tmp_path, allow_private=["127.0.0.0/8"]) as attacker:
        result = await attacker.call("http_request", {"url": f"http://127.0.0.1:{canary.port}/"})

    assert len(text_of(result.content)) < 120_000


async def test_a_hook_goes_through_the_same_gate(canary: Canary) -> None:
    @tool(read_only=True)
    def say(text: str) -> str:
        """Say it."""
        return text

    hook = {"type": "http", "url": f"http://127.0.0.1:{canary.port}/"}
    hooks = {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}
    async with Toolbox([say], settings={"hooks": hooks}) as shut:
        await shut.call("say", {"text": "hi"})
    assert canary.seen == []

    opened = {"hooks": hooks, "network": {"allow_private": ["127.0.0.0/8"]}}
    async with Toolbox([say], settings=opened) as operator:
        await operator.call("say", {"text": "hi"})
    assert len(canary.seen) == 1


PROXY = "127.0.0.1:3128"
BYPASSES = {
    "host header": "GET http://denied.example/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n",
    "absolute target": "GET http://127.0.0.2:{port}/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "tunnel": "CONNECT 127.0.0.2:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n",
    "suffix": "CONNECT 127.0.0.1.evil.example:{port} HTTP/1.1\r\n\r\n",
    "number": "CONNECT 2130706433:{port} HTTP/1.1\r\n\r\n",
    "short": "CONNECT 127.1:{port} HTTP/1.1\r\n\r\n",
    "version six": "CONNECT [::ffff:127.0.0.1]:{port} HTTP/1.1\r\n\r\n",
    "userinfo": "CONNECT 127.0.0.1@127.0.0.2:{port} HTTP/1.1\r\n\r\n",
    "two hosts": "GET http://127.0.0.2:{port}/ HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n\r\n",
    "line feed": "CONNECT 127.0.0.1:{port}\n HTTP/1.1\r\nX: 127.0.0.2\r\n\r\n",
}
SPEAK = """
import socket, sys, json
for name, text in json.loads(sys.argv[1]).items():
    with socket.create_connection(("127.0.0.1", 3128), 10) as gate:
        gate.sendall(text.encode())
        print(name, gate.recv(100).split(b" ")[1:2])
"""


@pytest.mark.sandbox
@pytest.mark.slow
async def test_the_proxy_of_a_sandbox_lets_nobody_past_its_list(tmp_path: Path, canary: Canary) -> None:
    settings = {
        "sandbox": {"allowed_hosts": ["127.0.0.1"]},
        "network": {"allow_private": ["127.0.0.0/8"]},
    }
    attacks = {name: text.format(port=canary.port) for name, text in BYPASSES.items()}
    command = f"python3 -c {shlex.quote(SPEAK)} {shlex.quote(json.dumps(attacks))}"
    direct = f"curl -s http://127.0.0.1:{canary.port}/ || true"
    async with Toolbox(["bash"], workspace=str(tmp_path), allow=["bash"], settings=settings) as attacker:
        async with asyncio.timeout(60):
            lines = text_of((await attacker.call("bash", {"command": command})).content).splitlines()
        assert canary.seen == [], lines
        await attacker.call("bash", {"command": direct})

    assert [line for line in lines if "b'200'" in line] == []
    assert len(lines) == len(BYPASSES)
    assert len(canary.seen) == 1
