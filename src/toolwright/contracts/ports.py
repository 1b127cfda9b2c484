"""Every seam. A room that needs something from above or outside is given one of these.

Each method says what it may raise. Cancellation may pass through any ``async`` method.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Self

from toolwright.contracts.events import Event
from toolwright.contracts.mounts import Mount
from toolwright.contracts.network import NO_NETWORK, NetworkAccess
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest
from toolwright.contracts.tool import Access

# --- people ---------------------------------------------------------------------------------


class Approver(Protocol):
    """Brings a question to a person."""

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        """Return the answer, or None when it will come later as an event (the call then waits).

        May raise NoUserChannel when nobody can answer. Called for one request at a time.
        """
        ...


class EventSink(Protocol):
    """Sees every event in order."""

    def observe(self, event: Event) -> None:
        """Must be quick and must not raise."""
        ...


# --- time and memory ------------------------------------------------------------------------


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    async def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Blob:
    """Something kept whole: where a reader finds it, and how big it is."""

    path: str
    size: int
    sha256: str


class BlobStore(Protocol):
    """Keeps large results and files whole."""

    async def put(self, name: str, data: bytes, *, suffix: str = ".txt") -> Blob:
        """Store ``data`` under a fresh path made from ``name``; never overwrites.

        May raise OSError (full disk, read-only). Safe to repeat: a second put makes a second blob.
        """
        ...

    async def read(self, path: str) -> bytes:
        """May raise FileNotFoundError."""
        ...

    async def drop_older_than(self, seconds: float) -> int:
        """Delete blobs older than this; return how many."""
        ...


# --- files ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FileVersion:
    """Enough to tell whether a file is still the one that was read."""

    mtime_ns: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class FileInfo:
    """What ``fstat`` said; ``path`` is absolute."""

    path: str
    kind: Literal["file", "directory", "symlink", "other"]
    size: int
    mtime_ns: int
    mode: int
    links: int = 1


@dataclass(frozen=True, slots=True)
class ReadMark:
    """What a session has seen of one file."""

    version: FileVersion
    whole: bool
    ranges: tuple[tuple[int, int], ...] = ()
    """Line ranges already shown, first and last, 1-based."""


class ReadState(Protocol):
    """Which files this session has read; a concurrent map, changed at once."""

    def get(self, path: str) -> ReadMark | None: ...

    def put(self, path: str, mark: ReadMark) -> None: ...

    def forget(self, path: str) -> None: ...

    def marks(self) -> Mapping[str, ReadMark]:
        """Return all there is, the longest untouched first."""
        ...


class OpenFile(Protocol):
    """A regular file opened for reading, checked by its handle. A context manager."""

    @property
    def info(self) -> FileInfo: ...

    def read(self, size: int = -1) -> bytes: ...

    def fileno(self) -> int: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


class Workspace(Protocol):
    """Where tools act: roots, a working directory, and race-free access to files.

    Paths are absolute or relative to ``cwd`` and are taken byte for byte. All file methods block,
    so tools call them in a thread. They raise ToolFailure with the code that fits:
    ``path_outside_workspace``, ``file_not_found``, ``is_directory``, ``not_a_directory``,
    ``permission_denied``, ``unsupported`` (devices, sockets, fifos).
    """

    @property
    def cwd(self) -> str: ...

    @property
    def roots(self) -> tuple[str, ...]:
        """Absolute paths of all roots, the main one first. What is mounted is not among them."""
        ...

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """Folders of this machine that lie under paths of their own."""
        ...

    @property
    def read_state(self) -> ReadState: ...

    def absolute(self, path: str) -> str:
        """The path as an absolute, normalised text, without looking at the disk.
        May raise ToolFailure for names that are never accepted (NUL, control characters, too long)."""
        ...

    def resolved(self, path: str) -> str:
        """The path with every symlink followed as far as it exists. For judging, never for opening."""
        ...

    def on_disk(self, path: str) -> str:
        """Where the absolute path lies on this machine. For looking at times, never for opening."""
        ...

    def contains(self, path: str, access: Access = "read") -> bool:
        """Whether the absolute path lies inside a root that permits this access. Text only."""
        ...

    def with_cwd(self, cwd: str) -> "Workspace": ...

    def granting(self, paths: Sequence[tuple[str, Access]]) -> "Workspace":
        """The same workspace in which these approved paths outside the roots may be opened too."""
        ...

    def hiding(self, hidden: Callable[[str], bool]) -> "Workspace":
        """The same workspace in which paths for which ``hidden`` is true do not exist for listings."""
        ...

    def is_hidden(self, path: str) -> bool: ...

    def open(self, path: str) -> OpenFile:
        """Open a regular file for reading."""
        ...

    def info(self, path: str) -> FileInfo | None:
        """What is there, following links inside the roots; None when nothing is."""
        ...

    def directory(self, path: str) -> AbstractContextManager[int]:
        """An open handle of a directory; a child program may start in ``/proc/self/fd/N``."""
        ...

    def entries(self, path: str) -> Iterator[FileInfo]:
        """What a directory holds, links not followed, hidden paths left out, in no order."""
        ...

    def write(
        self, path: str, data: bytes, *, expected: FileVersion | None = None, mode: int | None = None
    ) -> FileInfo:
        """Replace or create a file in one atomic step, keeping mode and, where possible, owner.

        Makes parents. ``mode`` is for a file that is new (without set-id bits). With ``expected`` raises
        ToolFailure ``file_changed`` when the file on disk is another version.
        """
        ...

    def delete(self, path: str) -> None:
        """Remove a regular file."""
        ...


# --- processes ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one process tree."""

    processes: int = 512
    memory: int = 2 * 1024**3
    cpu_seconds: int = 600
    file_size: int = 5 * 1024**3
    open_files: int = 1024
    output_kept: int = 1024 * 1024
    """Bytes of output kept; half of it from the start and half from the end, the middle is counted."""
    output_total: int = 5 * 1024**3
    """Bytes of output after which the process is ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One program to start. ``env`` is whole: nothing is inherited."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes | None = None
    """Fed to the process; None closes standard input."""
    keep_stdin_open: bool = False
    network: NetworkAccess = NO_NETWORK
    limits: Limits = Limits()
    writable: tuple[str, ...] = ()
    """Directories that may be written; everything else of the host is read-only or absent."""
    readable: tuple[str, ...] = ()
    """Further directories shown read-only."""
    protected: tuple[str, ...] = ()
    """Paths inside writable directories that stay read-only."""
    mounts: tuple[Mount, ...] = ()
    """Directories shown under other paths than their own. Without a sandbox they are not shown."""
    merge_stderr: bool = True


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended."""

    code: int | None
    signal: int | None = None
    output_bytes: int = 0
    dropped_bytes: int = 0
    limit: Literal["output", "memory"] | None = None
    """The limit that ended it, if one did."""


