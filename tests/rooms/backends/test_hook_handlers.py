"""Hook handlers outside this process: real programs, a real server."""

import os
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest

from toolwright.backends.hook_handlers.command import MOST_OUTPUT, command_transport, scrubbed
from toolwright.backends.hook_handlers.http import http_transport
from toolwright.contracts.errors import SettingsError, ToolFailure
from toolwright.contracts.hooks import Hook, HookInput, HookReply, HookTransport, HookVerdict
from toolwright.contracts.network import NetworkAccess, WebRequest, WebResponse
from toolwright.tool_calls.hooks.config import parse_hooks
from toolwright.tool_calls.hooks.runner import Hooks

pytestmark = pytest.mark.anyio

ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/home/me", "ANTHROPIC_API_KEY": "sk-ant-1", "LANG": "C.UTF-8"}


def told(cwd: Path, **payload: Any) -> HookInput:
    return HookInput(
        event="PreToolUse",
        session_id="s",
        cwd=str(cwd),
        permission_mode="default",
        tool="bash",
        payload=payload,
    )


def command(command_line: str, **settings: Any) -> HookTransport:
    return command_transport({"command": command_line, **settings}, environ=ENVIRON, project_dir="/project")


async def reply_of(cwd: Path, transport: HookTransport, body: bytes = b"{}") -> HookReply:
    with anyio.fail_after(20):
        return await transport(told(cwd), body)


# --- programs -------------------------------------------------------------------------------


async def test_a_program_reads_the_event_and_answers(tmp_path: Path) -> None:
    reply = await reply_of(tmp_path, command("cat; echo oops >&2; exit 3"), b'{"a": 1}')

    assert reply == HookReply(exit_code=3, stdout='{"a": 1}', stderr="oops\n")


async def test_a_program_starts_in_the_working_directory_with_the_project_named(tmp_path: Path) -> None:
    reply = await reply_of(tmp_path, command('pwd; echo "$TOOLWRIGHT_PROJECT_DIR"'))

    assert reply.stdout == f"{tmp_path}\n/project\n"


async def test_credentials_are_not_in_its_environment_but_what_was_written_for_it_is(tmp_path: Path) -> None:
    reply = await reply_of(tmp_path, command("env", env={"MY_TOKEN": "given", "HOME": "/other"}))

    env = dict(line.split("=", 1) for line in reply.stdout.splitlines())
    assert "ANTHROPIC_API_KEY" not in env
    assert (env["MY_TOKEN"], env["HOME"]) == ("given", "/other")


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("OPENAI_API_KEY", False),
        ("AWS_SECRET_ACCESS_KEY", False),
        ("GITHUB_TOKEN", False),
        ("DB_PASSWORD", False),
        ("GOOGLE_APPLICATION_CREDENTIALS", False),
        ("NPM_CONFIG__AUTH", False),
        ("token", False),
        ("PATH", True),
        ("KEYBOARD", True),
        ("AUTHOR", True),
        ("MONKEY", True),
        ("SSH_AUTH_SOCK", True),
    ],
)
def test_names_of_credentials_are_known(name: str, kept: bool) -> None:
    assert (name in scrubbed({name: "x"})) is kept


async def test_a_program_leads_its_own_group_without_a_terminal(tmp_path: Path) -> None:
    reply = await reply_of(tmp_path, command("ps -o pid=,pgid=,tty= -p $$ || cat /proc/$$/stat"))

    numbers = reply.stdout.split()
    assert "?" in numbers or " 0 " in reply.stdout
    assert str(os.getpgrp()) not in numbers[:2]


async def test_with_args_no_shell_is_started(tmp_path: Path) -> None:
    reply = await reply_of(tmp_path, command("printf", args=["%s|", "$HOME; ls", "a b"]))

    assert reply.stdout == "$HOME; ls|a b|"


async def test_a_program_that_does_not_exist_is_a_problem(tmp_path: Path) -> None:
    reply = await reply_of(tmp_path, command("/no/such/program", args=[]))

    assert reply == HookReply(problem="could not be started: No such file or directory")


async def test_a_program_need_not_read_and_a_large_event_does_not_block_it(tmp_path: Path) -> None:
    reply = await reply_of(tmp_path, command("exit 0"), b"x" * 5_000_000)

    assert reply.exit_code == 0


