"""Logs as lines of JSON, each entry with its hash: exactly as it was written, or with secrets taken out.

A line is ``{"session_id", "hash", "entry"}``. The hash is that of the hash before it and the bytes of the
entry as they stand in the line. A line whose entry had secrets in it says ``"scrubbed": true`` and still has
the hash of what was written: it cannot be checked any more, all others can; none can be left out or moved.
"""

import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from toolwright.contracts.errors import EngineFault
from toolwright.contracts.storage import FIRST_HASH, DamagedLog, Entry, EventStore, chained
from toolwright.tool_calls.redaction import scrubbed

FORMAT = "toolwright-session/1"
_PAGE = 500
_DOCUMENT = b'{"format":'
_DOCUMENT_END = b"]}"
_LINE = re.compile(
    rb'\{"session_id":("(?:[^"\\]|\\.)*"),"hash":"([0-9a-f]{64})",("scrubbed":true,)?"entry":(\{.*\})\}',
    re.DOTALL,
)
_SEQ = re.compile(rb'\{(?:"exact":true,)?"seq":(\d+),')
Scrub = Callable[[str], str]


async def exported_lines(
    store: EventStore, session_id: str, *, scrub: Scrub | None = None, head: int | None = None
) -> AsyncIterator[bytes]:
    """Yield one line for each entry of a session, up to ``head``; ``scrub`` takes secrets out of a text.

    Raises DamagedLog behind the last entry that is as it was written; may raise UnknownSession.
    """
    head = (await store.card(session_id)).head if head is None else head
    beginning = b'{"session_id":' + json.dumps(session_id).encode()
    seq, hash = 0, FIRST_HASH
    while seq < head:
        entries = await store.read(session_id, after=seq, limit=min(_PAGE, head - seq))
        for entry in entries:
            seq, hash = seq + 1, chained(hash, entry.data)
            if (entry.seq, entry.hash) != (seq, hash):
                raise await damaged(store, session_id)
            yield beginning + b',"hash":"%s",%s}\n' % (hash.hex().encode(), _entry(entry, scrub))
        if not entries:
            raise await damaged(store, session_id)


async def damaged(store: EventStore, session_id: str) -> EngineFault:
    """Return the fault of a log that does not fit its chain."""
    damage = await store.verify(session_id)
    if damage is None:
        return EngineFault(f"The log of session {session_id} changed while it was read; try again.")
    return DamagedLog(damage)


def _entry(entry: Entry, scrub: Scrub | None) -> bytes:
    if scrub is not None:
        written = json.loads(entry.data)
        clean = scrubbed(written, scrub)
        if clean != written:
            text = json.dumps(clean, ensure_ascii=False, separators=(",", ":"))
            return b'"scrubbed":true,"entry":' + text.encode()
    return b'"entry":' + entry.data


async def document_lines(
    store: EventStore, session_id: str, children: Sequence[str], *, scrub: Scrub | None = None
) -> AsyncIterator[bytes]:
    """Yield one JSON document: ``{"format", "session", "children", "entries"}``, one entry on each line."""
    cards = [asdict(await store.card(member)) for member in (session_id, *children)]
    about = {"format": FORMAT, "session": cards[0], "children": cards[1:]}
    clean = about if scrub is None else scrubbed(about, scrub)
    yield json.dumps(clean, ensure_ascii=False).encode()[:-1] + b',"entries":[\n'
    before = b""
    for member, card in zip((session_id, *children), cards, strict=True):
        async for line in exported_lines(store, member, scrub=scrub, head=card["head"]):
            yield before + line.removesuffix(b"\n")
            before = b",\n"
    yield b"\n" + _DOCUMENT_END + b"\n"


# --- checking what was exported ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check of exported lines found."""

    sessions: int
    entries: int
    scrubbed: int
    problem: str = ""
    """The first line that is not as it was exported; empty when all are."""


def checked(lines: Iterable[bytes]) -> Checked:
    """Check lines as ``exported_lines`` yields them, of one session or of several in turn (pure).

    They may be the lines of a document as ``document_lines`` makes it; then none may be missing at the end.
    """
    ends: dict[bytes, _End] = {}
    heads: Mapping[str, int] = {}
    entries = hidden = 0
    for number, line in enumerate(lines, start=1):
        line = line.strip().removesuffix(b",")
        if number == 1 and line.startswith(_DOCUMENT):
            heads = _heads(line)
            continue
        if not line or line == _DOCUMENT_END:
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            return Checked(len(ends), entries, hidden, f"line {number} is no exported entry")
        session_id, hash, mark, data = found.groups()
        end = ends.setdefault(session_id, _End())
        problem = end.take(data, bytes.fromhex(hash.decode()), is_scrubbed=mark is not None)
        if problem:
            return Checked(len(ends), entries, hidden, f"line {number}: {problem}")
        entries += 1
        hidden += mark is not None
    return Checked(len(ends), entries, hidden, _missing(heads, ends))


def _heads(line: bytes) -> Mapping[str, int]:
    """How many entries each session of a document has."""
    document = json.loads(line + _DOCUMENT_END)
    return {card["session_id"]: card["head"] for card in (document["session"], *document["children"])}


def _missing(heads: Mapping[str, int], ends: Mapping[bytes, "_End"]) -> str:
    for session_id, head in heads.items():
        end = ends.get(json.dumps(session_id).encode())
        found = 0 if end is None else end.seq
        if found < head:
            return f"{head - found} of {head} entries of {session_id} are missing at the end"
    return ""


@dataclass(slots=True)
class _End:
    """How far one log was checked."""

    seq: int = 0
    hash: bytes = FIRST_HASH

    def take(self, data: bytes, hash: bytes, *, is_scrubbed: bool) -> str:
        """Take the next entry; return what is wrong with it."""
        found = _SEQ.match(data)
        if found is None or int(found[1]) != self.seq + 1:
            return f"entry {self.seq + 1} should stand here"
        if not is_scrubbed and chained(self.hash, data) != hash:
            return f"entry {self.seq + 1}, or the hash before it, is not as it was written"
        self.seq, self.hash = self.seq + 1, hash
        return ""
