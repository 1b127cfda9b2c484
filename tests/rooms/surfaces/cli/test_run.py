"""``toolwright run``: what is printed where, how it ends, who is asked, and how a session goes on."""

import json
import os
import re
import select
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from toolwright import Engine, ScriptedModel, call

from .projects import CHANGE, MEND, MENDING, READ, Project
from .terminals import Terminal

OWN = '''
import anyio
from toolwright import ClientTool, tool

weigh = ClientTool("weigh", "Weigh a thing.", {"type": "object", "properties": {}})


@tool(read_only=True)
async def stubborn() -> str:
    """Do not stop when asked to."""
    with anyio.CancelScope(shield=True):
        print("it has begun", flush=True)
        await anyio.sleep(600)
    return "over"
'''
FAULT = {"fault": "unauthorized", "message": "the key is wrong"}


# --- what is printed ----------------------------------------------------------------------------


def test_words_go_to_standard_output_and_all_else_beside_it(project: Project) -> None:
    model = project.script([["Let me see.", READ], "It **subtracts**."])

    result = project.run("run", "What does it do?", "-m", model)

    assert result.stdout == "Let me see.\n\nIt **subtracts**.\n"
    assert "[done] Read" in result.stderr
    assert "return a - b" in result.stderr
    assert re.search(
        r'session [0-9a-f]{8} · go on with: toolwright run --resume [0-9a-f]{8} "…"', result.stderr
    )
    assert "\x1b" not in result.output


def test_a_hint_how_to_go_on_names_the_folder(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    model = project.script(["Hello."])
    monkeypatch.chdir(project.folder.parent)

    result = project.run("run", "Hi", "--dir", "project", "-m", model)

    assert "toolwright run --dir project --resume " in result.stderr


def test_less_and_more_of_calls_can_be_shown(project: Project) -> None:
    model = project.script([[READ], "Read."])

    compact = project.run("run", "Look", "-m", model, "--details", "compact").stderr
    full = project.run("run", "Look", "-m", model, "--details", "full").stderr

    assert "return a - b" not in compact
    assert "return a - b" in full
    assert "--details is compact, normal or full" in project.refused("run", "x", "--details", "much")


def test_for_programs_there_is_one_line_of_json_for_each_event(project: Project) -> None:
    model = project.script([["Let me see.", READ], "It subtracts."])

    result = project.run("run", "What does it do?", "-m", model, "--json")

    lines = [json.loads(line) for line in result.stdout_bytes.decode().split("\n")[:-1]]
    assert b"\r" not in result.stdout_bytes
    assert {frozenset(line) for line in lines} == {frozenset(("session_id", "seq", "at", "type", "event"))}
    seqs = [line["seq"] for line in lines if line["seq"] is not None]
    assert seqs == list(range(1, len(seqs) + 1))
    assert lines[0]["type"] == "session_created"
    assert {line["type"] for line in lines if line["seq"] is None} == {"text_delta", "call_delta", "result"}
    assert "".join(line["event"]["text"] for line in lines if line["type"] == "text_delta") == (
        "Let me see.It subtracts."
    )
    end = lines[-1]["event"]
    assert (lines[-1]["type"], end["end"], end["exit_code"]) == ("result", "done", 0)
    assert (end["text"], end["rounds"], end["calls"], end["questions"]) == ("It subtracts.", 2, 1, [])


def test_a_run_that_goes_on_prints_only_what_is_new(project: Project) -> None:
    model = project.script(["One.", "Two."], continues=True)
    project.run("run", "First", "-m", model)

    lines = project.run("run", "Second", "-m", model, "--continue", "--json").stdout.splitlines()

    types = Counter(json.loads(line)["type"] for line in lines)
    assert (types["session_created"], types["run_started"], types["run_ended"]) == (0, 1, 1)


# --- how it ends ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "words", "code", "said"),
    [
        (["Done."], (), 0, "Done."),
        ([FAULT], (), 1, "the key is wrong"),
        ([[{"call": "weigh"}]], ("--tools", "own.py"), 4, "weigh waits for its result from a client."),
        ([[READ], "x"], ("--max-rounds", "1"), 5, "The limit of 1 requests to the model is reached."),
        ([{"parts": ["So far"], "stop": "max_tokens"}], (), 6, "The answer ended at its size limit."),
        ([{"parts": ["No."], "stop": "refusal"}], (), 7, "The model refused to go on."),
    ],
)
def test_the_exit_code_says_how_it_ended(
    project: Project, answers: list[Any], words: tuple[str, ...], code: int, said: str
) -> None:
    (project.folder / "own.py").write_text(OWN)
    model = project.script(answers)

    result = project.call("run", "Go", "-m", model, *words)
    programs = project.call("run", "Go", "-m", model, *words, "--json")

    assert (result.exit_code, said in result.output) == (code, True), result.output
    assert json.loads(programs.stdout.splitlines()[-1])["event"]["exit_code"] == code == programs.exit_code


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "there is no task: write one, such as toolwright run"),
        (("x",), "there is no model to ask. Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name a model"),
        (("x", "-m", "qwen"), "'qwen' does not say who is asked: write provider/model, such as ollama/qwen."),
        (("x", "-m", "scripted/none.json"), "none.json cannot be read: No such file"),
        (
            ("x", "-m", "scripted/s.json", "--allow", "Bash("),
            "permissions.allow[0]: rule 'Bash(': the closing",
        ),
        (("x", "-m", "scripted/s.json", "--mode", "fast"), "there is no mode 'fast': default, acceptEdits"),
        (("x", "-m", "scripted/s.json", "--agent", "nobody"), "there is no agent 'nobody'."),
        (("x", "-m", "scripted/s.json", "--toolset", "mine"), "there is no toolset 'mine'."),
        (("x", "-m", "scripted/s.json", "--tools", "none.py"), "there is no Python file none.py"),
        (("x", "-m", "scripted/s.json", "--attach", "none.png"), "none.png cannot be read"),
        (("x", "-m", "scripted/s.json", "--dir", "nowhere"), "there is no folder"),
        (("x", "-m", "scripted/s.json", "--dir", "/"), "Name another folder with --dir."),
        (("x", "--json", "--plain"), "--json and --plain exclude each other"),
        (("x", "-m", "scripted/s.json", "--resume", "abc"), "There is no session 'abc'"),
        (("x", "-m", "scripted/s.json", "--continue"), "there is no session to continue in this folder"),
        (
            ("x", "-m", "scripted/s.json", "-c", "--resume", "a"),
            "--continue and --resume exclude each other.",
        ),
    ],
)
def test_what_cannot_be_is_told_in_one_line_and_nothing_begins(
    project: Project, words: tuple[str, ...], said: str
) -> None:
    project.script(["Never said."], "s.json")

    assert said in project.refused("run", *words)
    assert project.json("sessions", "list") == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root is refused")
