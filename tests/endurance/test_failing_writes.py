"""Every write of a session fails once, for a while, or for want of room: no acknowledgement is ever wrong."""

import asyncio
from itertools import product
from pathlib import Path

import pytest
from tests.endurance.failing_writes import FailingCommit, FailingInsert, Fault, FullFile, Story, Told

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
_AT_ONCE = 8
NEVER = 1_000_000


async def _writes(folder: Path) -> int:
    """Return how many writes the session has when none fails."""
    fault = Fault(NEVER, lasting=False)
    told = await Story(folder, fault).lived()
    assert told.problems == []
    assert told.reasons == []
    return fault.writes


@pytest.mark.parametrize(
    ("kind", "lasting"),
    [
        pytest.param(kind, lasting, id=f"{kind.__name__}-{'until_there_is_room' if lasting else 'once'}")
        for kind, lasting in product((Fault, FailingInsert, FailingCommit, FullFile), (False, True))
        if (kind, lasting) != (FullFile, False)  # a file that cannot grow stays so
    ],
)
async def test_whichever_write_fails_what_was_acknowledged_is_there_and_the_session_goes_on(
    tmp_path: Path, kind: type[Fault], lasting: bool
) -> None:
    most = await _writes(tmp_path / "none")
    assert most > 10
    places = asyncio.Semaphore(_AT_ONCE)
    seen: list[tuple[int, Fault, Told]] = []

    async def lived(at: int) -> None:
        fault = kind(at, lasting=lasting)
        async with places, asyncio.timeout(60):
            seen.append((at, fault, await Story(tmp_path / f"at{at}", fault).lived()))

    async with asyncio.TaskGroup() as stories:
        for at in range(1, most + 1):
            stories.create_task(lived(at))
    assert [(at, told.problems) for at, _, told in seen if told.problems] == []
    assert sum(fault.failed > 0 for _, fault, _ in seen) > most / 2, "hardly any write failed"
    assert any(told.reasons for _, _, told in seen)
