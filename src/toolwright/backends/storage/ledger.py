"""Whether an append may be kept: the rules every store shares."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from toolwright.backends.storage.operations import Append, Failure
from toolwright.contracts.errors import EngineFault
from toolwright.contracts.storage import FIRST_HASH, Entry, StaleEpoch, UnknownSession


@dataclass(slots=True)
class Head:
    """Where the log of a session ends, and who may append to it."""

    number: int = 0
    """Of the session in the store."""
    epoch: int = 0
    seq: int = 0
    hash: bytes = FIRST_HASH


@dataclass(frozen=True, slots=True)
class _Broken:
    generation: int
    epoch: int
    failure: Failure


class Ledger:
    """Judges appends in the order in which they were queued, and remembers which failed.

    What was queued behind a failed append of the same session and epoch fails for the same reason. What the
    event loop queued after it had learned of the failure has a higher generation and is judged anew.
    """

    def __init__(self) -> None:
        self._broken: dict[str, _Broken] = {}

    def judged(self, append: Append, head: Head | None) -> Failure | None:
        """Return why an append cannot be kept, or None."""
        broken = self._broken.get(append.session_id)
        if broken is not None and (append.generation, append.epoch) == (broken.generation, broken.epoch):
            return broken.failure
        error = _objection(append, head)
        if error is None:
            return None
        if isinstance(error, EngineFault) and broken is not None and append.epoch == broken.epoch:
            return self.failed(append, broken.failure)  # the gap is where the failed entries should be
        return self.failed(append, Failure(error))

    def failed(self, append: Append, failure: Failure) -> Failure:
        """Note that an append failed."""
        self._broken[append.session_id] = _Broken(append.generation, append.epoch, failure)
        return failure

    def failed_together(self, appends: Iterable[Append], error: Exception) -> None:
        """Note that a write failed: each session whose appends were part of it has one failure."""
        failures: dict[str, Failure] = {}
        for append in appends:
            if append.failure is None:
                append.failure = failures.setdefault(append.session_id, Failure(error))
                self.failed(append, append.failure)

    def mark(self) -> Mapping[str, _Broken]:
        """Return what is remembered now."""
        return dict(self._broken)

    def go_back(self, mark: Mapping[str, _Broken]) -> None:
        """Forget what was judged since a mark: it is to be judged again."""
        self._broken = dict(mark)

    def kept(self, session_ids: Iterable[str]) -> None:
        """Note that appends of these sessions are durable: what failed before them is over."""
        if self._broken:
            for session_id in session_ids:
                self._broken.pop(session_id, None)


def unknown(session_id: str) -> UnknownSession:
    """Return the error for a session that does not exist."""
    return UnknownSession(f"There is no session {session_id!r}.")


def _objection(append: Append, head: Head | None) -> Exception | None:
    if head is None:
        return unknown(append.session_id)
    if append.epoch != head.epoch:
        return StaleEpoch(
            f"Session {append.session_id!r} was taken over: epoch {append.epoch} cannot append, "
            f"{head.epoch} is the present one."
        )
    if not _follow(append.entries, head.seq):
        return EngineFault(
            f"Entries of session {append.session_id!r} must follow number {head.seq} without a gap; "
            f"they are numbered {[entry.seq for entry in append.entries[:5]]}."
        )
    if append.card is not None and append.card.session_id != append.session_id:
        return EngineFault(f"The card of {append.card.session_id!r} is not that of {append.session_id!r}.")
    return None


def _follow(entries: Sequence[Entry], seq: int) -> bool:
    return [entry.seq for entry in entries] == list(range(seq + 1, seq + 1 + len(entries)))