def test_a_mode_that_cannot_be_entered_is_not_passed_over(project: Project) -> None:
    model = project.script(["Never said."])
    assert "refused for root" in project.refused("run", "x", "-m", model, "--mode", "bypassPermissions")


def test_rules_of_an_untrusted_project_that_do_not_count_are_told(project: Project) -> None:
    (project.folder / ".toolwright").mkdir()
    (project.folder / ".toolwright/settings.json").write_text('{"permissions": {"allow": ["Bash"]}}')

    result = project.run("run", "Hi", "-m", project.script(["Hello."]))

    assert "note: " in result.stderr
    assert "until the project is trusted" in result.stderr


# --- permissions where nobody is ------------------------------------------------------------------


def test_where_nobody_can_be_asked_what_would_ask_is_refused_and_what_would_allow_it_is_told(
    project: Project,
) -> None:
    result = project.run("run", "Mend it", "-m", project.script(MENDING))

    assert "a - b" in project.source
    assert "[rejected] Edit" in result.stderr
    assert "answer on a terminal, or run it again with --mode acceptEdits or --allow 'Edit(" in result.stderr


@pytest.mark.parametrize(
    ("words", "mended"),
    [
        (("--allow", "Edit"), True),
        (("--allow", "Edit(a.py)"), True),
        (("--permission-mode", "acceptEdits"), True),
        (("--allow", "Edit", "--deny", "Edit(a.py)"), False),
        (("--allow", "Edit", "--ask", "Edit"), False),
        (("--permission-mode", "plan"), False),
    ],
)
def test_rules_and_modes_count_for_the_run(project: Project, words: tuple[str, ...], mended: bool) -> None:
    project.run("run", "Mend it", "-m", project.script(MENDING), *words)

    assert ("a + b" in project.source) is mended


