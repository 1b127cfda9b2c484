"""What every store of files does."""

import hashlib
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from toolwright.backends.files.folder import FolderFiles
from toolwright.backends.files.memory import MemoryFiles
from toolwright.contracts.files import FileStore

pytestmark = pytest.mark.anyio
MAKERS: dict[str, Callable[[Path], FileStore]] = {
    "memory": lambda _: MemoryFiles(),
    "folder": lambda folder: FolderFiles(str(folder / "files")),
}


@pytest.fixture(params=MAKERS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> FileStore:
    return MAKERS[request.param](tmp_path)


async def given(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def broken() -> AsyncIterator[bytes]:
    yield b"half"
    raise ConnectionError("the client has gone")


async def whole(store: FileStore, id: str) -> bytes:
    return b"".join([piece async for piece in store.read(id)])


async def test_a_file_is_kept_whole(store: FileStore) -> None:
    kept = await store.keep("file_1", given(b"alpha", b"", b"beta"))
    assert kept.size == 9
    assert kept.sha256 == hashlib.sha256(b"alphabeta").hexdigest()
    assert await whole(store, "file_1") == b"alphabeta"
    empty = await store.keep("file_2", given())
    assert (empty.size, await whole(store, "file_2")) == (0, b"")


async def test_nothing_is_kept_of_what_broke_off(store: FileStore, tmp_path: Path) -> None:
    with pytest.raises(ConnectionError):
        await store.keep("file_1", broken())
    with pytest.raises(FileNotFoundError):
        await whole(store, "file_1")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


async def test_a_copy_is_written_where_nothing_is(store: FileStore, tmp_path: Path) -> None:
    await store.keep("file_1", given(b"alpha"))
    place = tmp_path / "deep" / "er" / "a.txt"
    await store.copy_to("file_1", str(place))
    assert place.read_bytes() == b"alpha"
    with pytest.raises(FileExistsError):
        await store.copy_to("file_1", str(place))
    with pytest.raises(FileNotFoundError):
        await store.copy_to("file_2", str(tmp_path / "b.txt"))
    assert not (tmp_path / "b.txt").exists()


async def test_a_file_is_dropped_once_and_again(store: FileStore) -> None:
    await store.keep("file_1", given(b"alpha"))
    await store.drop("file_1")
    await store.drop("file_1")
    with pytest.raises(FileNotFoundError):
        await whole(store, "file_1")


async def test_a_folder_holds_what_another_store_kept_and_nothing_half_written(tmp_path: Path) -> None:
    await FolderFiles(str(tmp_path)).keep("file_1", given(b"alpha"))
    (tmp_path / "file_2.partial").write_bytes(b"half")
    later = FolderFiles(str(tmp_path))
    assert await whole(later, "file_1") == b"alpha"
    await later.keep("file_3", given(b"gamma"))
    assert sorted(os.listdir(tmp_path)) == ["file_1", "file_3"]
    assert (tmp_path / "file_3").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("id", ["../outside", "a/b", ".", "", "file_1.partial"])
async def test_an_id_is_never_a_path(tmp_path: Path, id: str) -> None:
    with pytest.raises(FileNotFoundError):
        await whole(FolderFiles(str(tmp_path)), id)
