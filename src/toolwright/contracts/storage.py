"""Keeping what happened: entries of session logs, and the port behind which stores stand."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, NamedTuple, Protocol

from toolwright.contracts.errors import EngineFault, ToolwrightError

FIRST_HASH = b"\0" * 32
"""The hash before the first entry of a log."""


class Entry(NamedTuple):
    """One event of one session, encoded once for the store and for every reader.

    ``hash`` is ``chained(hash of the entry before, data)``.
    """

    seq: int
    """1, 2, 3 … without a gap."""
    data: bytes
    """JSON: ``{"seq", "at", "type", "event"}``."""
    hash: bytes


def chained(before: bytes, data: bytes) -> bytes:
    """Return the hash of an entry, given the hash of the one before it."""
    return sha256(before + data).digest()


SessionStatus = Literal["idle", "running", "waiting", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCard:
    """What a list of sessions shows. Kept beside the log and derived from it."""

    session_id: str
    created_at: float
    updated_at: float
    project: str = ""
    """The folder it works in."""
    title: str = ""
    agent: str = "main"
    model: str = ""
    status: SessionStatus = "idle"
    parent_id: str | None = None
    tokens: int = 0
    """Used up to the end of the last run, children included."""
    cost: float = 0.0
    """In dollars, likewise."""
    head: int = 0
    """Sequence number of the last entry."""


class StoreUnavailable(EngineFault):
    """The store cannot take anything now: full disk, no permission, damage. Nothing was kept.

    The message says why in words for a person. The store tries again at the next append.
    """


class StaleEpoch(EngineFault):
    """Somebody else has taken over the session; what was to be appended is not kept."""


class UnknownSession(ToolwrightError):
    """There is no such session."""


class SessionBusy(ToolwrightError):
    """Another live process is running the session."""


@dataclass(frozen=True, slots=True)
class Damage:
    """What a check found: the first entry that is not as it was written."""

    session_id: str
    seq: int
    problem: str


class DamagedLog(EngineFault):
    """A log is not as it was written; nothing is read from it or added to it."""

    def __init__(self, damage: Damage) -> None:
        super().__init__(damage)
        self.damage = damage

    def __str__(self) -> str:
        return (
            f"The log of session {self.damage.session_id} is damaged at entry {self.damage.seq}: "
            f"{self.damage.problem}. Put a backup in place ('toolwright db restore'), or fork the session "
            f"from before that entry."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseReport:
    """What a check of a whole database found."""

    path: str
    format: int
    """Number of the format it is written in."""
    newest_format: int
    """The format this version writes; an older one is brought up to date when the database is opened."""
    sessions: int = 0
    entries: int = 0
    damage: tuple[Damage, ...] = ()
    """Of each damaged log the first entry that is not as it was written."""
    problems: tuple[str, ...] = ()
    """What is wrong with the file itself."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing was found."""
        return not self.damage and not self.problems


class EventStore(Protocol):
    """Append-only logs, one per session. Many sessions share one commit."""

    async def open(self) -> None:
        """Make ready; migrates what an older version wrote. May raise StoreUnavailable."""
        ...

    async def create(self, card: SessionCard) -> None:
        """Note a new, empty session; lists show it once it has an entry. May raise StoreUnavailable."""
        ...

    def append(
        self, session_id: str, entries: Sequence[Entry], *, epoch: int, card: SessionCard | None = None
    ) -> Awaitable[None]:
        """Queue entries at once, in the order of these calls; the awaitable returns once they are durable.

        Entries follow the last one without a gap. ``card`` replaces the session's card in the same step. The
        awaitable may raise StaleEpoch, UnknownSession or StoreUnavailable; then nothing of this call and of
        any later one of the same session and epoch that was queued behind it is kept. Awaiting it is not
        required, but a failure nobody awaited fails the session's next append too. Must be called on the
        event loop; never blocks it.
        """
        ...

    async def read(self, session_id: str, *, after: int = 0, limit: int | None = None) -> Sequence[Entry]:
        """Return durable entries behind ``after``, oldest first. May raise UnknownSession."""
        ...

    async def changed(self, session_id: str, *, after: int) -> int:
        """Return the number of the last durable entry once it is greater than ``after``.

        Also sees what other processes append. Safe to cancel. May raise UnknownSession.
        """
        ...

    async def claim(self, session_id: str, owner: str) -> int:
        """Become the one that may append; return the new epoch, greater than all before.

        ``owner`` is unique to a process and says which one. May raise SessionBusy while the present owner is
        another process that lives, UnknownSession, StoreUnavailable.
        """
        ...

    async def release(self, session_id: str, *, epoch: int) -> None:
        """Let go of a claim; nothing happens when somebody else has it by now. Must not raise."""
        ...

    async def is_held(self, session_id: str) -> bool:
        """Return whether a process that lives has claimed a session. May raise UnknownSession."""
        ...

    async def card(self, session_id: str) -> SessionCard:
        """May raise UnknownSession."""
        ...

    async def cards(
        self,
        *,
        project: str | None = None,
        parent_id: str | None = None,
        status: SessionStatus | None = None,
        limit: int = 100,
        before: float | None = None,
    ) -> Sequence[SessionCard]:
        """Return cards, the last updated first. Without ``parent_id``: those that are nobody's child."""
        ...

    async def ids(self, *, beginning: str = "", limit: int | None = None) -> Sequence[str]:
        """Return the ids that begin so, children too, in the order in which the sessions were made."""
        ...

    async def remove(self, session_id: str) -> None:
        """Delete a whole session, its children included; noted as an operation of its own."""
        ...

    async def verify(self, session_id: str) -> Damage | None:
        """Check one log: sequence, hashes, cut tail. None when it is whole. May raise UnknownSession."""
        ...

    async def close(self) -> None:
        """Write what is queued, then let go. Safe to repeat."""
        ...