# --- what is handed over ----------------------------------------------------------------------------


def accepted(project: Project) -> Any:
    return next(event["event"]["content"] for event in project.events() if event["type"] == "input_accepted")


def test_a_task_comes_from_standard_input(project: Project) -> None:
    project.run("run", "-", "-m", project.script(["Read."]), stdin="two\nlines\n")

    assert accepted(project) == "two\nlines\n"


def test_standard_input_that_is_no_text_is_refused(project: Project) -> None:
    model = project.script(["Never said."])
    assert "standard input is no UTF-8 text" in project.refused("run", "-", "-m", model, stdin=b"\xff\xfe")


def test_files_come_along(project: Project) -> None:
    from PIL import Image

    Image.new("RGB", (4, 4), "red").save(project.folder / "red.png")
    (project.folder / "paper.pdf").write_bytes(b"%PDF-1.4\n")

    project.run(
        "run", "Look", "-m", project.script(["Seen."]),
        "--attach", "a.py", "--attach", "red.png", "--attach", "paper.pdf",
    )  # fmt: skip

    text, file, image, document = accepted(project)
    assert text["text"] == "Look"
    assert file["text"] == f'<file path="a.py">\n{project.source}\n</file>'
    assert (image["type"], image["media_type"]) == ("image", "image/png")
    assert (document["type"], document["media_type"]) == ("document", "application/pdf")


# --- going on -----------------------------------------------------------------------------------------


def test_a_session_goes_on_with_the_model_it_was_begun_with(project: Project) -> None:
    model = project.script(["One.", "Two.", "Three."], continues=True)
    project.run("run", "First", "-m", model)
    first = project.last()
    project.run("run", "Another", "-m", model)

    by_id = project.run("run", "Second", "--resume", first.removeprefix("session_")[:10])
    last = project.run("run", "Third", "--continue")

    assert (by_id.stdout, last.stdout, project.last()) == ("Two.\n", "Three.\n", first)
    said = [event["event"]["content"] for event in project.events() if event["type"] == "input_accepted"]
    assert said == ["First", "Second", "Third"]


def test_where_nothing_is_left_to_do_a_task_is_needed(project: Project) -> None:
    model = project.script([[READ], "It subtracts."], continues=True)
    project.call("run", "What does it do?", "-m", model, "--max-rounds", "1")

    assert "nothing left to do: give it a task" in project.refused("run", "--continue")
    assert project.run("run", "Go on", "--continue").stdout == "It subtracts.\n"


def test_a_session_whose_model_could_not_be_asked_is_tried_again_without_a_task(project: Project) -> None:
    assert project.call("run", "Hi", "-m", project.script([FAULT])).exit_code == 1

    again = project.run("run", "--continue", "-m", project.script(["Hello."], "works.json"))

    assert again.stdout == "Hello.\n"


def test_another_model_counts_from_then_on(project: Project) -> None:
    project.run("run", "First", "-m", project.script(["One."], "one.json"))
    project.run("run", "Second", "--continue", "-m", project.script(["Two."], "two.json"))

    assert project.json("sessions", "list")[0]["model"] == "scripted/two.json"


def left_waiting(project: Project) -> None:
    """A session in which a program asked and nobody has answered."""
    script = [[call("read", file_path="a.py")], [call("edit", **CHANGE)]]
    engine = Engine.local(ScriptedModel(script), workspace=project.folder, answers_later=True)
    assert engine.run_blocking("Mend it").end == "waiting"


def test_a_question_that_was_left_open_is_refused_where_nobody_can_be_asked(project: Project) -> None:
    left_waiting(project)
    model = project.script([*MENDING[:2], "Then not."], continues=True)

    result = project.run("run", "--continue", "-m", model)

    assert (result.stdout, "a - b" in project.source) == ("Then not.\n", True)


# --- at a terminal --------------------------------------------------------------------------------------