async def test_output_is_capped_and_the_program_still_ends(tmp_path: Path) -> None:
    reply = await reply_of(tmp_path, command("head -c 3000000 /dev/zero; echo done >&2"))

    assert (reply.exit_code, len(reply.stdout), reply.stderr) == (0, MOST_OUTPUT, "done\n")


async def test_a_child_left_behind_does_not_hold_up_the_answer(tmp_path: Path) -> None:
    reply = await reply_of(tmp_path, command("sleep 300 & echo $!"))

    assert reply.exit_code == 0
    os.kill(int(reply.stdout), signal.SIGKILL)


async def test_giving_up_ends_the_whole_group(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    transport = command(f"trap '' TERM; sleep 300 & echo $$ $! > {pids}.new; mv {pids}.new {pids}; wait")

    async with anyio.create_task_group() as group:
        group.start_soon(reply_of, tmp_path, transport)
        with anyio.fail_after(20):
            while not pids.exists():
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()

    with anyio.fail_after(20):
        for pid in map(int, pids.read_text().split()):
            while _alive(pid):
                await anyio.sleep(0.01)


@pytest.mark.parametrize("steps", range(12))
async def test_giving_up_while_it_starts_leaves_nothing(tmp_path: Path, steps: int) -> None:
    """The program counts as started before its pipes are connected."""
    seconds = f"300.{os.getpid()}{steps}"

    async with anyio.create_task_group() as group:
        group.start_soon(reply_of, tmp_path, command(f"sleep {seconds} & sleep {seconds}; wait"))
        for _ in range(steps):
            await anyio.sleep(0)
        group.cancel_scope.cancel()

    with anyio.fail_after(20):
        while _running(seconds):
            await anyio.sleep(0.01)


def _running(argument: str) -> bool:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if argument.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                return True
        except (FileNotFoundError, ProcessLookupError):
            continue
    return False


def _alive(pid: int) -> bool:
    """A killed orphan may stay a zombie where nobody reaps: that is dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    "settings",
    [
        {"command": ""},
        {"command": 3},
        {"command": "x", "args": "y"},
        {"command": "x", "shell": "powershell"},
        {"command": "x", "env": {"A": 1}},
    ],
)
def test_settings_of_a_program_that_cannot_be_used(settings: Mapping[str, Any]) -> None:
    with pytest.raises(SettingsError):
        command_transport(settings, environ={}, project_dir="/")


@pytest.mark.parametrize(
    ("script", "verdict"),
    [
        ("exit 0", HookVerdict()),
        (
            "echo 'not with me' >&2; exit 2",
            HookVerdict(decision="deny", reason="not with me", label="script"),
        ),
        (
            """echo '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"hm"}}'""",
            HookVerdict(decision="ask", reason="hm", label="script"),
        ),
        ('grep -q \'"tool_use_id": "c9"\' && exit 2', HookVerdict(decision="deny", label="script")),
        ("echo broken >&2; exit 1", HookVerdict(problems=("script: broken",))),
        ("sleep 60", HookVerdict(problems=("script: gave no answer within 0.5 s",))),
    ],
)
async def test_a_whole_hook_from_settings_to_verdict(
    tmp_path: Path, script: str, verdict: HookVerdict
) -> None:
    (tmp_path / "script").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "script").chmod(0o755)
    written: dict[str, Any] = {
        "type": "command",
        "command": "script",
        "args": [],
        "timeout": 0.5 if "sleep" in script else 20,
    }
    section = {"PreToolUse": [{"hooks": [written]}]}
    environ = {**ENVIRON, "PATH": f"{tmp_path}:{ENVIRON['PATH']}"}

    hooks = parse_hooks(
        section,
        {"command": lambda settings: command_transport(settings, environ=environ, project_dir=str(tmp_path))},
    )

    assert await _runner(hooks).run(told(tmp_path, tool_use_id="c9")) == verdict


def _runner(hooks: tuple[Hook, ...]) -> Hooks:
    return Hooks(hooks, condition_matches=lambda *_: True)


# --- web services ---------------------------------------------------------------------------


class _Service(BaseHTTPRequestHandler):
    received: ClassVar[list[tuple[dict[str, str], bytes]]] = []
    answer: ClassVar[tuple[int, bytes]] = (200, b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.received.append(({name.lower(): value for name, value in self.headers.items()}, body))
        status, answer = self.answer
        self.send_response(status)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        return None


@contextmanager
def service(status: int, answer: bytes) -> Iterator[tuple[str, type[_Service]]]:
    handler = type("Service", (_Service,), {"received": [], "answer": (status, answer)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", handler
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class LoopbackEgress:
    """A gate that lets through to this machine only, and remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[WebRequest] = []

    async def send(self, request: WebRequest) -> WebResponse:
        self.requests.append(request)
        if not request.url.startswith("http://127.0.0.1:"):
            raise ToolFailure("permission_denied", "the host is not allowed")
        return await anyio.to_thread.run_sync(self._send, request)

    def _send(self, request: WebRequest) -> WebResponse:
        outgoing = urllib.request.Request(
            request.url, data=request.body, headers=dict(request.headers), method=request.method
        )
        try:
            with urllib.request.urlopen(outgoing, timeout=request.timeout) as answer:
                return WebResponse(url=request.url, status=answer.status, headers={}, body=answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return WebResponse(url=request.url, status=error.code, headers={}, body=b"")
        except OSError as error:
            raise ToolFailure("network_error", "connection refused") from error

    async def close(self) -> None:
        return None


async def test_a_service_is_posted_the_event_and_answers_in_json(tmp_path: Path) -> None:
    answer = b'{"hookSpecificOutput": {"permissionDecision": "deny"}}'
    egress = LoopbackEgress()
    with service(200, answer) as (url, handler):
        settings = {
            "url": url,
            "headers": {"Authorization": "Bearer ${HOOK_TOKEN}", "X-Other": "$ANTHROPIC_API_KEY."},
            "allowedEnvVars": ["HOOK_TOKEN"],
        }
        transport = http_transport(settings, egress=egress, environ={**ENVIRON, "HOOK_TOKEN": "t0k"})
        reply = await reply_of(tmp_path, transport, b'{"a": 1}')

    assert reply == HookReply(stdout=answer.decode())
    ((headers, body),) = handler.received
    assert body == b'{"a": 1}'
    assert (headers["content-type"], headers["authorization"], headers["x-other"]) == (
        "application/json",
        "Bearer t0k",
        ".",
    )
    (request,) = egress.requests
    assert (request.max_redirects, request.upgrade, request.access) == (
        0,
        False,
        NetworkAccess("hosts", ("127.0.0.1",)),
    )


@pytest.mark.parametrize(
    ("status", "answer", "verdict"),
    [
        (200, b"", HookVerdict()),
        (204, b"", HookVerdict()),
        (200, b"fine", HookVerdict()),
        (
            200,
            b'{"decision": "block", "reason": "no"}',
            HookVerdict(decision="deny", reason="no", label="URL"),
        ),
        (404, b'{"decision": "block"}', HookVerdict(problems=("URL: answered with HTTP status 404",))),
        (500, b"", HookVerdict(problems=("URL: answered with HTTP status 500",))),
    ],
)
async def test_what_a_service_answers(
    tmp_path: Path, status: int, answer: bytes, verdict: HookVerdict
) -> None:
    with service(status, answer) as (url, _):
        hooks = parse_hooks(
            {"PreToolUse": [{"hooks": [{"type": "http", "url": url, "timeout": 20}]}]},
            {"http": lambda settings: http_transport(settings, egress=LoopbackEgress(), environ={})},
        )
        said = await _runner(hooks).run(told(tmp_path))

    assert _named(said, url) == verdict


def _named(verdict: HookVerdict, url: str) -> HookVerdict:
    return replace(
        verdict,
        label=verdict.label.replace(url, "URL"),
        problems=tuple(problem.replace(url, "URL") for problem in verdict.problems),
    )


async def test_a_service_that_cannot_be_reached_is_a_problem(tmp_path: Path) -> None:
    with service(200, b"") as (url, _):
        pass
    gone = http_transport({"url": url}, egress=LoopbackEgress(), environ={})
    forbidden = http_transport({"url": "http://192.0.2.1/"}, egress=LoopbackEgress(), environ={})

    assert await reply_of(tmp_path, gone) == HookReply(
        problem="PreToolUse could not be sent: connection refused"
    )
    assert await reply_of(tmp_path, forbidden) == HookReply(
        problem="PreToolUse could not be sent: the host is not allowed"
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"url": "ftp://x/"},
        {"url": "nonsense"},
        {"url": 3},
        {"url": "http://x/", "headers": []},
        {"url": "http://x/", "allowedEnvVars": "A"},
    ],
)
def test_settings_of_a_service_that_cannot_be_used(settings: Mapping[str, Any]) -> None:
    with pytest.raises(SettingsError):
        http_transport(settings, egress=LoopbackEgress(), environ={})
