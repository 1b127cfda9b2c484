"""What was seen of a file, and what is forgotten."""

import threading

import pytest

from toolwright.contracts.ports import FileVersion, ReadMark
from toolwright.workspaces.read_state import SeenFiles, shows, with_range

V1, V2 = FileVersion(1, 10, "a"), FileVersion(2, 10, "b")


@pytest.mark.parametrize(
    ("before", "shown", "total", "after"),
    [
        (None, (1, 5), 5, ReadMark(V1, True, ((1, 5),))),
        (None, (1, 5), 9, ReadMark(V1, False, ((1, 5),))),
        (None, (1, 5), None, ReadMark(V1, False, ((1, 5),))),
        (ReadMark(V1, False, ((1, 5),)), (6, 9), 9, ReadMark(V1, True, ((1, 9),))),
        (ReadMark(V1, False, ((1, 5),)), (7, 9), 9, ReadMark(V1, False, ((1, 5), (7, 9)))),
        (ReadMark(V1, False, ((3, 5),)), (4, 9), 9, ReadMark(V1, False, ((3, 9),))),
        (ReadMark(V1, False, ((1, 9),)), (2, 3), 12, ReadMark(V1, False, ((1, 9),))),
        (ReadMark(V1, True), (2, 3), 9, ReadMark(V1, True, ((2, 3),))),
        (ReadMark(V2, True, ((1, 9),)), (2, 3), 9, ReadMark(V1, False, ((2, 3),))),
        (None, (1, 0), 0, ReadMark(V1, True, ((1, 0),))),
    ],
)
def test_ranges_grow_together_until_the_file_was_read_whole(
    before: ReadMark | None, shown: tuple[int, int], total: int | None, after: ReadMark
) -> None:
    assert with_range(before, V1, shown, total) == after


def test_only_lines_that_were_shown_count_as_shown() -> None:
    mark = ReadMark(V1, False, ((1, 5), (7, 9)))
    assert [shows(mark, *lines) for lines in ((1, 5), (2, 3), (5, 7), (9, 10))] == [True, True, False, False]


def test_marks_are_kept_replaced_and_forgotten() -> None:
    seen = SeenFiles()
    seen.put("/a", ReadMark(V1, True))
    seen.put("/a", ReadMark(V2, True))
    assert seen.get("/a") == ReadMark(V2, True)
    seen.forget("/a")
    seen.forget("/a")
    assert seen.get("/a") is None


def test_the_longest_untouched_file_is_forgotten_first() -> None:
    seen = SeenFiles(most=2)
    for path in ("/a", "/b"):
        seen.put(path, ReadMark(V1, True))
    seen.get("/a")
    seen.put("/c", ReadMark(V1, True))
    assert [seen.get(path) is not None for path in ("/a", "/b", "/c")] == [True, False, True]


def test_threads_may_use_it_together() -> None:
    seen = SeenFiles(most=50)

    def busy(start: int) -> None:
        for number in range(500):
            seen.put(f"/{(start + number) % 80}", ReadMark(V1, True))
            seen.forget(f"/{number % 80}")

    threads = [threading.Thread(target=busy, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert sum(seen.get(f"/{number}") is not None for number in range(80)) <= 50
