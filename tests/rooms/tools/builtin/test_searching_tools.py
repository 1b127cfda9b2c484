"""glob, grep, find and file_search: answers, limits, promises."""

import os
from pathlib import Path
from typing import Any

import pytest

from toolwright.contracts.content import text_of
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import CallContext, CallState, Done, Tool, Touch
from toolwright.tools.builtin import find
from toolwright.tools.builtin.file_search import FileSearch, query_words
from toolwright.tools.builtin.find import Find, moment, size_range
from toolwright.tools.builtin.glob import Glob
from toolwright.tools.builtin.grep import Grep
from toolwright.workspaces import finding
from toolwright.workspaces.ripgrep import find_ripgrep, run_ripgrep
from toolwright.workspaces.workspace import open_workspace

pytestmark = pytest.mark.anyio

NOW = 1_700_000_000.0


class StoppedClock:
    def now(self) -> float:
        return NOW

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        return None


GLOB = Glob(program=find_ripgrep(), respect_ignore=True)
GREP = Grep(program=find_ripgrep(), respect_ignore=True)
FIND = Find(StoppedClock())
SEARCH = FileSearch(program=find_ripgrep())
ALL: list[Tool] = [GLOB, GREP, FIND, SEARCH]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root


@pytest.fixture
def ctx(folder: Path) -> CallContext:
    return CallContext(workspace=open_workspace([str(folder)], str(folder)))


def put(folder: Path, **files: str) -> None:
    for number, (name, text) in enumerate(files.items()):
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        stamp = int(NOW) - 1_000_000 + number
        os.utime(path, (stamp, stamp))


async def done(tool: Tool, ctx: CallContext, **input: Any) -> Done:
    outcome = await tool.call(input, ctx)
    assert isinstance(outcome, Done), outcome
    return outcome


FLAGS = [
    # tool, read-only, concurrency-safe, defer, always, limit
    (GLOB, True, True, False, True, 50_000),
    (GREP, True, True, False, True, 20_000),
    (FIND, True, True, True, False, 30_000),
    (SEARCH, True, True, True, False, 20_000),
]


@pytest.mark.parametrize(("tool", "reads", "safe", "defer", "always", "limit"), FLAGS)
async def test_promises_and_flags(
    tool: Tool, reads: bool, safe: bool, defer: bool, always: bool, limit: int
) -> None:
    traits = tool.traits({"path": "sub"})
    assert (traits.read_only, traits.concurrency_safe) == (reads, safe)
    assert not (traits.destructive)
    assert not (traits.open_world)
    assert traits.touches == (Touch("path", "sub", "read"),)
    assert (tool.spec.defer, tool.spec.always_load, tool.spec.result_limit) == (defer, always, limit)


async def test_glob_gives_the_newest_first_and_says_how_many_there_are(
    ctx: CallContext, folder: Path
) -> None:
    put(folder, a_dot_py="", sub__b_dot_py="", c_dot_txt="")
    outcome = await done(GLOB, ctx, pattern="*.py")
    assert outcome.content == f"{folder}/sub/b.py\n{folder}/a.py"
    assert outcome.data["files"] == [f"{folder}/sub/b.py", f"{folder}/a.py"]
    assert (outcome.data["total"], outcome.data["truncated"]) == (2, False)


@pytest.mark.parametrize(("count", "truncated"), [(100, False), (101, True)])
async def test_glob_shows_a_hundred_files(
    ctx: CallContext, folder: Path, count: int, truncated: bool
) -> None:
    put(folder, **{f"f{number}": "" for number in range(count)})
    outcome = await done(GLOB, ctx, pattern="f*")
    assert len(outcome.data["files"]) == 100
    assert outcome.data["truncated"] is truncated
    assert ("(100 of 101 files" in text_of(outcome.content)) is truncated


@pytest.mark.parametrize("pattern", ["../*", "/etc/*"])
async def test_glob_refuses_to_leave_its_folder(ctx: CallContext, pattern: str) -> None:
    with pytest.raises(ToolFailure) as failure:
        await GLOB.call({"pattern": pattern}, ctx)
    assert failure.value.code == "invalid_input"


@pytest.mark.parametrize(("path", "code"), [("nowhere", "file_not_found"), ("f", "not_a_directory")])
async def test_glob_needs_a_folder(ctx: CallContext, folder: Path, path: str, code: str) -> None:
    put(folder, f="")
    with pytest.raises(ToolFailure) as failure:
        await GLOB.call({"pattern": "*", "path": path}, ctx)
    assert failure.value.code == code