class Process(Protocol):
    """A started program and everything it started."""

    @property
    def pid(self) -> int: ...

    def output(self) -> bytes:
        """What was kept of the output up to now; a marker line stands for a dropped middle."""
        ...

    def errors(self) -> bytes:
        """Standard error when it was not merged."""
        ...

    def output_since(self, offset: int) -> tuple[bytes, int]:
        """Output from a byte offset on and the next offset; bytes no longer kept are skipped."""
        ...

    async def wait_output(self, offset: int) -> None:
        """Return once there is output beyond ``offset`` or the process has ended."""
        ...

    async def send(self, data: bytes) -> None:
        """Write to standard input; only with ``keep_stdin_open``. May raise BrokenPipeError."""
        ...

    async def wait(self) -> Exit:
        """Return when the whole tree has ended. Safe to repeat and to cancel."""
        ...

    async def stop(self, *, grace: float = 2.0) -> Exit:
        """End the whole tree: interrupt, then terminate, then kill, ``grace`` seconds apart.
        Afterwards nothing of it is alive. Safe to repeat."""
        ...


class Talk(Protocol):
    """A started program that is spoken with over its standard input and output."""

    @property
    def pid(self) -> int: ...

    async def read(self) -> bytes:
        """Return what it printed next, as it came; empty once nothing more will come.

        What nobody reads waits in the pipe, and the program with it. One caller at a time; safe to cancel.
        """
        ...

    async def send(self, data: bytes) -> None:
        """Write to standard input, all of it. May raise BrokenPipeError."""
        ...

    def end_input(self) -> None:
        """Close standard input: well-behaved programs end then. Safe to repeat."""
        ...

    def errors(self) -> bytes:
        """What was kept of standard error; a marker line stands for a dropped middle."""
        ...

    async def wait(self) -> Exit:
        """Return when the whole tree has ended. Safe to repeat and to cancel."""
        ...

    async def stop(self, *, grace: float = 2.0) -> Exit:
        """End the whole tree, as ``Process.stop`` does."""
        ...


