"""Commands: a program in the sandbox that wants secrets, the network, the host, or to live on."""

import asyncio
import os
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from toolwright import Failed, Toolbox
from toolwright.contracts.content import text_of

pytestmark = [pytest.mark.anyio, pytest.mark.sandbox]

PLANTED = "planted-value-that-must-stay-outside"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.txt").write_text("inside\n")
    return folder


@pytest.fixture(params=[False, True], ids=["one shell each", "one shell for all"])
def shell(request: pytest.FixtureRequest, workspace: Path) -> dict[str, Any]:
    return {
        "tools": ["bash"],
        "workspace": str(workspace),
        "allow": ["bash"],
        "settings": {"bash": {"persistent": request.param}},
    }


@asynccontextmanager
async def opened(shell: dict[str, Any], **more: Any) -> AsyncIterator[Toolbox]:
    async with Toolbox(**{**shell, **more}) as box:
        yield box


async def output(box: Toolbox, command: str, **more: Any) -> str:
    return text_of((await box.call("bash", {"command": command, **more})).content)


def python(code: str) -> str:
    return f"python3 -c {shlex.quote(code)}"


@pytest.fixture
def canary() -> Iterator[tuple[int, list[bytes]]]:
    """A listener on loopback that remembers everybody who connects."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        seen: list[bytes] = []

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    seen.append(client.recv(1000))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], seen
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


async def test_the_environment_of_the_engine_stays_outside(
    shell: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "MY_TOKEN", "HARMLESS"):
        monkeypatch.setenv(name, PLANTED)
    async with opened(shell) as box:
        shown = [
            await output(box, command)
            for command in (
                "env; set; export -p",
                "cat /proc/*/environ | tr '\\0' '\\n'",
                "cat /proc/1/root/proc/1/environ",
                "cat /proc/*/cmdline | tr '\\0' '\\n'",
                python("import os; print(open(f'/proc/{os.getppid()}/environ').read())"),
            )
        ]

    assert not any(PLANTED in text for text in shown)
    assert "LANG=C.UTF-8" in shown[0]


@pytest.mark.parametrize(
    "command",
    [
        "ls /root || ls /home",
        "cat /etc/shadow",
        "ls /var/run/docker.sock /run/docker.sock",
        "cat /proc/1/root/etc/shadow",
        "ls /sys/kernel",
        "touch /usr/x || touch /etc/x || touch /x || touch /var/x",
        "echo x > /proc/sys/kernel/core_pattern",
        "unshare -U id",
        "unshare -rm mount -t tmpfs x /mnt",
        "mount -t tmpfs x /mnt",
        "dmesg",
        "cat /proc/keys /proc/kcore",
        "sudo -n id || su -c id",
        "chmod u+s a.txt",
        "mknod d b 254 0",
    ],
)
async def test_the_host_is_not_there(workspace: Path, command: str) -> None:
    async with Toolbox(["bash"], workspace=str(workspace), allow=["bash"]) as box:
        refused = await box.call("bash", {"command": command})
        control = await box.call("bash", {"command": "cat a.txt && touch ours"})

    assert isinstance(refused.outcome, Failed)
    assert refused.outcome.code == "command_failed"
    assert not control.is_error


SYSTEM_CALLS = {
    "ptrace": "c.ptrace(16, 1, 0, 0)",
    "keyctl": "c.syscall(250, 0, -3, 0)",
    "bpf": "c.syscall(321, 0, 0, 0)",
    "io_uring": "c.syscall(425, 1, 0)",
    "userfaultfd": "c.syscall(323, 0)",
    "perf": "c.syscall(298, 0, 0, -1, -1, 0)",
    "new user namespace": "c.unshare(0x10000000)",
    "TIOCSTI": "c.ioctl(0, 0x5412, b'x')",
    "TIOCSTI with high bits": "c.syscall(16, 0, 0x100005412, b'x')",
}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of another machine")
async def test_doors_of_the_kernel_are_shut(workspace: Path) -> None:
    tried = "\n".join(f"print({name!r}, {call}, ctypes.get_errno())" for name, call in SYSTEM_CALLS.items())
    code = f"import ctypes; c = ctypes.CDLL(None, use_errno=True)\n{tried}\nprint('control', c.getpid() > 0)"
    async with Toolbox(["bash"], workspace=str(workspace), allow=["bash"]) as box:
        lines = (await output(box, python(code))).splitlines()

    refused = [f"{name} -1 1" for name in SYSTEM_CALLS]
    assert lines == [*refused, "control True"]


async def test_nobody_is_reached(shell: dict[str, Any], canary: tuple[int, list[bytes]]) -> None:
    port, seen = canary
    name = f"\0toolwright-canary-{port}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(name)
        listener.listen()
        listener.setblocking(False)
        async with opened(shell) as box:
            for code in (
                f"import socket; socket.create_connection(('127.0.0.1', {port}), 2).send(b'x')",
                f"import socket; s = socket.socket(socket.AF_INET6); s.connect(('::1', {port}))",
                f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({name!r}); s.send(b'x')",
                "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
                "import socket; socket.getaddrinfo('example.com', 80)",
            ):
                assert (await box.call("bash", {"command": python(code)})).is_error
            pair = "import socket; a, b = socket.socketpair(); a.send(b'hi'); print(b.recv(9))"
            assert "hi" in await output(box, python(pair))
        with pytest.raises(BlockingIOError):
            listener.accept()

    assert seen == []


@pytest.mark.parametrize(
    "code",
    [
        "open('.git/config', 'a').write('x')",
        "open('.git/hooks/post-checkout', 'w').write('x')",
        "os.rename('.git', 'aside')",
        "os.rename('.git/hooks', '.git/aside')",
        "shutil.rmtree('.git/hooks')",
        "os.symlink('/tmp', '.git/hooks')",
        "os.unlink('.git/config')",
        "os.chmod('.git/config', 0o777); open('.git/config', 'a').write('x')",
        "os.link('.git/config', 'name'); open('name', 'a').write('x')",
        "open('.toolwright/settings.json', 'w').write('{}')",
        "os.makedirs('.toolwright'); open('.toolwright/settings.json', 'w').write('{}')",
        "os.rename('.toolwright', 'aside')",
        "os.rmdir('.toolwright')",
        "os.symlink('elsewhere', '.toolwright')",
        "open('.bashrc', 'a').write('x')",
        "open('.mcp.json', 'w').write('{}')",
        "os.rename('.vscode', 'aside')",
    ],
)
async def test_protected_places_are_read_only_to_programs_too(workspace: Path, code: str) -> None:
    subprocess.run(["git", "init", "-q", workspace], check=True)
    for name in (".bashrc", ".mcp.json"):
        (workspace / name).write_text("as it was\n")
    (workspace / ".vscode").mkdir()
    before = (workspace / ".git" / "config").read_text()
    async with Toolbox(["bash"], workspace=str(workspace), allow=["bash"]) as box:
        refused = await box.call("bash", {"command": python(f"import os, shutil\n{code}")})
        control = await box.call("bash", {"command": python("open('.git/description', 'a').write('x')")})

    assert refused.is_error, text_of(refused.content)
    assert not control.is_error
    assert (workspace / ".git" / "config").read_text() == before
    assert not (workspace / ".git" / "hooks" / "post-checkout").exists()
    assert not (workspace / ".toolwright" / "settings.json").exists()
    assert (workspace / ".bashrc").read_text() == (workspace / ".mcp.json").read_text() == "as it was\n"


@pytest.mark.parametrize(
    "code", ["open('.git', 'w').write('gitdir: evil')", "os.unlink('.git')", "os.rename('evil', '.git')"]
)
async def test_where_a_linked_work_tree_has_its_repository_stays_written(workspace: Path, code: str) -> None:
    (workspace / ".git").write_text("gitdir: /somewhere/else\n")
    (workspace / "evil").mkdir()
    async with Toolbox(["bash"], workspace=str(workspace), allow=["bash"]) as box:
        refused = await box.call("bash", {"command": python(f"import os\n{code}")})

    assert refused.is_error
    assert (workspace / ".git").read_text() == "gitdir: /somewhere/else\n"


@pytest.mark.slow
async def test_settings_written_by_a_model_count_for_nothing(workspace: Path) -> None:
    granting = '{"permissions": {"allow": ["write", "Edit(**)"], "mode": "acceptEdits"}}'
    command = f"mkdir -p .toolwright; echo {shlex.quote(granting)} > .toolwright/settings.local.json"
    line = [sys.executable, "-m", "toolwright", "call", "--dir", str(workspace), "--no-input", "--json"]
    written = [*line, "bash", f'{{"command": {_json(command)}}}', "--allow", "bash"]
    asked = [*line, "write", '{"file_path": "new", "content": "x"}']

    for words in (written, asked):
        await asyncio.to_thread(subprocess.run, words, capture_output=True, check=False)

    assert not (workspace / ".toolwright" / "settings.local.json").exists()
    assert not (workspace / "new").exists()


def _json(text: str) -> str:
    import json

    return json.dumps(text)


def _alive(mark: str) -> bool:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark.encode() in (entry / "cmdline").read_bytes():
                    return True
            except OSError:
                continue
    return False


HIDING = {
    "background": "sleep {n} & wait",
    "session": "setsid sleep {n}",
    "double fork": "( ( setsid nohup sleep {n} >/dev/null 2>&1 & ) & ); sleep {n}",
    "deaf": "trap '' TERM INT HUP QUIT; sleep {n}; sleep {n}",
}


@pytest.mark.parametrize(
    "way", [way if way == "double fork" else pytest.param(way, marks=pytest.mark.slow) for way in HIDING]
)
async def test_nothing_outlives_its_time(shell: dict[str, Any], way: str) -> None:
    number = f"9{os.getpid()}{sum(way.encode())}"
    async with opened(shell, settings={**shell["settings"]}) as box:
        result = await box.call("bash", {"command": HIDING[way].format(n=number), "timeout": 400})
    assert result.is_error or "background" in text_of(result.content)
    assert not _alive(f"sleep\0{number}")


@pytest.mark.parametrize("way", HIDING)
async def test_no_background_task_outlives_its_session(workspace: Path, way: str) -> None:
    number = f"8{os.getpid()}{sum(way.encode())}"
    async with Toolbox(["bash"], workspace=str(workspace), allow=["bash"]) as box:
        command = f"echo started; {HIDING[way].format(n=number)}"
        result = await box.call("bash", {"command": command, "run_in_background": True})
        assert not result.is_error
    assert not _alive(f"sleep\0{number}")


async def test_sessions_do_not_see_each_other(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    async with (
        Toolbox(["bash"], workspace=str(tmp_path / "one"), allow=["bash"]) as one,
        Toolbox(["bash"], workspace=str(tmp_path / "two"), allow=["bash"]) as two,
    ):
        await one.call("bash", {"command": f"echo {PLANTED} > /tmp/mine; echo {PLANTED} > mine"})
        shown = await output(two, f"cat /tmp/mine; ls -R /tmp; cat {tmp_path}/one/mine; ls {tmp_path}/one")
        own = await output(one, "cat /tmp/mine")

    assert PLANTED not in shown
    assert PLANTED in own


READS_MORE_THAN_IT_NAMES = [
    "grep -r planted .",
    "grep -rn planted",
    "grep -nr planted .",
    "grep --recurs planted .",
    "grep -d recurse planted .",
    "git log -p",
    "git log --patch -1",
    "git log -1 -U9",
    "git log -L1,1:.env",
    "git show",
    "git show HEAD",
    "git show HEAD:.env",
    "git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904 HEAD",
    "git cat-file -p HEAD:.env",
    "git blame .env",
    "git status -v",
    "cat .env",
    "cat ./.env",
    "cat .en?",
    "cat .e*",
    "cat $PWD/.env",
    "cd . && cat .env",
    "nl < .env",
    "while read l; do echo $l; done < .env",
    "cat <(cat .env)",
    "head -n1 -- .env",
    "cp .env b && cat b",
    "ln -s .env b && cat b",
    "tee b < .env",
    "sed -n 1p .env",
    "xargs cat <<< .env",
    "diff .env /dev/null",
    "sort .env",
]


@pytest.fixture
def history(workspace: Path) -> Path:
    (workspace / ".env").write_text(f"KEY={PLANTED}\n")
    git = ["git", "-C", str(workspace), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    (workspace / ".env").write_text(f"KEY={PLANTED}\nOTHER={PLANTED}\n")
    subprocess.run([*git, "add", "-A"], check=True)
    return workspace


@pytest.mark.parametrize("command", READS_MORE_THAN_IT_NAMES)
@pytest.mark.parametrize(
    "allow", [[], ["Bash(grep *)", "Bash(git *)", "Bash(cat *)"]], ids=["no rule", "rules"]
)
async def test_what_may_not_be_read_is_read_by_no_command_unasked(
    history: Path, command: str, allow: list[str]
) -> None:
    async with Toolbox(["bash"], workspace=str(history), allow=allow, deny=["Read(.env)"]) as box:
        result = await box.call("bash", {"command": command})
        controls = [
            await box.call("bash", {"command": control})
            for control in ("grep inside a.txt", "git log -1", "cat a.txt")
        ]

    assert isinstance(result.outcome, Failed)
    assert result.outcome.code in {"permission_denied", "approval_unavailable"}
    assert not any(control.is_error for control in controls)


@pytest.mark.parametrize("command", ["grep -r inside .", "git log -p -1 -- a.txt", "git show --stat"])
async def test_where_nothing_is_denied_walks_stay_free(history: Path, command: str) -> None:
    async with Toolbox(["bash"], workspace=str(history)) as box:
        assert not (await box.call("bash", {"command": command})).is_error


@pytest.mark.parametrize(
    "command",
    [
        "echo x > infra/a",
        "echo x >> ./infra/a",
        "echo x | tee infra/a",
        "tee infra/a <<< x",
        "cat <<< x > infra/a",
        "cat > infra/a <<'E'\nx\nE",
        "sed -i s/a/b/ infra/a",
        "cp a.txt infra/a",
        "cp -t infra a.txt",
        "mv a.txt infra/a",
        "cd infra && echo x > a",
        "dd if=a.txt of=infra/a",
        "truncate -s0 infra/a",
        "ln -sf /tmp infra/a",
        "rm infra/a",
        "bash -c 'echo x > infra/a'",
        "echo x > d/../infra/a",
        "echo x > link/a",
    ],
)
async def test_what_may_not_be_edited_is_edited_by_no_command(workspace: Path, command: str) -> None:
    (workspace / "infra").mkdir()
    (workspace / "d").mkdir()
    (workspace / "infra" / "a").write_text("as it was\n")
    (workspace / "link").symlink_to("infra")
    deny = ["Edit(infra/**)"]
    async with Toolbox(["bash"], workspace=str(workspace), allow=["bash"], deny=deny) as box:
        result = await box.call("bash", {"command": command})
        control = await box.call("bash", {"command": "echo x > other"})

    assert isinstance(result.outcome, Failed)
    assert result.outcome.code in {"permission_denied", "approval_unavailable"}
    assert not control.is_error
    assert (workspace / "infra" / "a").read_text() == "as it was\n"


HUGE = {
    "one word": "echo " + "a" * 90_000,
    "ten thousand parts": "echo a; " * 10_000,
    "brackets": "(" * 5_000 + ")" * 5_000,
    "substitutions": "$(" * 3_000 + ")" * 3_000,
    "quotes": "echo " + "'" * 9_999,
    "heredocs": "cat <<E\n" * 3_000,
    "braces": "echo " + "{a,b}" * 9_000,
    "expansions": "echo " + "${x:-" * 5_000 + "}" * 5_000,
    "assignments": "a=b " * 20_000,
    "continuations": "\\\n" * 40_000,
}


@pytest.mark.parametrize("kind", HUGE)
async def test_what_hides_at_the_end_of_a_huge_command_is_seen(workspace: Path, kind: str) -> None:
    command = HUGE[kind][:99_000] + "\nrm a.txt"
    deny = ["Bash(rm *)", *(f"Bash(program{number} *x*y*z)" for number in range(2_000))]
    async with Toolbox(["bash"], workspace=str(workspace), deny=deny, allow=["Bash(echo *)"]) as box:
        result = await asyncio.wait_for(box.call("bash", {"command": command}), 60)

    assert isinstance(result.outcome, Failed)
    assert result.outcome.code in {"permission_denied", "approval_unavailable", "invalid_input"}
    assert (workspace / "a.txt").exists()


@pytest.mark.slow
async def test_bombs_go_off_in_the_sandbox_only(workspace: Path) -> None:
    async with Toolbox(["bash"], workspace=str(workspace), allow=["bash"]) as box:
        forks = await box.call("bash", {"command": "f() { f | f & }; f; sleep 1; echo over", "timeout": 4000})
        memory = await box.call("bash", {"command": python("x = bytearray(4 * 1024 ** 3)")})
        prints = await box.call("bash", {"command": "head -c 1200000000 /dev/zero", "timeout": 60_000})
        control = await output(box, "echo alive")

    assert memory.is_error
    assert len(text_of(prints.content)) < 100_000
    assert control == "alive\n"
    assert forks.call_id
