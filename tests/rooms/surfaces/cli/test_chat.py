"""``toolwright chat``: where it runs and where not, and a whole conversation at a real terminal."""

import json
import signal
import stat
import subprocess
import sys
from typing import Any

import pytest

from .projects import MEND, READ, Project
from .terminals import Terminal

NOTE = {"call": "write", "input": {"file_path": "note.txt", "content": "mended\n"}}
SLEEP = {"call": "bash", "input": {"command": "sleep 600"}}
CTRL_C, CTRL_D, ENTER, UP = "\x03", "\x04", "\r", "\x1b[A"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], 'chat needs a terminal; without one use toolwright run "TASK".'),
        (["--details", "much"], "--details is compact, normal or full"),
        (["--max-rounds", "0"], "--max-rounds"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(project: Project, words: list[str], said: str) -> None:
    assert said in project.refused("chat", *words)


def test_a_terminal_that_cannot_be_drawn_on_is_refused(terminal: Terminal, project: Project) -> None:
    process = terminal.starts(project.folder, "chat", environ={"TERM": "dumb"})
    assert "this terminal cannot be drawn on (see TERM)" in terminal.until("\n")
    assert process.wait(30) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--pick", "--continue"], "--pick, --continue and --resume exclude each other."),
        (["--continue"], "there is no session to continue in this folder"),
        (["--pick"], "there is no session in this folder to choose from."),
        (["--model", "nobody/x"], "there is no provider 'nobody'"),
        (["--model", "scripted/none.json"], "cannot be read"),
    ],
)
def test_a_wrong_option_ends_before_anything_is_drawn(
    terminal: Terminal, project: Project, words: list[str], said: str
) -> None:
    if "--model" not in words:
        words = [*words, "--model", project.script(["Hello."])]
    process = terminal.starts(project.folder, "chat", *words)
    assert said in terminal.until("\n").replace("\r", "")
    assert process.wait(30) == 2


def test_help_shows_the_keys_and_imports_nothing_heavy(project: Project) -> None:
    assert "Ctrl-C interrupts, Ctrl-D leaves" in project.run("chat", "--help").stdout
    code = (
        "import sys; from toolwright.surfaces.cli.main import application; application(); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    heavy = {"prompt_toolkit", "rich", "sqlalchemy", "anyio", "jsonschema_rs"}
    assert not heavy & set(loaded.split())


def answers(*more: Any) -> list[Any]:
    return [
        ["I look.", READ, MEND],
        [NOTE],
        ["It is left alone.\n\n", SLEEP],
        "What else?",
        *more,
    ]


@pytest.mark.slow
def test_a_whole_conversation(terminal: Terminal, project: Project) -> None:
    model = project.script([*answers(), "Hello again."], continues=True)
    process = terminal.starts(project.folder, "chat", "--model", model, "--allow", "Bash(sleep *)")

    terminal.until("Say what to do")
    terminal.type("Mend it.")
    terminal.type(ENTER)
    said = terminal.until("❯")
    assert "> Mend it." in said
    assert "[done] Read a.py" in said
    assert "[approval] Edit" in said
    assert "+a + b" in said
    assert project.source.endswith("a - b\n")

    terminal.type("y")
    said = terminal.until("❯")
    assert "[done] Edit a.py" in said
    assert "[approval] Write" in said
    assert project.source.endswith("a + b\n")

    terminal.type("m")
    terminal.until("What instead?")
    terminal.type("no notes, please")
    terminal.type(ENTER)
    said = terminal.until("sleep 600")
    assert "[rejected] Write" in said
    assert "no notes, please" in said
    assert not (project.folder / "note.txt").exists()

    terminal.type("And then?")
    terminal.type(ENTER)
    terminal.until("[queued] And then?")
    terminal.type(UP)
    terminal.until("> And then?")
    terminal.type(" Tell me.")
    terminal.type(ENTER)
    terminal.until("[queued] And then? Tell me.")
    terminal.type(CTRL_C)
    said = terminal.until("What else?")
    assert "[cancelled] Bash" in said
    assert "Interrupted by the user" in said
    assert "> And then? Tell me." in said

    terminal.type("/quit")
    terminal.type(ENTER)
    left = terminal.until("toolwright chat --resume ")
    assert process.wait(30) == 0
    short = project.last().removeprefix("session_")[:8]
    assert f"session {short} · go on with: " in left

    again = terminal.starts(project.folder, "chat", "--model", model, "--resume", short)
    past = terminal.until("What else?")
    assert past.index("> Mend it.") < past.index("[rejected] Write") < past.index("What else?")
    terminal.type(UP)
    terminal.until("And then? Tell me.")
    terminal.type(CTRL_C)
    terminal.until("Say what to do")
    terminal.type("Hello")
    terminal.type(ENTER)
    terminal.until("Hello again.")
    terminal.type("/quit")
    terminal.type(ENTER)
    terminal.until("toolwright chat --resume ")
    assert again.wait(30) == 0


@pytest.mark.slow
def test_a_session_can_be_picked_to_begin_with(terminal: Terminal, project: Project) -> None:
    project.run("run", "Count the files", "--model", project.script(["Two."]))
    process = terminal.starts(project.folder, "chat", "--pick")
    said = terminal.until("Esc goes back")
    assert "Go on with which session?" in said
    assert "Count the files" in said
    terminal.type("count")
    terminal.until("count")
    terminal.type(ENTER)
    assert "> Count the files" in terminal.until("Two.")
    terminal.type(CTRL_D)
    terminal.until("toolwright chat --resume ")
    assert process.wait(30) == 0
    again = terminal.starts(project.folder, "chat", "--pick")
    terminal.until("Esc goes back")
    terminal.type(CTRL_C)
    assert again.wait(30) == 0
    assert len(project.json("sessions", "list")) == 1


@pytest.mark.slow
def test_what_was_typed_is_kept_for_its_owner_only(terminal: Terminal, project: Project) -> None:
    process = terminal.starts(project.folder, "chat", "My secret plan", "--model", project.script(["I see."]))
    terminal.until("I see.")
    terminal.type("Thanks.")
    terminal.type(ENTER)
    terminal.until("> Thanks.")
    terminal.type(CTRL_D)
    terminal.type(CTRL_D)
    terminal.until("toolwright chat --resume ")
    assert process.wait(30) == 0
    [kept] = (project.folder / ".toolwright").rglob("typed.jsonl")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert [json.loads(line) for line in kept.read_text().splitlines()] == ["Thanks."]


@pytest.mark.slow
def test_a_conversation_without_words_leaves_no_session(terminal: Terminal, project: Project) -> None:
    process = terminal.starts(project.folder, "chat", "--model", project.script([]))
    terminal.until("Say what to do")
    terminal.type(CTRL_D)
    assert process.wait(30) == 0
    assert project.json("sessions", "list") == []


@pytest.mark.slow
def test_a_signal_to_end_is_leaving(terminal: Terminal, project: Project) -> None:
    process = terminal.starts(project.folder, "chat", "--model", project.script([]))
    terminal.until("Say what to do")
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
