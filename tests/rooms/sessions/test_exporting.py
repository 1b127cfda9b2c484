"""Exported lines can be checked by whoever has them, and say which of them cannot."""

import json
from collections.abc import AsyncIterator, Sequence

import pytest

from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.events import CallEnded, LoggedEvent, SessionCreated, SessionTitled
from toolwright.contracts.storage import FIRST_HASH, DamagedLog, Entry, chained
from toolwright.sessions.codec import encoded
from toolwright.sessions.exporting import checked, document_lines, exported_lines
from toolwright.testing import MemoryEvents
from toolwright.testing.event_store import card_of

pytestmark = pytest.mark.anyio

ID = 'session_"odd"'
HUGE = 2**200
EVENTS: Sequence[LoggedEvent] = (
    SessionCreated(session_id=ID, agent=AgentDefinition(name="main")),
    SessionTitled(title='{"seq":9} ],"entry":{"a":1}} — ünïcode, a secret, and a\nline'),
    CallEnded(
        call_id="c", tool="t", offered_name="t", state="done", content="x", input={"n": HUGE, "f": 1e300}
    ),
    SessionTitled(title="no more"),
)


def log_of(events: Sequence[LoggedEvent]) -> list[Entry]:
    entries, hash = [], FIRST_HASH
    for seq, event in enumerate(events, start=1):
        data = encoded(seq, 1.5, event)
        hash = chained(hash, data)
        entries.append(Entry(seq, data, hash))
    return entries


@pytest.fixture
async def store() -> AsyncIterator[MemoryEvents]:
    async with MemoryEvents() as store:
        for session_id in (ID, "session_child"):
            await store.create(card_of(session_id))
            await store.append(session_id, log_of(EVENTS), epoch=0)
        yield store


def without_secret(text: str) -> str:
    return text.replace("a secret", "[redacted]")


async def lines_of(store: MemoryEvents, *, scrubs: bool = False) -> list[bytes]:
    return [line async for line in exported_lines(store, ID, scrub=without_secret if scrubs else None)]


async def test_each_entry_stands_in_its_line_as_it_was_written(store: MemoryEvents) -> None:
    lines = await lines_of(store)

    assert [json.loads(line)["entry"] for line in lines] == [
        json.loads(entry.data) for entry in log_of(EVENTS)
    ]
    assert all(line.endswith(b"}\n") and line.count(b"\n") == 1 for line in lines)
    found = checked(lines)
    assert (found.sessions, found.entries, found.scrubbed, found.problem) == (1, 4, 0, "")


async def test_an_entry_with_a_secret_is_marked_and_all_others_can_be_checked(store: MemoryEvents) -> None:
    lines = await lines_of(store, scrubs=True)

    assert [b'"scrubbed":true' in line for line in lines] == [False, True, False, False]
    assert b"a secret" not in b"".join(lines)
    assert json.loads(lines[2])["entry"]["event"]["input"]["n"] == HUGE
    found = checked(lines)
    assert (found.entries, found.scrubbed, found.problem) == (4, 1, "")


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("scrubs", [False, True])
async def test_any_line_that_is_missing_or_not_as_it_was_is_found(
    store: MemoryEvents, number: int, scrubs: bool
) -> None:
    lines = await lines_of(store, scrubs=scrubs)
    if number < 3:
        assert checked([*lines[:number], *lines[number + 1 :]]).problem
    changed = lines[number].replace(b'"at":1.5', b'"at":2.5')
    assert changed != lines[number]
    is_scrubbed = b'"scrubbed"' in changed
    assert bool(checked([*lines[:number], changed, *lines[number + 1 :]]).problem) is not is_scrubbed
    other_hash = lines[number].replace(b'"hash":"', b'"hash":"00', 1)[:-1]
    assert checked([*lines[:number], other_hash, *lines[number + 1 :]]).problem


async def test_a_document_is_one_json_text_whose_lines_can_be_checked(store: MemoryEvents) -> None:
    text = b"".join([line async for line in document_lines(store, ID, ["session_child"])])

    document = json.loads(text)
    assert [document["session"]["session_id"], *(card["session_id"] for card in document["children"])] == [
        ID,
        "session_child",
    ]
    assert [line["session_id"] for line in document["entries"]] == [ID] * 4 + ["session_child"] * 4
    assert checked(text.splitlines(keepends=True)).problem == ""
    cut = text.splitlines(keepends=True)
    assert checked([*cut[:-3], cut[-1]]).problem == "2 of 4 entries of session_child are missing at the end"


async def test_a_damaged_log_is_not_exported_as_if_it_were_whole(store: MemoryEvents) -> None:
    log = store._logs[ID]
    log.entries[2] = log.entries[2]._replace(data=log.entries[2].data.replace(b"1.5", b"2.5"))

    written: list[bytes] = []

    async def export() -> None:
        async for line in exported_lines(store, ID):
            written.append(line)

    with pytest.raises(DamagedLog):
        await export()
    assert len(written) == 2
