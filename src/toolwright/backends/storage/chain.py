"""Finding the first entry of a log that is not as it was written."""

import json
from collections.abc import Iterable

from toolwright.contracts.storage import FIRST_HASH, Damage, Entry, chained


def first_damage(session_id: str, entries: Iterable[Entry], *, head: int, last_hash: bytes) -> Damage | None:
    """Compare entries, in the order in which they are stored, with the chain and with the noted end."""
    seq, hash = 0, FIRST_HASH
    for entry in entries:
        seq += 1
        hash = chained(hash, entry.data)
        problem = _problem(entry, seq, hash)
        if problem:
            return Damage(session_id, seq, problem)
    if seq < head:
        missing = f"entry {head} is" if seq + 1 == head else f"entries {seq + 1} to {head} are"
        return Damage(session_id, seq + 1, f"the log is cut off: {missing} missing at its end")
    if seq > head:
        return Damage(session_id, head + 1, f"the log goes on behind entry {head}, its last one")
    if hash != last_hash:
        return Damage(session_id, max(seq, 1), "the last entry is not the one that was written last")
    return None


def _problem(entry: Entry, seq: int, hash: bytes) -> str:
    if entry.seq != seq:
        gap = entry.seq > seq
        return f"the entry is missing; entry {entry.seq} follows" if gap else "the entry is stored twice"
    if entry.hash == hash:
        return ""
    written = _written_seq(entry.data)
    if written not in {None, seq}:
        return f"entries are out of order: what was written as entry {written} stands here"
    return "the hash does not fit: this entry or the one before it was changed"


def _written_seq(data: bytes) -> int | None:
    """Return the number an entry was written with."""
    try:
        written = json.loads(data)
    except ValueError:
        return None
    seq = written.get("seq") if isinstance(written, dict) else None
    return seq if isinstance(seq, int) else None