async def test_grep_lists_files_shows_lines_and_counts(ctx: CallContext, folder: Path) -> None:
    put(folder, a="one\ntwo two\n", b="two\n")
    files = await done(GREP, ctx, pattern="two")
    assert files.content == f"{folder}/b\n{folder}/a"
    lines = await done(GREP, ctx, pattern="two", output_mode="content")
    assert lines.content == f"{folder}/b:1:two\n{folder}/a:2:two two"
    plain = await done(GREP, ctx, pattern="TWO", output_mode="content", **{"-n": False, "-i": True})
    assert plain.content == f"{folder}/b:two\n{folder}/a:two two"
    only = await done(GREP, ctx, pattern="two", output_mode="content", **{"-o": True, "path": "a"})
    assert only.content == f"{folder}/a:2:two\n{folder}/a:2:two"
    counts = await done(GREP, ctx, pattern="two", output_mode="count")
    assert counts.content == f"{folder}/b:1\n{folder}/a:1\n2 matching lines in 2 files"


@pytest.mark.parametrize(
    "words", [{"-C": 1}, {"context": 1}, {"-A": 1, "-B": 1}, {"-C": 1, "-A": 1, "-B": 1}]
)
async def test_grep_shows_context_with_gaps_marked(
    ctx: CallContext, folder: Path, words: dict[str, int]
) -> None:
    put(folder, a="x\nhit\ny\nz\nz\nhit\n")
    outcome = await done(GREP, ctx, pattern="hit", output_mode="content", **words)
    name = f"{folder}/a"
    assert text_of(outcome.content).splitlines() == [
        f"{name}-1-x",
        f"{name}:2:hit",
        f"{name}-3-y",
        "--",
        f"{name}-5-z",
        f"{name}:6:hit",
    ]


async def test_grep_pages_through_a_long_answer(ctx: CallContext, folder: Path) -> None:
    put(folder, a="hit\n" * 5)
    first = await done(GREP, ctx, pattern="hit", output_mode="content", head_limit=2)
    assert text_of(first.content).endswith("(2 of 5 lines shown; go on with offset: 2)")
    last = await done(GREP, ctx, pattern="hit", output_mode="content", head_limit=2, offset=4)
    assert last.content == f"{folder}/a:5:hit"
    beyond = await done(GREP, ctx, pattern="hit", output_mode="content", offset=5)
    assert beyond.content == "(offset 5 is past the end: there are 5 lines)"
    everything = await done(GREP, ctx, pattern="hit", output_mode="content", head_limit=0)
    assert everything.data["total"] == 5


@pytest.mark.parametrize(("count", "more"), [(250, False), (251, True)])
async def test_grep_shows_250_entries_by_default(
    ctx: CallContext, folder: Path, count: int, more: bool
) -> None:
    put(folder, a="hit\n" * count)
    outcome = await done(GREP, ctx, pattern="hit", output_mode="content")
    assert text_of(outcome.content).count(":hit") == 250
    assert ("go on with offset: 250" in text_of(outcome.content)) is more
    assert outcome.data["matches"] == count


async def test_grep_counts_everything_even_when_the_list_is_cut(ctx: CallContext, folder: Path) -> None:
    put(folder, a="hit\n", b="hit\nhit\n", c="hit\n")
    outcome = await done(GREP, ctx, pattern="hit", output_mode="count", head_limit=1)
    assert "4 matching lines in 3 files" in text_of(outcome.content)
    assert "(1 of 3 files shown; go on with offset: 1)" in text_of(outcome.content)


async def test_grep_says_no_matches_and_passes_on_what_is_wrong_with_a_pattern(
    ctx: CallContext, folder: Path
) -> None:
    put(folder, a="x")
    assert (await done(GREP, ctx, pattern="absent")).content == "No matches."
    with pytest.raises(ToolFailure) as failure:
        await GREP.call({"pattern": "(x"}, ctx)
    assert failure.value.code == "invalid_input"
    assert "unclosed group" in failure.value.message


