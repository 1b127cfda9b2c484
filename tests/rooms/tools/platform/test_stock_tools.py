"""The tools that come with the package, as a model calls them."""

import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolwright.contracts.network import SearchHit
from toolwright.tools.platform.read_file import MOST_BYTES
from toolwright.tools.platform.web_search import rows_of

from .houses import Desk, desk_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk_of(tmp_path) as desk:
        yield desk


async def test_a_file_comes_back_as_it_is(desk: Desk) -> None:
    (desk.root / "a.md").write_text("# Q4 Report\n\nAll well.\n")
    assert await desk.text("read_file", path="a.md") == "# Q4 Report\n\nAll well.\n"
    assert await desk.text("read_file", path=str(desk.root / "a.md")) == "# Q4 Report\n\nAll well.\n"


async def test_a_long_file_comes_in_parts_that_say_how_to_go_on(desk: Desk) -> None:
    lines = [f"line {number} of a file that is too long" for number in range(1, 3_001)]
    (desk.root / "long.txt").write_text("\n".join(lines))
    read: list[str] = []
    offset = 1
    while True:
        part = await desk.text("read_file", path="long.txt", offset=offset)
        assert len(part) <= MOST_BYTES + 200
        *shown, last = part.split("\n")
        if not last.startswith("[Lines"):
            read += [*shown, last]
            break
        read += shown
        offset = int(last.rpartition("offset=")[2].rstrip(".]"))
    assert read == lines
    assert await desk.text("read_file", path="long.txt", offset=3_000, limit=1) == lines[-1]


async def test_what_lies_outside_does_not_exist(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (desk.root / "way-out").symlink_to(tmp_path / "secret")
    for path in (str(tmp_path / "secret"), "../secret", "way-out", "nothing.txt"):
        assert (await desk.error("read_file", path=path))["error"] == "file_not_found"
    for name in ("grep", "find", "file_search"):
        words = {"grep": {"pattern": "x"}, "find": {}, "file_search": {"query": "xx"}}[name]
        assert (await desk.error(name, path=str(tmp_path), **words))["error"] == "file_not_found"


async def test_a_file_is_written_and_added_to(desk: Desk) -> None:
    answer = json.loads(await desk.text("write_file", path="new/a.txt", content="Grüße\n"))
    assert answer == {"path": str(desk.root / "new" / "a.txt"), "bytes_written": len("Grüße\n".encode())}
    await desk.text("write_file", path="new/a.txt", content="more\n", mode="append")
    assert (desk.root / "new" / "a.txt").read_text() == "Grüße\nmore\n"
    await desk.text("write_file", path="new/a.txt", content="other")
    assert (desk.root / "new" / "a.txt").read_text() == "other"


async def test_what_is_added_to_a_marked_file_has_no_mark_of_its_own(desk: Desk) -> None:
    (desk.root / "a.txt").write_bytes(b"\xef\xbb\xbfone\n")
    await desk.text("write_file", path="a.txt", content="two\n", mode="append")
    assert (desk.root / "a.txt").read_bytes() == b"\xef\xbb\xbfone\ntwo\n"


async def test_writing_outside_is_refused_where_nobody_can_be_asked(desk: Desk, tmp_path: Path) -> None:
    await desk.error("write_file", path=str(tmp_path / "x.txt"), content="x")
    assert not (tmp_path / "x.txt").exists()


@pytest.mark.sandbox
async def test_a_command_returns_output_errors_and_exit_code(desk: Desk) -> None:
    assert await desk.text("bash", command="echo hello") == "hello\n"
    said = await desk.text("bash", command="echo out; echo bad >&2; exit 3")
    assert said == "out\n[stderr]\nbad\n[exit code: 3]"
    assert await desk.text("bash", command="exit 4") == "[exit code: 4]"
    assert await desk.text("bash", command="true") == "(bash finished with no output)"


@pytest.mark.sandbox
async def test_a_command_that_takes_too_long_is_stopped(desk: Desk) -> None:
    error = await desk.error("bash", command="echo begun; sleep 60", timeout=0.5)
    assert error["error"] == "timeout"


@pytest.mark.sandbox
async def test_a_command_sees_no_variable_of_the_server(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_SECRET_OF_THE_SERVER", "x")
    assert "ENGINE_SECRET" not in await desk.text("bash", command="env")


async def test_lines_are_found(desk: Desk) -> None:
    (desk.root / "a.py").write_text("def one():\n    pass\nDEF = 1\n")
    found = await desk.text("grep", pattern="def")
    assert found.startswith(f"{desk.root}/a.py:1:def one():")
    assert "DEF" in await desk.text("grep", pattern="def", case_insensitive=True)


async def test_the_history_is_a_json_array(desk: Desk) -> None:
    for words in (
        ["git", "init", "-q"],
        [
            "git",
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.com",
            "commit",
            "-q",
            "--allow-empty",
            "-mFirst",
        ],
    ):
        subprocess.run(words, cwd=desk.root, check=True)
    (commit,) = json.loads(await desk.text("git_log", limit=3))
    assert set(commit) == {"hash", "author", "date", "subject"}
    assert commit["subject"] == "First"
    assert set(json.loads(await desk.text("git_status"))) == {"branch", "staged", "unstaged", "untracked"}


async def test_notes_are_found_again(desk: Desk) -> None:
    await desk.text("memory_episode_write", key="tea", description="What to drink", value="Assam")
    (note,) = json.loads(await desk.text("memory_search", query="drink"))
    assert (note["key"], note["value"], note["session"]) == ("tea", "Assam", "local")


async def test_without_a_search_service_the_tool_stays_and_says_so(desk: Desk) -> None:
    assert "BRAVE_API_KEY" in (await desk.error("web_search", query="x"))["hint"]


async def test_an_answer_of_a_person_cannot_be_had_in_a_single_call(desk: Desk) -> None:
    from toolwright.contracts.tool import Waiting

    outcome = (await desk.result("ask_user", question="Why?")).outcome
    assert outcome == Waiting("client_result")


def test_pages_are_rows_with_a_date_where_it_is_known() -> None:
    rows = rows_of(
        [SearchHit("A", "https://a.example", "text", "2026-01-01"), SearchHit("B", "https://b", "t")]
    )
    assert rows == [
        {"title": "A", "url": "https://a.example", "snippet": "text", "published_at": "2026-01-01"},
        {"title": "B", "url": "https://b", "snippet": "t"},
    ]
