"""Bound a whole tree of processes where control groups can be made, with version 1 or 2.

Needed beside per-process limits: the kernel does not count processes of the host's root user,
whatever name he has inside, and memory limits of single processes add up.
"""

import os
import secrets
from dataclasses import dataclass

from toolwright.contracts.ports import Limits

_MOUNT = "/sys/fs/cgroup"
_PREFIX = "toolwright-"


@dataclass(frozen=True, slots=True)
class Group:
    """Directories that stand for one tree; one in version 2, one for each controller in version 1."""

    directories: tuple[str, ...]

    def add(self, pid: int) -> None:
        """Put a process, and all it will start, under the limits. May raise OSError."""
        for directory in self.directories:
            _write(directory, "cgroup.procs", str(pid))

    def killed_for_memory(self) -> bool:
        """Whether the kernel ended a member because the memory was used up."""
        for directory in self.directories:
            for name in ("memory.events", "memory.oom_control"):
                if _counted(os.path.join(directory, name), "oom_kill"):
                    return True
        return False

    def remove(self) -> None:
        """Drop the directories; one that is still busy stays until an engine starts again."""
        for directory in self.directories:
            try:
                os.rmdir(directory)
            except OSError:
                continue


@dataclass(frozen=True, slots=True)
class Controllers:
    """Directories in which groups can be made, and the version they speak."""

    parents: tuple[str, ...]
    unified: bool

    def open(self, limits: Limits) -> Group:
        """Make a group with these limits. May raise OSError."""
        name = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
        made: list[str] = []
        try:
            for parent in self.parents:
                directory = os.path.join(parent, name)
                os.mkdir(directory)
                made.append(directory)
                self._limit(directory, limits)
        except OSError:
            Group(tuple(made)).remove()
            raise
        return Group(tuple(made))

    def _limit(self, directory: str, limits: Limits) -> None:
        wanted = {"pids.max": limits.processes}
        if self.unified:
            wanted |= {"memory.max": limits.memory, "memory.swap.max": 0}
        else:
            wanted |= {"memory.limit_in_bytes": limits.memory}
        for name, value in wanted.items():
            if os.path.exists(os.path.join(directory, name)):
                _write(directory, name, str(value))


def find() -> Controllers | None:
    """Return where groups can be made, found by making one; None when they cannot."""
    version1 = tuple(f"{_MOUNT}/{name}" for name in ("pids", "memory"))
    for candidate in (Controllers((_MOUNT,), unified=True), Controllers(version1, unified=False)):
        if _works(candidate):
            _forget_the_dead(candidate)
            return candidate
    return None


def _forget_the_dead(controllers: Controllers) -> None:
    """Drop groups of engines that ended without doing so; nothing is left in them."""
    for parent in controllers.parents:
        for name in os.listdir(parent):
            owner = name.removeprefix(_PREFIX).partition("-")[0]
            if name.startswith(_PREFIX) and not os.path.exists(f"/proc/{owner}"):
                Group((os.path.join(parent, name),)).remove()


def _works(candidate: Controllers) -> bool:
    try:
        group = candidate.open(Limits())
    except OSError:
        return False
    names = {name for directory in group.directories for name in os.listdir(directory)}
    group.remove()
    return "pids.max" in names and bool(names & {"memory.max", "memory.limit_in_bytes"})


def _write(directory: str, name: str, value: str) -> None:
    fd = os.open(os.path.join(directory, name), os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, value.encode())
    finally:
        os.close(fd)


def _counted(path: str, key: str) -> int:
    try:
        with open(path, encoding="ascii") as lines:
            pairs = dict(line.split(maxsplit=1) for line in lines if " " in line)
    except OSError:
        return 0
    return int(pairs.get(key, "0"))
