"""What was typed before, kept for the next conversation."""

import json
import os
import stat
from pathlib import Path

import pytest

from toolwright.surfaces.chat.history import LONGEST_KEPT, MOST_KEPT, InputHistory, read


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "typed.jsonl"


def kept(path: Path) -> list[str]:
    return list(InputHistory(str(path)).load_history_strings())


def test_what_was_typed_comes_back_with_the_newest_first(path: Path) -> None:
    history = InputHistory(str(path))
    for text in ("one", "two\nlines", "日本語 \u2028", "one"):
        history.store_string(text)
    assert kept(path) == ["one", "日本語 \u2028", "two\nlines"]


def test_nobody_else_may_read_it(path: Path) -> None:
    old = os.umask(0)
    try:
        InputHistory(str(path)).store_string("secret")
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_only_so_much_is_kept(path: Path) -> None:
    history = InputHistory(str(path))
    for number in range(MOST_KEPT + 5):
        history.store_string(f"line {number}")
    assert kept(path)[:1] == [f"line {MOST_KEPT + 4}"]
    assert len(read(str(path))) == MOST_KEPT
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [name.name for name in path.parent.iterdir()] == ["typed.jsonl"]


def test_a_text_that_is_too_long_is_not_kept(path: Path) -> None:
    InputHistory(str(path)).store_string("x" * (LONGEST_KEPT + 1))
    assert not path.exists()


def test_two_conversations_add_to_one_file(path: Path) -> None:
    first, second = InputHistory(str(path)), InputHistory(str(path))
    first.store_string("a")
    second.store_string("b")
    first.store_string("c")
    assert kept(path) == ["c", "b", "a"]


def test_lines_that_are_none_of_ours_are_passed_over(path: Path) -> None:
    path.parent.mkdir()
    lines = ["{", json.dumps("good"), "[1]", '""', json.dumps("better"), "\udcff"]
    path.write_text("\n".join(lines), errors="surrogateescape")
    assert kept(path) == ["better", "good"]


def test_where_nothing_can_be_kept_that_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    history = InputHistory(str(blocked / "typed.jsonl"))
    history.store_string("a")
    history.store_string("b")
    [said] = [record.getMessage() for record in caplog.records]
    assert said.startswith(f"what is typed is not kept in {blocked}/typed.jsonl: ")
    assert list(history.load_history_strings()) == []
