"""Several processes on one file: claims, take-overs, news of each other's entries, and sudden death."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio.abc import ByteReceiveStream

from toolwright.backends.storage.sqlite import SqliteEvents
from toolwright.contracts.storage import SessionBusy, StaleEpoch
from toolwright.testing.event_store import card_of, entries_after

pytestmark = pytest.mark.anyio

GUARD = 60
OTHER = """if True:
    import asyncio, sys
    from toolwright.backends.storage.sqlite import SqliteEvents
    from toolwright.testing.event_store import entries_after

    def line():
        return asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)

    async def main():
        last = None
        async with SqliteEvents(sys.argv[1]) as store:
            while words := (await line()).split():
                try:
                    match words:
                        case ["claim"]:
                            epoch = await store.claim("s", "the other")
                            last = ([None] + list(await store.read("s")))[-1]
                            print("claimed", epoch, flush=True)
                        case ["append", count]:
                            entries = entries_after(last, int(count))
                            await store.append("s", entries, epoch=epoch)
                            last = entries[-1]
                            print("appended", last.seq, flush=True)
                        case ["append-for-ever"]:
                            while True:
                                entries = entries_after(last, 3)
                                for entry in entries:
                                    written = store.append("s", [entry], epoch=epoch)
                                await written
                                last = entries[-1]
                                print("appended", last.seq, flush=True)
                        case ["remove"]:
                            await store.remove("s")
                            print("removed", flush=True)
                except Exception as error:
                    print(type(error).__name__, flush=True)

    asyncio.run(main())
"""


class Other:
    """Another process with the same store; told what to do line by line."""

    def __init__(self, process: anyio.abc.Process) -> None:
        self.process = process
        assert process.stdout is not None
        self._output: ByteReceiveStream = process.stdout
        self._left = b""

    async def does(self, command: str) -> str:
        await self.begins(command)
        return await self.says()

    async def begins(self, command: str) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.send(command.encode() + b"\n")

    async def says(self) -> str:
        with anyio.fail_after(GUARD):
            while b"\n" not in self._left:
                self._left += await self._output.receive()
        line, _, self._left = self._left.partition(b"\n")
        return line.decode()

    async def dies(self) -> list[str]:
        """Kill it; return all it had said until then."""
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()
        async for more in self._output:
            self._left += more
        return self._left.decode().split("\n")[:-1]


Start = Callable[[], Awaitable[Other]]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "toolwright.db")


@asynccontextmanager
async def other_process(path: str) -> AsyncIterator[Other]:
    async with await anyio.open_process([sys.executable, "-c", OTHER, path], stderr=None) as process:
        try:
            yield Other(process)
        finally:
            if process.returncode is None:
                process.kill()


async def test_a_session_is_busy_while_another_process_that_lives_has_it(path: str) -> None:
    async with SqliteEvents(path) as store:
        await store.create(card_of("s"))
        async with other_process(path) as other:
            assert await other.does("claim") == "claimed 1"
            with pytest.raises(SessionBusy, match=r"another process \(the other\)"):
                await store.claim("s", "me")
            assert await store.is_held("s")
            await other.dies()

            assert not await store.is_held("s")
            assert await store.claim("s", "me") == 2


async def test_whoever_was_taken_over_cannot_append_any_more(path: str) -> None:
    async with SqliteEvents(path) as store:
        await store.create(card_of("s"))
        epoch = await store.claim("s", "me")
        await store.append("s", entries_after(None, 1), epoch=epoch)
        await store.release("s", epoch=epoch)
        async with other_process(path) as other:
            assert await other.does("claim") == "claimed 2"
            assert await other.does("append 2") == "appended 3"

            log = await store.read("s")
            with pytest.raises(StaleEpoch):
                await store.append("s", entries_after(log[-1], 1), epoch=epoch)
            assert await other.does("append 1") == "appended 4"
        assert await store.verify("s") is None


async def test_entries_of_another_process_are_noticed(path: str) -> None:
    async with SqliteEvents(path) as store:
        await store.create(card_of("s"))
        async with other_process(path) as other:
            await other.does("claim")
            for seq in (1, 2, 3):
                waiting = asyncio.ensure_future(store.changed("s", after=seq - 1))
                await anyio.wait_all_tasks_blocked()
                assert not waiting.done()
                assert await other.does("append 1") == f"appended {seq}"
                with anyio.fail_after(GUARD):
                    assert await waiting == seq


async def test_waiting_ends_when_another_process_removes_the_session(path: str) -> None:
    async with SqliteEvents(path) as store:
        await store.create(card_of("s"))
        waiting = asyncio.ensure_future(store.changed("s", after=0))
        async with other_process(path) as other:
            assert await other.does("remove") == "removed"
            with anyio.fail_after(GUARD):
                result = (await asyncio.gather(waiting, return_exceptions=True))[0]
        assert type(result).__name__ == "UnknownSession"


async def test_two_processes_append_side_by_side(path: str) -> None:
    async with SqliteEvents(path) as store:
        for name in ("s", "mine"):
            await store.create(card_of(name))
        async with other_process(path) as other:
            await other.does("claim")
            await other.begins("append-for-ever")
            log = entries_after(None, 100)
            for entry in log:
                await store.append("mine", [entry], epoch=0)
            await other.says()
            await other.dies()
        assert await store.read("mine") == log
        assert await store.verify("mine") is None
        assert await store.verify("s") is None


async def test_sudden_death_loses_nothing_that_was_acknowledged(path: str) -> None:
    async with SqliteEvents(path) as store:
        await store.create(card_of("s"))
        for round in range(3):
            async with other_process(path) as other:
                assert await other.does("claim") == f"claimed {2 * round + 1}"
                await other.begins("append-for-ever")
                said = [await other.says() for _ in range(5)]
                said += await other.dies()
            acknowledged = int(said[-1].split()[1])

            log = await store.read("s")
            assert len(log) >= acknowledged
            assert await store.verify("s") is None
            epoch = await store.claim("s", "me")
            await store.append("s", entries_after(log[-1], 1), epoch=epoch)
            await store.release("s", epoch=epoch)


async def test_files_of_dead_owners_are_swept_away(path: str, tmp_path: Path) -> None:
    async with SqliteEvents(path) as store:
        await store.create(card_of("s"))
        await store.create(card_of("other"))
        async with other_process(path) as other:
            await other.does("claim")
            await other.dies()
        assert len(list(tmp_path.glob("*-owner-*"))) == 1
        await store.claim("other", "me")
        assert len(list(tmp_path.glob("*-owner-*"))) == 1
        await store.claim("s", "me")
    assert list(tmp_path.glob("*-owner-*")) == []