def test_a_person_is_asked_and_says_yes(project: Project, terminal: Terminal) -> None:
    process = terminal.starts(project.folder, "run", "Mend it", "-m", project.script(MENDING))
    question = terminal.until("a reason: ")
    assert "file_path: a.py" in question
    assert "a - b" in project.source

    terminal.type("y\n")

    assert "That was it." in terminal.until("go on with")
    assert (process.wait(30), "a + b" in project.source) == (0, True)


def test_words_go_into_a_pipe_while_all_else_is_seen_at_the_terminal(
    project: Project, terminal: Terminal
) -> None:
    model = project.script(MENDING)
    process = terminal.starts(project.folder, "run", "Mend it", "-m", model, stdout=subprocess.PIPE)
    terminal.until("a reason: ")

    terminal.type("y\n")

    seen = terminal.until("go on with")
    assert process.communicate(timeout=30)[0] == b"I look.\n\nI mend it.\n\nThat was it.\n"
    assert ("[done] Edit" in seen, "That was it." in seen) == (True, False)


def test_a_rule_that_is_remembered_answers_the_next_question(project: Project, terminal: Terminal) -> None:
    back = {"call": "edit", "input": {"file_path": "a.py", "old_string": "a + b", "new_string": "a * b"}}
    model = project.script([[READ], [MEND], [back], "That was it."])
    process = terminal.starts(project.folder, "run", "Mend it", "-m", model)
    offers = terminal.until("a reason: ")
    number = re.search(r"(\d)\. allow\s+Edit\(", offers)
    assert number is not None

    terminal.type(f"{number[1]}\n")

    rest = terminal.until("go on with")
    assert (process.wait(30), "a reason: " in rest, "a * b" in project.source) == (0, False, True)


@pytest.mark.parametrize(
    ("typed", "said", "code"), [("n it is meant to subtract\n", "That was it.", 0), ("n\n", "rejected", 3)]
)
def test_a_reason_is_read_by_the_model_and_no_word_stops_it(
    project: Project, terminal: Terminal, *, typed: str, said: str, code: int
) -> None:
    process = terminal.starts(project.folder, "run", "Mend it", "-m", project.script(MENDING))
    terminal.until("a reason: ")

    terminal.type(typed)

    assert said in terminal.until("go on with")
    assert (process.wait(30), "a - b" in project.source) == (code, True)


def test_what_was_left_open_is_asked_at_a_terminal(project: Project, terminal: Terminal) -> None:
    left_waiting(project)
    model = project.script([*MENDING[:2], "That was it."], continues=True)
    process = terminal.starts(project.folder, "run", "--continue", "-m", model)
    terminal.until("a reason: ")

    terminal.type("y\n")

    assert "That was it." in terminal.until("go on with")
    assert (process.wait(30), "a + b" in project.source) == (0, True)


def check_every_call_is_answered(events: list[dict[str, Any]]) -> None:
    asked = [
        block["call_id"]
        for event in events
        if event["type"] == "model_answered"
        for block in event["event"]["blocks"]
        if block["type"] == "call"
    ]
    ended = [event["event"]["call_id"] for event in events if event["type"] == "call_ended"]
    assert sorted(asked) == sorted(ended)


def test_ctrl_c_at_a_question_ends_the_run_and_the_session_goes_on(
    project: Project, terminal: Terminal
) -> None:
    model = project.script(MENDING, continues=True)
    process = terminal.starts(project.folder, "run", "Mend it", "-m", model)
    terminal.until("a reason: ")

    process.send_signal(signal.SIGINT)

    said = terminal.until("go on with")
    assert (process.wait(30), "Traceback" in said) == (130, False)
    check_every_call_is_answered(project.events())
    assert project.run("run", "Leave it", "--continue").stdout == "That was it.\n"
    assert "a - b" in project.source