@dataclass(frozen=True, slots=True)
class SandboxReport:
    """Whether a sandbox really works here, found by running something in it."""

    works: bool
    name: str
    layers: tuple[str, ...] = ()
    problem: str = ""
    remedy: str = ""


class Sandbox(Protocol):
    """Starts programs that cannot do harm outside what their command names."""

    async def report(self) -> SandboxReport:
        """Try it once, remember the answer. Must not raise."""
        ...

    async def start(self, command: Command) -> Process:
        """Start a program. May raise ToolFailure ``unsupported`` when no sandbox can be had:
        it never runs unprotected instead."""
        ...

    async def talk(self, command: Command) -> Talk:
        """Start a program to speak with, under the same rules. Its standard input stays open and its
        standard error is kept apart, whatever ``command`` says."""
        ...

    async def close(self) -> None:
        """Stop everything that was started. Safe to repeat."""
        ...


# --- background work ------------------------------------------------------------------------

TaskStatus = Literal["running", "completed", "failed", "killed"]


@dataclass(frozen=True, slots=True)
class TaskView:
    """A background task as seen from outside. ``output_path`` is readable in the workspace."""

    task_id: str
    kind: Literal["shell", "monitor", "agent"]
    description: str
    status: TaskStatus
    exit: Exit | None = None
    started_at: float = 0.0


class BackgroundWork(Protocol):
    """Processes that outlive the call that started them, but not the session."""

    async def adopt(self, process: Process, *, kind: Literal["shell", "monitor"], description: str) -> str:
        """Take over a started process; return its task id. May raise ToolFailure ``limit_reached``."""
        ...

    def look(self, task_id: str) -> TaskView | None: ...

    def list(self) -> tuple[TaskView, ...]: ...

    def output_since(self, task_id: str, offset: int) -> tuple[bytes, int]:
        """May raise ToolFailure ``file_not_found`` for an unknown id."""
        ...

    async def wait(self, task_id: str, timeout: float) -> TaskView:
        """Return when the task has ended or the time is over. May raise ToolFailure for an unknown id."""
        ...

    async def stop(self, task_id: str) -> TaskView:
        """End the task. Safe to repeat. May raise ToolFailure for an unknown id."""
        ...

    async def close(self) -> None:
        """End every task."""
        ...


class HelperModel(Protocol):
    """A small model that tools may ask. Absent by default."""

    async def answer(self, purpose: str, prompt: str) -> str:
        """May raise ToolFailure."""
        ...


class TaskHooks(Protocol):
    """Lets hooks object to changes of a task list."""

    async def objection(self, event: Literal["TaskCreated", "TaskCompleted"], task: Mapping[str, Any]) -> str:
        """Return why a hook objects, or nothing. Must not raise for a hook that fails."""
        ...


class Secrets(Protocol):
    """Values that tools may use by name and never see printed."""

    def use(self, name: str) -> str | None: ...
