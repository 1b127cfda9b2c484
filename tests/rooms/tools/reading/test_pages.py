"""Pages of text agree with the plain way of splitting, wherever chunks happen to end."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolwright.tools.reading import pages
from toolwright.tools.reading.pages import Wanted, read_page
from toolwright.workspaces.files import CheckedFile
from toolwright.workspaces.text import decoded, lines_of

PIECES = st.lists(st.sampled_from(["a", "é", "漢", "\n", "\r\n", "\r", " ", "xyz" * 4, "\x0c"]), max_size=40)
CODECS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"])


def opened(path: Path, data: bytes) -> CheckedFile:
    path.write_bytes(data)
    return CheckedFile(os.open(path, os.O_RDONLY), str(path), hard_links=False)


@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    pieces=PIECES,
    codec=CODECS,
    chunk=st.integers(1, 9),
    offset=st.integers(1, 12),
    limit=st.none() | st.integers(1, 12),
)
def test_every_chunk_size_gives_the_same_lines(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pieces: list[str],
    codec: str,
    chunk: int,
    offset: int,
    limit: int | None,
) -> None:
    monkeypatch.setattr(pages, "_CHUNK", chunk)
    monkeypatch.setattr(pages, "LONGEST_LINE", 10)
    data = "".join(pieces).encode(codec, "replace")
    with opened(tmp_path / "f", data) as file:
        page = read_page(file, Wanted(offset, limit), most_tokens=25_000)
    plain = lines_of(decoded(data).text)
    last = offset - 1 + (limit or pages.PAGE_LINES)
    shown = [line if len(line) <= 10 else f"{line[:10]}… (+{len(line) - 10})" for line in plain]
    assert (list(page.lines), page.total) == (shown[offset - 1 : last], len(plain))


def test_a_page_knows_the_version_it_shows(tmp_path: Path) -> None:
    with opened(tmp_path / "f", b"a\nb\n") as file:
        first = read_page(file, Wanted(), most_tokens=100)
    with opened(tmp_path / "g", b"a\nb\n") as file:
        second = read_page(file, Wanted(2), most_tokens=100)
    assert first.version.sha256 == second.version.sha256
    assert (first.partial, second.partial) == (False, True)
