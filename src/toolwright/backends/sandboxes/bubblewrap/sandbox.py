"""The sandbox itself: check that it works, start programs in it, end them."""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from toolwright.backends.sandboxes.bubblewrap import binary, cgroups, egress, mounts, seccomp
from toolwright.backends.sandboxes.bubblewrap.egress import OpenProxy, ProxyHold
from toolwright.backends.sandboxes.bubblewrap.launch import Start
from toolwright.backends.sandboxes.bubblewrap.mount_points import MountPoints
from toolwright.backends.sandboxes.bubblewrap.own_files import OwnFiles
from toolwright.backends.sandboxes.bubblewrap.tree import NamespaceTree, limit
from toolwright.backends.sandboxes.running import RunningProcess, require_program, spoken_with
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Command, Exit, Process, SandboxReport, Talk

if TYPE_CHECKING:
    from toolwright.contracts.ports import Sandbox

_NAME: Final = "bubblewrap"


class BubblewrapSandbox:
    """One sandbox for one session: commands share a private ``/tmp`` and nothing else of their own."""

    def __init__(
        self,
        *,
        open_proxy: OpenProxy | None = None,
        host_dirs: Sequence[str] = (),
        programs: Sequence[str] | None = None,
    ) -> None:
        """``host_dirs``: further directories of programs that every command may read. ``programs``: paths
        of bubblewrap to try in place of those that are found."""
        self._programs = programs
        self._open_proxy = open_proxy
        self._host_dirs = tuple(host_dirs)
        self._lock = anyio.Lock()
        self._making = anyio.Lock()
        self._report: SandboxReport | None = None
        self._binary = ""
        self._controllers: cgroups.Controllers | None = None
        self._own: OwnFiles | None = None
        self._mount_points = MountPoints()
        self._running: set[RunningProcess] = set()
        self._holds: set[ProxyHold] = set()

    async def report(self) -> SandboxReport:
        async with self._lock:
            if self._report is None:
                self._report = await self._try()
            return self._report

    async def start(self, command: Command) -> Process:
        return await self._start(command)

    async def talk(self, command: Command) -> Talk:
        process = await self._start(spoken_with(command))
        process.speak()
        return process

    async def _start(self, command: Command) -> RunningProcess:
        report = await self.report()
        if not report.works:
            raise ToolFailure("unsupported", report.problem, hint=report.remedy)
        if command.network.kind == "none":
            return await self._launch(command, socket=None)
        return await self._launch_with_egress(command)

    async def close(self) -> None:
        with anyio.CancelScope(shield=True):
            for process in tuple(self._running):
                await process.stop(grace=0)
            for hold in tuple(self._holds):
                await hold.closed()
            async with self._making:
                own, self._own = self._own, None
            if own is not None:
                await anyio.to_thread.run_sync(own.remove)

    async def _try(self) -> SandboxReport:
        self._controllers = await anyio.to_thread.run_sync(cgroups.find)
        programs = binary.found() if self._programs is None else self._programs
        report = _broken("bubblewrap is not installed.")
        for self._binary in programs:
            report = await self._probed()
            if report.works:
                break
        return report

    async def _probed(self) -> SandboxReport:
        probe = Command(argv=("cat", "/proc/self/status"), cwd="/", env={"PATH": "/usr/bin:/bin"})
        try:
            process = await self._launch(probe, socket=None)
            end = await process.wait()
        except ToolFailure as failure:
            return _broken(f"bubblewrap cannot start a program here: {failure.message}")
        return self._judged(end, process.output())

    def _judged(self, end: Exit, output: bytes) -> SandboxReport:
        """Believe what the kernel said about a program that ran, not what was asked for."""
        status = dict(line.split(":\t", 1) for line in output.decode().splitlines() if ":\t" in line)
        expected = {"NoNewPrivs": "1", "Seccomp": "2", "CapEff": "0" * 16, "CapBnd": "0" * 16}
        wrong = sorted(name for name, value in expected.items() if status.get(name) != value)
        if end.code != 0 or wrong:
            return _broken(f"a program ran without its protection ({', '.join(wrong) or end.code}).")
        layers = ["namespaces", "read-only root", "seccomp", "no capabilities", "resource limits"]
        if self._controllers is not None:
            layers.append("control groups")
        elif os.getuid() == 0:
            problem = "No control groups here: the number of processes of a command is not bounded for root."
            return SandboxReport(True, _NAME, tuple(layers), problem, "Run the engine as an ordinary user.")
        return SandboxReport(True, _NAME, tuple(layers))

    async def _launch_with_egress(self, command: Command) -> RunningProcess:
        if self._open_proxy is None:
            raise ToolFailure("unsupported", "Sandboxed commands have no network here.")
        argv = egress.forwarded(command)
        hold = ProxyHold(self._open_proxy, command.network)
        self._holds.add(hold)
        hold.on_closed(lambda: self._holds.discard(hold))
        with contextlib.ExitStack() as undo:
            undo.callback(hold.release)
            path = await hold.path()
            env = {**command.env, **egress.proxy_variables()}
            process = await self._launch(replace(command, argv=argv, env=env), socket=path)
            undo.pop_all()
        process.on_end.append(hold.release)
        return process

    async def _launch(self, command: Command, *, socket: str | None) -> RunningProcess:
        require_program(command)
        command = replace(command, readable=(*self._host_dirs, *command.readable))
        own = await self._own_files()
        with contextlib.ExitStack() as undo:
            held = self._mount_points.hold(mounts.places_to_hold(command))
            undo.callback(held.release)
            process = await self._launched(command, _arguments(command, own, socket), inet=socket is not None)
            undo.pop_all()
        process.on_end.append(held.release)
        self._running.add(process)
        process.on_end.append(lambda: self._running.discard(process))
        return process

    async def _launched(self, command: Command, args: list[str], *, inet: bool) -> RunningProcess:
        filter_program = seccomp.local_program(inet=inet)
        if filter_program is None:
            raise ToolFailure("unsupported", f"No system call filter for {os.uname().machine}.")
        try:
            with Start(command) as start:
                start.spawn(self._binary, args, filter_program)
                tree = await self._held_tree(start, command)
                return start.running(tree)
        except OSError as failure:
            message = f"The sandbox cannot be started: {failure.strerror or failure}"
            raise ToolFailure("unsupported", message) from failure

    async def _held_tree(self, start: Start, command: Command) -> NamespaceTree:
        """Bound the sandbox while it still waits, then let it go."""
        pid = await start.init_pid()
        with contextlib.ExitStack() as undo:
            limit(pid, command.limits)
            group = None
            if self._controllers is not None:
                group = self._controllers.open(command.limits)
                undo.callback(group.remove)
                undo.callback(start.abandon)
                group.add(pid)
            tree = NamespaceTree(pid, group)
            undo.pop_all()
        return tree

    async def _own_files(self) -> OwnFiles:
        async with self._making:
            if self._own is None:
                self._own = await anyio.to_thread.run_sync(OwnFiles, _inside_id())
            return self._own


def _arguments(command: Command, own: OwnFiles, socket: str | None) -> list[str]:
    """All arguments of bubblewrap for one command."""
    args = ["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    args += ["--unshare-cgroup", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    inside = str(_inside_id())
    args += ["--uid", inside, "--gid", inside, "--hostname", "sandbox", "--clearenv"]
    args += mounts.system_arguments(own.etc)
    # Both are mounted: behind a link, a workspace below /var/tmp would have another path than outside.
    args += ["--bind", own.tmp, mounts.TMP, "--bind", own.tmp, f"/var{mounts.TMP}"]
    args += mounts.command_arguments(command, own.empty)
    if socket is not None:
        args += ["--bind", socket, egress.SOCKET_INSIDE]
    for name, value in command.env.items():
        args += ["--setenv", name, value]
    return [*args, "--remount-ro", "/", "--chdir", command.cwd]


def _inside_id() -> int:
    """A user id that is not the engine's own."""
    return 1000 if os.getuid() != 1000 else 1001


def _broken(problem: str) -> SandboxReport:
    return SandboxReport(False, _NAME, (), problem, binary.REMEDY)


if TYPE_CHECKING:
    _: Sandbox = BubblewrapSandbox()
