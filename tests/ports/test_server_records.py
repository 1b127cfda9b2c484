"""The promises of ``ServerRecords``, kept by both implementations; then what only files can show."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from toolwright.backends.server_records.files import FileRecords
from toolwright.backends.server_records.memory import MemoryRecords
from toolwright.contracts.errors import SettingsError
from toolwright.contracts.mcp_servers import ServerRecords

pytestmark = pytest.mark.anyio

MAKERS: dict[str, Callable[[Path], ServerRecords]] = {
    "memory": lambda folder: MemoryRecords(),
    "files": lambda folder: FileRecords(str(folder / "mcp")),
}
TOOL = {"description": "Say it.\u202e", "input_schema": {"type": "object"}}


@pytest.fixture(params=MAKERS)
def records(request: pytest.FixtureRequest, tmp_path: Path) -> ServerRecords:
    return MAKERS[request.param](tmp_path)


async def test_nothing_is_known_at_first(records: ServerRecords) -> None:
    assert await records.approved("/work/a") == {}
    assert await records.pins("srv-1") == {}


async def test_an_approval_holds_for_its_project_until_it_is_taken_back(records: ServerRecords) -> None:
    await records.approve("/work/a", "srv", "one")
    await records.approve("/work/a", "other", "two")
    await records.approve("/work/a", "srv", "three")
    assert await records.approved("/work/a") == {"srv": "three", "other": "two"}
    assert await records.approved("/work/b") == {}
    await records.approve("/work/a", "srv", "")
    assert await records.approved("/work/a") == {"other": "two"}


async def test_pins_are_kept_by_server_and_replaced_by_name(records: ServerRecords) -> None:
    await records.pin("srv-1", {"say": TOOL, "stay": {"description": "old"}})
    await records.pin("srv-1", {"stay": {"description": "new"}})
    await records.pin("../srv/2", {"say": {"description": "another"}})
    assert await records.pins("srv-1") == {"say": TOOL, "stay": {"description": "new"}}
    assert await records.pins("../srv/2") == {"say": {"description": "another"}}


# --- files ---


async def test_what_is_in_files_is_found_by_the_next_process(tmp_path: Path) -> None:
    await FileRecords(str(tmp_path / "mcp")).approve("/work/a", "srv", "one")
    assert await FileRecords(str(tmp_path / "mcp")).approved("/work/a") == {"srv": "one"}
    assert (tmp_path / "mcp").stat().st_mode & 0o077 == 0
    assert {path.name for path in (tmp_path / "mcp").iterdir()} == {".lock", "approved.json"}


async def test_nobody_overwrites_what_another_writes_at_the_same_time(tmp_path: Path) -> None:
    both = [FileRecords(str(tmp_path)), FileRecords(str(tmp_path))]
    await asyncio.gather(*(both[n % 2].pin("srv", {f"tool_{n}": {"n": n}}) for n in range(20)))
    assert len(await both[0].pins("srv")) == 20


@pytest.mark.parametrize("text", ["{not json", "[]", '{"/work/a": "flat"}'])
async def test_a_file_that_is_broken_is_named_and_not_overwritten(tmp_path: Path, text: str) -> None:
    (tmp_path / "approved.json").write_text(text)
    records = FileRecords(str(tmp_path))
    with pytest.raises(SettingsError, match=r"approved\.json"):
        await records.approved("/work/a")
    with pytest.raises(SettingsError, match=r"approved\.json"):
        await records.approve("/work/a", "srv", "one")
    assert (tmp_path / "approved.json").read_text() == text


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="cannot be"):
        await FileRecords(str(tmp_path / "file" / "mcp")).approve("/work/a", "srv", "one")
