"""Files named in a message."""

import pytest

from toolwright.surfaces.chat.mentions import begun, mentioned, ranked, written

FILES = {"a.py", "src/app.py", "my notes.txt", "what?", "~/x"}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("look at @a.py", ["a.py"]),
        ("@src/app.py and @a.py, please", ["src/app.py", "a.py"]),
        ("(see @a.py)", ["a.py"]),
        ("see (@a.py)", ["a.py"]),
        ("see @a.py).", ["a.py"]),
        ("is it @what?", ["what?"]),
        ('read @"my notes.txt" now', ["my notes.txt"]),
        ("@~/x", ["~/x"]),
        ("twice @a.py @a.py", ["a.py"]),
        ("mail me@a.py", []),
        ("@nobody said @", []),
        ("line\n@a.py\n", ["a.py"]),
        ('@"" @"a.py', []),
    ],
)
def test_files_that_there_are_are_found(text: str, named: list[str]) -> None:
    assert mentioned(text, FILES.__contains__) == named


@pytest.mark.parametrize(
    ("before", "typed"),
    [
        ("@", ""),
        ("look at @sr", "sr"),
        ("look at @src/a", "src/a"),
        ('look at @"my no', "my no"),
        ("look at @a.py ", None),
        ('look at @"my notes.txt"', None),
        ("me@a", None),
        ("", None),
    ],
)
def test_what_is_typed_of_a_name_is_known(before: str, typed: str | None) -> None:
    assert begun(before) == typed


@pytest.mark.parametrize("path", ["a.py", "src/app.py", "my notes.txt", "a\tb"])
def test_what_is_written_is_found_again(path: str) -> None:
    assert mentioned(f"see {written(path)} there", {path}.__contains__) == [path]


@pytest.mark.parametrize(
    ("typed", "order"),
    [
        ("app", ["app.py", "src/app.py", "src/snapper.py", "src/app/main.py", "a/p/p.txt"]),
        ("src/", ["src/app.py", "src/snapper.py", "src/app/main.py"]),
        ("SNAP", ["src/snapper.py"]),
        ("zzz", []),
    ],
)
def test_the_likeliest_files_come_first(typed: str, order: list[str]) -> None:
    paths = ["a/p/p.txt", "src/app/main.py", "src/snapper.py", "src/app.py", "app.py"]
    assert ranked(paths, typed, 10) == order


def test_no_more_than_asked_for_are_offered() -> None:
    assert len(ranked([f"{number}.py" for number in range(100)], "", 7)) == 7
