"""``toolwright sessions``: what is listed, shown, followed, exported, forked and removed."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from toolwright.contracts.storage import FIRST_HASH, chained
from toolwright.surfaces.cli.completing import session_ids, short_ids
from toolwright.surfaces.cli.session_lists import ago, counted, dollars

from .projects import MENDING, READ, Project
from .terminals import Terminal

SECRET = "tr0ub4dor-and-3-more"
COMMAND = "import sys; sys.argv[0] = 'toolwright'; from toolwright.surfaces.cli.main import main; main()"
GATED = '''
import os
from toolwright import tool


@tool
def wait(before: str = "") -> str:
    """Say that it has begun, then wait until somebody lets go."""
    with open("begun", "w") as begun:
        begun.write("begun")
    with open("gate") as gate:
        return "let go with " + gate.read()
'''


@pytest.fixture
def session(project: Project) -> str:
    """The id of a session with words, calls and two runs."""
    model = project.script([["I look.", READ], "It **subtracts**.", "Bye."], continues=True)
    project.run("run", "What does it do?", "-m", model)
    project.run("run", "Thank you", "--continue")
    return project.last()


# --- list -------------------------------------------------------------------------------------------


def test_where_there_are_none_it_is_said_how_to_begin_one(project: Project) -> None:
    assert "There are no sessions here. Begin one: toolwright run" in project.run("sessions", "list").stdout
    assert project.json("sessions", "list") == []
    assert not (project.folder / ".toolwright").exists()


def test_a_list_has_what_tells_sessions_apart(project: Project, session: str) -> None:
    head, line = project.run("sessions", "list").stdout.splitlines()

    assert head.split() == ["ID", "STATUS", "AGE", "MODEL", "TOKENS", "COST", "TITLE"]
    assert line.split()[0] == session.removeprefix("session_")[:8]
    assert {"idle", "scripted/script.json"} <= set(line.split())
    assert line.rstrip().endswith("What does it do?")


def test_a_list_for_programs_has_whole_cards(project: Project, session: str) -> None:
    [card] = project.json("sessions", "list")

    assert (card["session_id"], card["status"], card["agent"]) == (session, "idle", "main")
    assert (card["title"], card["model"]) == ("What does it do?", "scripted/script.json")
    assert card["project"] == str(project.folder)
    assert card["tokens"] > 0
    assert card["head"] == len(project.events(session))


@pytest.mark.parametrize("width", [20, 40, 75])
def test_where_a_table_has_no_room_each_session_has_two_lines(
    project: Project, session: str, width: int
) -> None:
    lines = project.run("sessions", "list", env={"COLUMNS": str(width)}).stdout.splitlines()

    assert lines[0].startswith(f"{session.removeprefix('session_')[:8]} idle")
    assert lines[1].startswith("  What does it")
    assert len(lines) == 2
    assert max(map(len, lines)) <= width


def test_a_list_can_be_narrowed(project: Project, session: str) -> None:
    project.run("run", "Another", "-m", project.script(["Hello."]))

    assert len(project.json("sessions", "list")) == 2
    assert len(project.json("sessions", "list", "--limit", "1")) == 1
    assert project.json("sessions", "list", "--status", "waiting") == []
    assert len(project.json("sessions", "list", "--status", "idle")) == 2
    assert "--status is idle, running, waiting or ended" in project.refused(
        "sessions", "list", "--status", "x"
    )
    del session


def test_sessions_of_other_folders_that_share_a_database_are_listed_on_request(
    project: Project, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    del session
    shared = project.folder.parent / "shared"
    monkeypatch.setenv("TOOLWRIGHT_HOME", str(shared))
    other = project.folder.parent / "other"
    other.mkdir()
    project.run("run", "Here", "-m", project.script(["Here."]))
    (other / "script.json").write_text('["There."]')
    project.run("run", "There", "-m", "scripted/script.json", "--dir", str(other))

    titles = [card["title"] for card in project.json("sessions", "list")]
    everywhere = [card["title"] for card in project.json("sessions", "list", "--all")]
    there = [card["title"] for card in project.json("sessions", "list", "--dir", str(other))]

    assert (titles, everywhere, there) == (["Here"], ["There", "Here"], ["There"])


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.0, "now"), (59, "59 s"), (61, "1 min"), (7_300, "2 h"), (200_000, "2 d")]
)
def test_an_age_is_said_in_one_unit(seconds: float, said: str) -> None:
    assert ago(seconds) == said


def test_counts_and_costs_are_said_in_few_characters() -> None:
    assert [counted(number) for number in (0, 12, 1_234, 2_500_000)] == ["", "12", "1.2k", "2.5M"]
    assert [dollars(cost) for cost in (0.0, 0.00123, 12.5)] == ["", "$0.0012", "$12.50"]


# --- which session is meant ---------------------------------------------------------------------------


def test_as_much_of_an_id_is_shown_as_it_takes() -> None:
    ids = [f"session_{name}" for name in ("0123456789", "0123456788", "abc")]
    assert list(short_ids(ids).values()) == ["0123456789", "0123456788", "abc"]


@pytest.mark.parametrize("command", ["show", "tail", "export", "fork", "rm"])
def test_a_session_that_there_is_not_is_named(project: Project, session: str, command: str) -> None:
    del session
    assert "There is no session 'zz'" in project.refused("sessions", command, "zz")


@pytest.mark.parametrize("command", ["show", "tail", "export", "fork"])
def test_without_a_name_the_last_used_is_meant(project: Project, session: str, command: str) -> None:
    named = project.run("sessions", command, session)
    unnamed = project.run("sessions", command)
    if command != "fork":
        assert named.stdout == unnamed.stdout


def test_where_there_is_no_database_none_is_made(project: Project) -> None:
    assert "There are no sessions yet in" in project.refused("sessions", "show")
    assert not (project.folder / ".toolwright").exists()


def test_a_shell_offers_ids_with_titles(project: Project, session: str) -> None:
    short = session.removeprefix("session_")[:8]

    assert session_ids("") == [(short, "What does it do?")]
    assert session_ids(short[:3]) == [(short, "What does it do?")]
    assert session_ids("session_") == [(session, "What does it do?")]
    assert session_ids("zz") == []
    done = subprocess.run(
        [sys.executable, "-c", COMMAND],
        env={
            **os.environ,
            "_TOOLWRIGHT_COMPLETE": "complete_bash",
            "COMP_WORDS": "toolwright sessions show ",
            "COMP_CWORD": "3",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=project.folder,
    )
    assert done.stdout.split() == [short]


def test_completing_is_silent_where_nothing_can_be_read(project: Project) -> None:
    assert session_ids("") == []
    (project.folder / ".toolwright").mkdir()
    (project.folder / ".toolwright/toolwright.db").write_text("no database")
    assert session_ids("") == []


# --- show ---------------------------------------------------------------------------------------------


def test_a_transcript_has_what_was_said_called_and_answered(project: Project, session: str) -> None:
    shown = project.run("sessions", "show", session[:14]).stdout

    head, _, rest = shown.partition("\n\n")
    assert head.startswith(f"session {session.removeprefix('session_')[:8]} · What does it do?\n")
    assert "idle · main · scripted/script.json · 3 rounds, 1 call, " in head
    assert f"in {project.folder}" in head
    said = (
        "> What does it do?",
        "I look.",
        "[done] Read",
        "return a - b",
        "It **subtracts**.",
        "> Thank you",
    )
    places = [rest.index(part) for part in (*said, "Bye.")]
    assert places == sorted(places)
    assert "\x1b" not in shown


def test_parts_can_be_numbered(project: Project, session: str) -> None:
    lines = project.run("sessions", "show", session, "--numbers").stdout.splitlines()

    number = int(lines[lines.index("> Thank you") - 1].removeprefix("#"))
    assert project.events(session)[number - 1]["type"] == "input_taken"


def test_a_transcript_for_programs(project: Project, session: str) -> None:
    shown = project.json("sessions", "show", session)

    assert shown["session"]["session_id"] == session
    assert (shown["session"]["rounds"], shown["session"]["calls"]) == (3, 1)
    kinds = [item["kind"] for item in shown["items"] if item["kind"] != "note"]
    assert kinds == ["spoken", "words", "call", "words", "spoken", "words"]
    made = next(item for item in shown["items"] if item["kind"] == "call")
    assert (made["tool"], made["ok"], made["view"]["phase"]) == ("read", True, "done")
    assert "return a - b" in made["content"]
    assert [item["seq"] for item in shown["items"]] == sorted(item["seq"] for item in shown["items"])
    assert shown["questions"] == []


def test_what_still_waits_is_shown(project: Project) -> None:
    from toolwright import Engine, ScriptedModel, call

    script = [[call("write", file_path="b.txt", content="hello")]]
    engine = Engine.local(ScriptedModel(script), workspace=project.folder, answers_later=True)
    assert engine.run_blocking("Write").end == "waiting"

    assert "asks" in project.run("sessions", "show").stdout
    [asked] = project.json("sessions", "show")["questions"]
    assert (asked["tool"], asked["kind"], asked["input"]["file_path"]) == ("write", "permission", "b.txt")
    assert project.json("sessions", "list")[0]["status"] == "waiting"


def test_a_terminal_gets_colour_and_as_much_as_fits(
    project: Project, session: str, terminal: Terminal
) -> None:
    del session
    process = terminal.starts(project.folder, "sessions", "show")
    assert "It subtracts." in terminal.until("Bye.")
    assert process.wait(30) == 0


# --- tail ---------------------------------------------------------------------------------------------


def test_a_tail_of_a_session_at_rest_is_its_last_run(project: Project, session: str) -> None:
    tail = project.run("sessions", "tail", session)

    assert tail.stdout == "> Thank you\n\nBye.\n"


def test_a_tail_begins_where_it_is_told_to(project: Project, session: str) -> None:
    events = project.events(session)
    lines = project.run("sessions", "tail", session, "--after", "3", "--json").stdout.splitlines()

    assert [json.loads(line)["seq"] for line in lines] == list(range(4, len(events) + 1))
    assert "What does it do?" in project.run("sessions", "tail", session, "--after", "0").stdout
    assert project.run("sessions", "tail", session, "--after", "9999").stdout == ""


def test_a_tail_ends_as_its_run_did(project: Project) -> None:
    project.call("run", "Go", "-m", project.script([[READ], "x"]), "--max-rounds", "1")

    tail = project.call("sessions", "tail")

    assert tail.exit_code == 5
    assert "The limit of 1 requests to the model is reached." in tail.stdout


@contextmanager
def running(project: Project) -> Iterator["subprocess.Popen[str]"]:
    """Another process that is in the middle of a call, until something is written to the gate."""
    (project.folder / "own.py").write_text(GATED)
    os.mkfifo(project.folder / "begun")
    os.mkfifo(project.folder / "gate")
    model = project.script([["I wait.", {"call": "wait"}], "It is over."], continues=True)
    command = ["run", "Wait", "-m", model, "--tools", "own.py", "--allow", "wait"]
    with subprocess.Popen(
        [sys.executable, "-m", "toolwright", *command],
        cwd=project.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            wait_for_begin(project.folder / "begun", process)
            yield process
        finally:
            process.kill()


def wait_for_begin(fifo: Path, process: "subprocess.Popen[str]") -> None:
    """Wait until the other process says that it is in its call; fails at once when it ends before that."""
    handle = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        while not select.select([handle], [], [], 0.1)[0]:
            assert process.poll() is None, process.communicate()
        assert os.read(handle, 100) == b"begun"
    finally:
        os.close(handle)


def test_a_tail_follows_what_another_process_does(project: Project) -> None:
    with running(project) as process:
        assert project.json("sessions", "list")[0]["status"] == "running"
        tail = subprocess.Popen(
            [sys.executable, "-m", "toolwright", "sessions", "tail"],
            cwd=project.folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert tail.stdout is not None
        first = [tail.stdout.readline() for _ in range(3)]
        (project.folder / "gate").write_text("words")

        rest = tail.communicate(timeout=60)[0]

        assert process.wait(60) == 0
    assert (first, tail.returncode) == (["> Wait\n", "\n", "I wait.\n"], 0)
    assert "let go with words" in rest
    assert rest.endswith("\nIt is over.\n")


def test_a_reader_that_goes_away_and_a_session_that_is_removed_end_a_tail_in_one_line(
    project: Project, session: str
) -> None:
    command = f"{sys.executable} -m toolwright sessions tail --after 0 --json | true"
    done = subprocess.run(
        ["bash", "-c", command], cwd=project.folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stderr

    tail = subprocess.Popen(
        [sys.executable, "-m", "toolwright", "sessions", "tail", "--follow", "--json"],
        cwd=project.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert tail.stdout is not None
    tail.stdout.readline()
    project.run("sessions", "rm", session, "--yes")
    said = tail.communicate(timeout=60)[1]
    assert (tail.returncode, said.count("\n"), "There is no session" in said) == (2, 1, True)


def test_a_session_whose_process_died_is_cut_off_and_can_go_on(project: Project) -> None:
    with running(project) as process:
        process.kill()
        process.wait(60)

        tail = project.call("sessions", "tail")

    assert project.json("sessions", "list")[0]["status"] == "cut_off"
    assert project.json("sessions", "list", "--status", "running")[0]["status"] == "cut_off"
    assert "cut off · main" in project.run("sessions", "show").stdout
    assert tail.exit_code == 1
    assert "whoever ran this session is gone; go on with: toolwright run --resume " in tail.stderr
    again = project.run("run", "--continue", "--tools", "own.py")
    assert again.stdout == "It is over.\n"
    assert project.json("sessions", "list")[0]["status"] == "idle"


def test_a_tail_without_end_goes_on_with_the_next_run(project: Project, session: str) -> None:
    tail = subprocess.Popen(
        [sys.executable, "-m", "toolwright", "sessions", "tail", session, "--follow", "--json"],
        cwd=project.folder,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert tail.stdout is not None
    ends = 0
    for line in tail.stdout:
        ends += json.loads(line)["type"] == "run_ended"
        if ends == 1:
            break
    project.run("run", "More", "--resume", session, "-m", project.script(["More."], "more.json"))
    for line in tail.stdout:
        ends += json.loads(line)["type"] == "run_ended"
        if ends == 2:
            break
    tail.kill()
    tail.communicate(timeout=60)
    assert ends == 2


# --- export -------------------------------------------------------------------------------------------


def exported(project: Project, *words: str) -> Path:
    path = project.folder / "exported"
    path.unlink(missing_ok=True)
    project.run("sessions", "export", *words, "-o", str(path))
    return path


def test_an_exported_document_holds_the_session_and_hashes_that_fit(project: Project, session: str) -> None:
    path = exported(project, session)

    document = json.loads(path.read_text())
    assert document["format"] == "toolwright-session/1"
    assert document["session"]["session_id"] == session
    assert [line["entry"] for line in document["entries"]] == project.events(session)
    before = FIRST_HASH
    for line in path.read_bytes().splitlines()[1:-1]:
        hash, _, entry = line.removesuffix(b",").partition(b',"entry":')
        before = chained(before, entry.removesuffix(b"}"))
        assert hash.endswith(b'"hash":"%s"' % before.hex().encode())
    assert path.stat().st_mode & 0o777 == 0o600
    said = project.run("sessions", "verify", str(path)).stdout
    assert said == f"ok: 1 session with {len(document['entries'])} entries, every hash fits\n"


def test_a_file_is_never_written_over(project: Project, session: str) -> None:
    path = exported(project, session)
    assert "exists already; nothing was written over it." in project.refused(
        "sessions", "export", session, "-o", str(path)
    )


@pytest.mark.parametrize("form", ["json", "jsonl"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda lines: [*lines[:3], lines[3].replace(b"What", b"That"), *lines[4:]],
            "is not as it was written",
        ),
        (lambda lines: [*lines[:4], *lines[5:]], "should stand here"),
        (lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]], "should stand here"),
        (lambda lines: [*lines[:4], b"words\n", *lines[4:]], "is no exported entry"),
    ],
    ids=["changed", "missing", "moved", "added"],
)
def test_what_was_changed_after_exporting_is_found(
    project: Project, session: str, form: str, change: Any, said: str
) -> None:
    path = exported(project, session, "--format", form)
    lines = path.read_bytes().splitlines(keepends=True)
    changed = change(lines)
    assert changed != lines
    path.write_bytes(b"".join(changed))

    result = project.call("sessions", "verify", str(path))

    assert (result.exit_code, said in result.stdout) == (1, True), result.output


def test_a_document_that_was_cut_is_found(project: Project, session: str) -> None:
    path = exported(project, session)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-3], lines[-1]]))

    result = project.call("sessions", "verify", str(path))

    assert (result.exit_code, "are missing at the end" in result.stdout) == (1, True)


def test_a_file_that_holds_no_entry_is_broken(project: Project) -> None:
    (project.folder / "empty").write_text("")
    assert project.call("sessions", "verify", "empty").exit_code == 1
    assert "cannot be read" in project.refused("sessions", "verify", "none")


@pytest.mark.parametrize("form", ["json", "jsonl", "markdown"])
def test_secrets_are_taken_out(project: Project, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    key = "sk-" + "a1" * 16
    model = project.script([f"The key is {SECRET}, or {key}."])
    project.run("run", f"Is it {SECRET}?", "-m", model)
    monkeypatch.setenv("MY_API_KEY", SECRET)

    path = exported(project, "--format", form)

    text = path.read_text()
    assert (SECRET in text, key in text, "[redacted]" in text) == (False, False, True)
    if form != "markdown":
        said = project.run("sessions", "verify", str(path)).stdout
        assert "had secrets taken out and cannot be checked" in said


def test_markdown_can_be_read_and_nothing_breaks_out_of_its_block(project: Project) -> None:
    model = project.script([["Look:\n\n- one\n- two", READ], "Done."])
    project.run("run", "Mind\n```\n# this", "-m", model)

    text = project.run("sessions", "export", "--format", "md").stdout

    assert text.startswith("# Mind\n\n- Session: session_")
    assert "## You\n\n````text\nMind\n```\n# this\n````\n" in text
    assert "\n\nLook:\n\n- one\n- two\n\n```text\n[done] " in text
    assert text.endswith("\n\nDone.\n\n")


def test_an_unknown_format_is_refused(project: Project, session: str) -> None:
    assert "--format is json, jsonl or markdown" in project.refused(
        "sessions", "export", session, "-F", "xml"
    )


# --- fork ---------------------------------------------------------------------------------------------


def test_a_fork_goes_on_from_an_entry_and_leaves_the_first_alone(project: Project, session: str) -> None:
    events = project.events(session)
    at = next(event["seq"] for event in events if event["type"] == "run_ended")

    new = project.run("sessions", "fork", session, "--at", str(at), "--title", "Otherwise").stdout.strip()

    assert new != session
    assert project.events(session) == events
    assert [card["title"] for card in project.json("sessions", "list")] == ["Otherwise", "What does it do?"]
    shown = project.run("sessions", "show", new).stdout
    assert f"forked from {session.removeprefix('session_')[:8]} at entry {at}" in shown
    assert ("It **subtracts**." in shown, "Thank you" in shown) == (True, False)
    assert project.run("run", "Thanks", "--resume", new).stdout == "Bye.\n"


def test_an_entry_that_there_is_not_is_refused(project: Project, session: str) -> None:
    assert "There is no entry 999: the log has entries 1 to" in project.refused(
        "sessions", "fork", session, "--at", "999"
    )
    assert project.refused("sessions", "fork", session, "--at", "0")
    assert len(project.json("sessions", "list")) == 1


# --- rm -----------------------------------------------------------------------------------------------


def test_sessions_are_removed_with_their_files(project: Project, session: str) -> None:
    project.run("run", "Mend it", "-m", project.script(MENDING, "mend.json"), "--allow", "Edit")
    files = project.folder / ".toolwright/sessions"
    (files / session).mkdir(parents=True, exist_ok=True)
    (files / session / "result.txt").write_text("large")

    result = project.run("sessions", "rm", session, project.last(), "--yes")

    assert result.stdout == "2 sessions removed\n"
    assert project.json("sessions", "list") == []
    assert not (files / session).exists()
    assert project.run("db", "check").exit_code == 0


def test_where_nobody_can_be_asked_nothing_is_removed(project: Project, session: str) -> None:
    assert "add --yes to remove them" in project.refused("sessions", "rm", session)
    assert project.last() == session


@pytest.mark.parametrize(("typed", "code", "left"), [("y\n", 0, 0), ("n\n", 1, 1), ("\n", 1, 1)])
def test_a_person_is_asked_before_anything_is_removed(
    project: Project, session: str, terminal: Terminal, *, typed: str, code: int, left: int
) -> None:
    process = terminal.starts(project.folder, "sessions", "rm", session)
    assert "What does it do?" in terminal.until("[y/N]: ")

    terminal.type(typed)

    terminal.until("removed")
    assert (process.wait(30), len(project.json("sessions", "list"))) == (code, left)


def test_a_session_that_runs_is_not_removed(project: Project) -> None:
    with running(project):
        assert "is being run by another process" in project.refused("sessions", "rm", project.last(), "--yes")
        assert len(project.json("sessions", "list")) == 1