@pytest.mark.parametrize("program", [find_ripgrep(), None], ids=["ripgrep", "python"])
@pytest.mark.parametrize("input", [{"pattern": "a\0b"}, {"glob": "a\0b"}, {"type": "a\0b"}])
async def test_a_nul_is_refused_in_words(
    ctx: CallContext, program: str | None, input: dict[str, str]
) -> None:
    with pytest.raises(ToolFailure) as failure:
        await Grep(program=program, respect_ignore=True).call({"pattern": "x", **input}, ctx)
    assert (failure.value.code, "NUL" in failure.value.message) == ("invalid_input", True)


async def test_a_name_that_is_no_text_can_be_shown_and_recorded(ctx: CallContext, folder: Path) -> None:
    with open(os.fsencode(folder) + b"/odd\xff.txt", "w") as file:
        file.write("needle\n")
    shown = f"{folder}/odd\ufffd.txt"
    listed = {
        "files": (await done(GREP, ctx, pattern="needle")).data["files"],
        "lines": (await done(GREP, ctx, pattern="needle", output_mode="content")).data["files"],
        "glob": (await done(GLOB, ctx, pattern="*.txt")).data["files"],
        "find": (await done(FIND, ctx, name="*.txt")).data["paths"],
        "ranked": [row["path"] for row in (await done(SEARCH, ctx, query="needle")).data],
    }
    assert listed == {way: [shown] for way in listed}
    counted = await done(GREP, ctx, pattern="needle", output_mode="count")
    assert text_of(counted.content).startswith(f"{shown}:1\n")
    with pytest.raises(ToolFailure) as failure:
        await GREP.call({"pattern": "x", "path": "odd.txt"}, ctx)
    assert failure.value.details["near"] == [shown]


