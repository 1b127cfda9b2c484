"""What every blob store must do."""

import hashlib
import os
import resource
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from toolwright.backends.blobs.files import FileBlobs
from toolwright.backends.blobs.memory import MemoryBlobs
from toolwright.backends.blobs.naming import MOST_BYTES
from toolwright.contracts.ports import Blob, BlobStore

pytestmark = pytest.mark.anyio


class HandClock:
    """A clock that a test moves; it starts at the machine's time because files carry that."""

    def __init__(self) -> None:
        self.time = os.stat("/proc/self").st_ctime

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(params=["files", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path, clock: HandClock) -> BlobStore:
    makers: dict[str, Callable[[], BlobStore]] = {
        "files": lambda: FileBlobs(str(tmp_path / "results"), clock),
        "memory": lambda: MemoryBlobs(clock),
    }
    return makers[request.param]()


async def test_what_was_put_is_read_back(blobs: BlobStore) -> None:
    data = "Grüße\n".encode()

    blob = await blobs.put("call_1", data)

    assert blob == Blob(blob.path, size=len(data), sha256=hashlib.sha256(data).hexdigest())
    assert os.path.isabs(blob.path)
    assert os.path.basename(blob.path) == "call_1.txt"
    assert await blobs.read(blob.path) == data


async def test_a_second_put_under_one_name_makes_a_second_blob(blobs: BlobStore) -> None:
    stored = [await blobs.put("call_1", data, suffix=".json") for data in (b"1", b"2", b"3")]

    assert [os.path.basename(blob.path) for blob in stored] == [
        "call_1.json",
        "call_1-2.json",
        "call_1-3.json",
    ]
    assert [await blobs.read(blob.path) for blob in stored] == [b"1", b"2", b"3"]


@pytest.mark.parametrize(
    ("name", "suffix", "expected"),
    [
        ("../../etc/passwd", ".txt", "etc-passwd.txt"),
        ("a\x00b\n", ".txt", "a-b.txt"),
        ("", ".txt", "blob.txt"),
        ("..", ".txt", "blob.txt"),
        ("x", "/../../y", "x.bin"),
        ("n" * 300, ".txt", "n" * 100 + ".txt"),
    ],
)
async def test_names_from_outside_stay_inside_the_store(
    blobs: BlobStore, name: str, suffix: str, expected: str
) -> None:
    blob = await blobs.put(name, b"x", suffix=suffix)

    assert os.path.basename(blob.path) == expected
    assert await blobs.read(blob.path) == b"x"


async def test_a_text_above_the_limit_is_cut_with_a_closing_notice(blobs: BlobStore) -> None:
    blob = await blobs.put("long", b"x" * (MOST_BYTES + 1))

    kept = await blobs.read(blob.path)
    assert (blob.size, len(kept)) == (MOST_BYTES, MOST_BYTES)
    assert kept.endswith(b"x\n[... cut here: only the first 64 MiB are kept ...]\n")


async def test_anything_else_above_the_limit_is_refused(blobs: BlobStore) -> None:
    with pytest.raises(OSError, match="too large"):
        await blobs.put("long", b"x" * (MOST_BYTES + 1), suffix=".pdf")


@pytest.mark.parametrize("path", ["/nowhere/x.txt", "relative.txt", "/etc/hostname"])
async def test_reading_what_was_never_put_fails(blobs: BlobStore, path: str) -> None:
    with pytest.raises(FileNotFoundError):
        await blobs.read(path)


async def test_old_blobs_are_dropped(blobs: BlobStore, clock: HandClock) -> None:
    old = await blobs.put("old", b"1")
    assert await blobs.drop_older_than(3600) == 0
    await clock.sleep(7200)

    assert await blobs.drop_older_than(3600) == 1
    with pytest.raises(FileNotFoundError):
        await blobs.read(old.path)
    assert await blobs.drop_older_than(3600) == 0


async def test_files_are_readable_by_their_owner_only(tmp_path: Path, clock: HandClock) -> None:
    blob = await FileBlobs(str(tmp_path / "deep" / "results"), clock).put("x", b"1")

    assert stat.S_IMODE(os.stat(blob.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(blob.path)).st_mode) == 0o700


async def test_a_link_laid_in_the_folder_is_neither_followed_nor_read(
    tmp_path: Path, clock: HandClock
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "x.txt").symlink_to(victim)
    blobs = FileBlobs(str(folder), clock)

    blob = await blobs.put("x", b"1")

    assert blob.path == str(folder / "x-2.txt")
    assert victim.read_text() == "mine"
    with pytest.raises(OSError, match="symbolic links"):
        await blobs.read(str(folder / "x.txt"))


async def test_a_blob_that_cannot_be_written_whole_leaves_nothing(tmp_path: Path, clock: HandClock) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            await FileBlobs(str(tmp_path / "results"), clock).put("x", b"1" * 1_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert os.listdir(tmp_path / "results") == []


async def test_dropping_from_a_folder_that_was_never_made_drops_nothing(
    tmp_path: Path, clock: HandClock
) -> None:
    assert await FileBlobs(str(tmp_path / "results"), clock).drop_older_than(0) == 0


async def test_a_folder_that_cannot_be_written_is_an_os_error(tmp_path: Path, clock: HandClock) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(OSError, match="file"):
        await FileBlobs(str(tmp_path / "file" / "results"), clock).put("x", b"1")