@pytest.mark.slow
@pytest.mark.sandbox
def test_ctrl_c_ends_a_command_with_all_it_started(project: Project, terminal: Terminal) -> None:
    # The far end of the pipe is held by nothing but the command: it ends when all of that has ended.
    os.mkfifo(project.folder / "alive")
    pipe = os.open(project.folder / "alive", os.O_RDONLY | os.O_NONBLOCK)
    line = "exec 9> alive; trap '' INT TERM; sleep 600 & printf 'under %s' 'way!'; wait"
    model = project.script([[{"call": "bash", "input": {"command": line}}], "Stopped."], continues=True)
    process = terminal.starts(project.folder, "run", "Go", "-m", model)
    terminal.until("a reason: ")
    terminal.type("y\n")
    terminal.until("under way!")

    process.send_signal(signal.SIGINT)

    assert "[interrupted]" in terminal.until("go on with")
    assert process.wait(30) == 130
    assert select.select([pipe], [], [], 30)[0]
    assert os.read(pipe, 1) == b""
    os.close(pipe)
    check_every_call_is_answered(project.events())
    assert project.run("run", "Go on", "--continue").stdout == "Stopped.\n"


def test_a_second_ctrl_c_leaves_at_once_and_the_session_goes_on(project: Project, terminal: Terminal) -> None:
    (project.folder / "own.py").write_text(OWN)
    model = project.script([[{"call": "stubborn"}], "Over."], continues=True)
    process = terminal.starts(project.folder, "run", "Go", "-m", model, "--tools", "own.py")
    terminal.until("it has begun")

    process.send_signal(signal.SIGINT)
    terminal.until("Ctrl-C again leaves at once")
    process.send_signal(signal.SIGINT)

    terminal.until("go on with")
    assert process.wait(30) == 130
    assert project.json("sessions", "list")[0]["status"] == "cut_off"


SLOW = [["A thought that takes long.", {"call": "read", "input": {"file_path": "a.py"}}], "Over."]


def test_a_reader_that_goes_away_stops_the_run(project: Project) -> None:
    model = project.script(SLOW, delay=1.0)
    command = f"{sys.executable} -m toolwright run Go -m {model} --json | head -n 1"
    done = subprocess.run(
        ["bash", "-c", command], cwd=project.folder, capture_output=True, text=True, timeout=60, check=False
    )

    assert json.loads(done.stdout)["type"] == "session_created"
    assert "Traceback" not in done.stderr
    assert project.json("sessions", "list")[0]["status"] == "idle"
    check_every_call_is_answered(project.events())


def test_ctrl_c_right_at_the_beginning_lets_nothing_begin_after_it(project: Project) -> None:
    model = project.script(SLOW, delay=1.0)
    process = subprocess.Popen(
        [sys.executable, "-m", "toolwright", "run", "Go", "-m", model, "--json"],
        cwd=project.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()

    process.send_signal(signal.SIGINT)

    said, problems = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in problems) == (130, False)
    assert json.loads(said.splitlines()[-1])["event"]["exit_code"] == 130
    assert project.json("sessions", "list")[0]["status"] == "idle"


# --- the demonstration ----------------------------------------------------------------------------------


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the demonstration makes its folder."""
    folder = tmp_path / "t"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


@pytest.mark.sandbox
def test_the_demonstration_mends_its_sample_where_nobody_can_be_asked(
    project: Project, temporary: Path
) -> None:
    result = project.run("demo")

    [folder] = temporary.glob("toolwright-demo-*")
    assert "The model of this demonstration is scripted" in result.stderr
    assert "FAILED (failures=1)" in result.stderr
    assert "all tests pass" in result.stdout
    assert "goods >= DELIVERY_FREE_FROM" in (folder / "basket.py").read_text()
    assert project.json("sessions", "list", "--dir", str(folder))[0]["status"] == "idle"


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("typed", "said", "mended", "code"),
    [
        ("y\n", "all tests pass", True, 0),
        ("n I would rather do it myself\n", "basket.py stays as it is:", False, 0),
        ("n\n", "rejected", False, 3),
    ],
)
def test_the_demonstration_asks_and_says_what_is_true(
    project: Project,
    temporary: Path,
    terminal: Terminal,
    *,
    typed: str,
    said: str,
    mended: bool,
    code: int,
) -> None:
    process = terminal.starts(project.folder, "demo")
    terminal.until("a reason: ")
    [folder] = temporary.glob("toolwright-demo-*")

    terminal.type(typed)

    assert said in terminal.until("toolwright run")
    assert process.wait(30) == code
    assert ("goods >= DELIVERY_FREE_FROM" in (folder / "basket.py").read_text()) is mended