@pytest.fixture
def endless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A search program that finds one file and then never ends."""
    program = tmp_path / "rg"
    program.write_text("#!/bin/sh\nprintf './a\\0'\nexec tail -f /dev/null\n")
    program.chmod(0o755)
    monkeypatch.setattr(finding, "SECONDS", 0.5)
    return str(program)


@pytest.mark.parametrize(("kind", "input"), [(Glob, {"pattern": "*"}), (Grep, {"pattern": "x"})])
async def test_a_search_that_takes_too_long_says_what_it_found(
    ctx: CallContext, folder: Path, endless: str, kind: Any, input: dict[str, str]
) -> None:
    put(folder, a="x")
    outcome = await done(kind(program=endless, respect_ignore=True), ctx, **input)
    found, note = text_of(outcome.content).splitlines()
    assert (found, note.startswith("(the search was ended after 20 s")) == (f"{folder}/a", True)
    assert outcome.data["files"] == [f"{folder}/a"]
    assert outcome.data.get("truncated", True) is True


async def test_find_that_takes_too_long_says_what_it_found(
    ctx: CallContext, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, a="x", b="x")
    monkeypatch.setattr(find, "SECONDS", -1.0)
    outcome = await done(FIND, ctx)
    assert (len(outcome.data["paths"]), outcome.data["truncated"]) == (1, True)
    assert text_of(outcome.content).endswith("there may be more: start in a smaller folder)")


@pytest.mark.parametrize("more", [0, 1])
async def test_more_matches_than_can_be_kept_are_said(ctx: CallContext, tmp_path: Path, more: int) -> None:
    program = tmp_path / "rg"
    program.write_text(f"#!/bin/sh\nhead -c {999 + more} /dev/zero\n")
    program.chmod(0o755)
    with ctx.workspace.directory(".") as folder:
        run = await run_ripgrep(str(program), (), directory=folder, most_bytes=1000)
    assert (len(run.out), run.cut) == ((1000, "size") if more else (999, None))


SUMMARIES = [
    (GREP, {"pattern": "hit", "output_mode": "count"}, "3 matches in 2 files", "Searching hit"),
    (GREP, {"pattern": "absent"}, "no matches", "Searching absent"),
    (GLOB, {"pattern": "a"}, "1 file", "Finding a"),
    (GLOB, {"pattern": "?"}, "2 files", "Finding ?"),
    (FIND, {"name": "a"}, "1 found", "Finding a"),
    (SEARCH, {"query": "hit"}, "2 files", "Searching hit"),
]


@pytest.mark.parametrize(("tool", "input", "summary", "activity"), SUMMARIES)
async def test_a_person_reads_a_spinner_and_a_summary(
    ctx: CallContext, folder: Path, tool: Tool, input: dict[str, Any], summary: str, activity: str
) -> None:
    put(folder, a="hit\n", b="hit\nhit\n")
    outcome = await tool.call(input, ctx)
    state = CallState(
        call_id="c", tool=tool.spec.name, offered_name="x", input=input, phase="done", outcome=outcome
    )
    view = tool.view(state)
    assert (view.summary, view.activity, view.folds) == (summary, activity, True)


FOUND = [
    ({}, ["a.log", "sub/", "sub/b.txt", "sub/deep/"]),
    ({"type": "file"}, ["a.log", "sub/b.txt"]),
    ({"type": "directory"}, ["sub/", "sub/deep/"]),
    ({"name": "*.txt"}, ["sub/b.txt"]),
    ({"size": "+3"}, ["sub/b.txt"]),
    ({"size": "-4"}, ["a.log"]),
    ({"size": "3"}, ["a.log"]),
    ({"size": "4"}, ["sub/b.txt"]),
    ({"newer_than": "2001-01-01", "type": "file"}, ["a.log", "sub/b.txt"]),
    ({"newer_than": "1d", "type": "file"}, []),
    ({"newer_than": "30w", "type": "file"}, ["a.log", "sub/b.txt"]),
    ({"path": "sub", "type": "file"}, ["sub/b.txt"]),
]


@pytest.mark.parametrize(("input", "expected"), FOUND)
async def test_find_holds_every_condition(
    ctx: CallContext, folder: Path, input: dict[str, Any], expected: list[str]
) -> None:
    put(folder, a_dot_log="abc", sub__b_dot_txt="abcd", _dot_git__config="x")
    (folder / "sub" / "deep").mkdir()
    outcome = await done(FIND, ctx, **input)
    assert [path.removeprefix(f"{folder}/") for path in outcome.data["paths"]] == expected


async def test_find_leaves_out_what_sessions_keep(ctx: CallContext, folder: Path) -> None:
    put(folder, _dot_toolwright__sessions__log="x", _dot_toolwright__worktrees__a="x", sessions__b="x")
    outcome = await done(FIND, ctx, type="file")
    assert outcome.data["paths"] == [f"{folder}/sessions/b"]


async def test_find_says_when_there_is_more(ctx: CallContext, folder: Path) -> None:
    put(folder, a="", b="", c="")
    outcome = await done(FIND, ctx, limit=2)
    assert text_of(outcome.content).splitlines()[-1] == "(2 of 3; add conditions or raise limit)"


@pytest.mark.parametrize(
    "input", [{"newer_than": "soon"}, {"size": "big"}, {"name": "a/b"}, {"name": "[z-a]"}]
)
async def test_find_says_how_to_write_a_condition(ctx: CallContext, input: dict[str, str]) -> None:
    with pytest.raises(ToolFailure) as failure:
        await FIND.call(input, ctx)
    assert failure.value.code == "invalid_input"


def test_ages_dates_and_sizes_are_read() -> None:
    assert moment("2h", now=NOW) == NOW - 7200
    assert moment("1970-01-02", now=NOW) == 86_400
    assert moment("1970-01-01T01:00:00+01:00", now=NOW) == 0
    assert size_range("+1k") == (1025, 2**63)
    assert size_range("-1M") == (0, 1024**2 - 1)


async def test_file_search_ranks_files_about_the_words(ctx: CallContext, folder: Path) -> None:
    put(
        folder,
        retry_dot_py="def retry():\n    # wait after a rate limit\n    pass\n",
        other_dot_py="limit = 3\n" * 3,
        unrelated_dot_md="nothing here\n",
    )
    outcome = await done(SEARCH, ctx, query="retry after rate limit")
    paths = [Path(row["path"]).name for row in outcome.data]
    assert paths == ["retry.py", "other.py"]
    assert {"line": 2, "text": "# wait after a rate limit"} in outcome.data[0]["snippets"]


async def test_file_search_needs_a_word(ctx: CallContext) -> None:
    with pytest.raises(ToolFailure) as failure:
        await SEARCH.call({"query": "?!"}, ctx)
    assert failure.value.code == "invalid_input"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("How to retry?", ["how", "retry"]),
        ("to be", ["to", "be"]),
        ("user_name UserName", ["user", "name", "username"]),
    ],
)
def test_telling_words_are_taken_from_a_query(query: str, words: list[str]) -> None:
    assert query_words(query) == words


# --- what a refusal says ----------------------------------------------------------------------


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: tool.spec.name)
async def test_a_place_that_is_not_there_is_answered_with_near_names(
    ctx: CallContext, folder: Path, tool: Tool
) -> None:
    (folder / "tests").mkdir()
    known = {"pattern": "needle", "query": "needle"}
    wanted = {name: text for name, text in known.items() if name in tool.spec.input_schema["properties"]}
    with pytest.raises(ToolFailure) as caught:
        await tool.call({**wanted, "path": "test"}, ctx)
    failure = caught.value
    assert (failure.code, failure.message) == ("file_not_found", f"{folder}/test does not exist.")
    assert failure.hint == f"Did you mean {folder}/tests?"


@pytest.mark.parametrize("tool", [GLOB, FIND], ids=lambda tool: tool.spec.name)
async def test_a_file_in_place_of_a_folder_names_the_folder(
    ctx: CallContext, folder: Path, tool: Tool
) -> None:
    (folder / "a.txt").write_text("")
    with pytest.raises(ToolFailure) as caught:
        await tool.call({"pattern": "*", "path": "a.txt"} if tool is GLOB else {"path": "a.txt"}, ctx)
    failure = caught.value
    assert (failure.code, failure.message) == ("not_a_directory", f"{folder}/a.txt is not a folder.")
    assert failure.hint == f"Give the folder it is in: {folder}."


async def test_an_absolute_pattern_is_told_where_the_folder_belongs(ctx: CallContext) -> None:
    with pytest.raises(ToolFailure) as caught:
        await GLOB.call({"pattern": "/work/**/*.py"}, ctx)
    assert caught.value.hint == "Give the folder as path, and a pattern that is relative to it."


async def test_nothing_found_reminds_of_what_was_not_looked_at(ctx: CallContext, folder: Path) -> None:
    assert (await done(GLOB, ctx, pattern="*.md")).content == (
        "No files match. Files that .gitignore names are left out."
    )
    everything = Glob(program=find_ripgrep(), respect_ignore=False)
    assert (await done(everything, ctx, pattern="*.md")).content == "No files match."


async def test_a_count_of_one_file_is_worded_as_one(ctx: CallContext, folder: Path) -> None:
    put(folder, a="x\n")
    counted = await done(GREP, ctx, pattern="x", output_mode="count")
    assert counted.content == f"{folder}/a:1\n1 matching line in 1 file"
    view = SEARCH.view(
        CallState(
            call_id="c",
            tool="file_search",
            offered_name="file_search",
            input={"query": "x"},
            phase="done",
            outcome=Done("", data=[{}]),
        )
    )
    assert view.summary == "1 file"


async def test_a_type_that_does_not_exist_is_told_apart_from_a_bad_pattern(ctx: CallContext) -> None:
    for program in (find_ripgrep(), None):
        tool = Grep(program=program, respect_ignore=True)
        with pytest.raises(ToolFailure) as caught:
            await tool.call({"pattern": "x", "type": "nonsense"}, ctx)
        assert (caught.value.code, "type" in caught.value.hint) == ("invalid_input", True)


@pytest.mark.parametrize("program", [find_ripgrep(), None], ids=["ripgrep", "python"])
@pytest.mark.parametrize(
    ("input", "expected"),
    [
        ({"glob": "*.log"}, set()),
        ({"glob": "*.{log,md}"}, {"c.md"}),
        ({"glob": "*.{md,txt}", "type": "md"}, {"c.md"}),
        ({"glob": "!*.md"}, {"b.txt", "sub/d.txt"}),
        ({"glob": "sub/*.txt"}, {"sub/d.txt"}),
        ({"glob": "*.txt", "output_mode": "content"}, {"b.txt:1:needle", "sub/d.txt:1:needle"}),
        ({"path": "a.log", "glob": "*.log"}, {"a.log"}),
    ],
)
async def test_a_glob_narrows_and_never_widens(
    ctx: CallContext, folder: Path, program: str | None, input: dict[str, Any], expected: set[str]
) -> None:
    put(folder, _dot_gitignore="*.log\n", a_dot_log="needle", b_dot_txt="needle", c_dot_md="needle")
    put(folder, sub__d_dot_txt="needle")
    outcome = await done(Grep(program=program, respect_ignore=True), ctx, pattern="needle", **input)
    lines = text_of(outcome.content).splitlines()
    assert {line.removeprefix(f"{folder}/") for line in lines if line.startswith("/")} == expected
