"""Asking a person: what an answer means, and a real terminal around the whole command."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from toolwright.contracts.errors import NoUserChannel
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest, Reason, RuleChange
from toolwright.surfaces.cli.asking import Nobody, TerminalApprover, read_answer
from toolwright.surfaces.cli.showing import Screen

from .terminals import Terminal

PUSH = RuleChange("addRules", rules=("Bash(git push *)",))
PULL = RuleChange("addRules", rules=("Bash(git pull *)",), destination="local")
REQUEST = ApprovalRequest(
    request_id="req_1",
    call_id="call_1",
    tool="bash",
    offered_name="Bash",
    title="Push",
    description="",
    input={"command": "git push"},
    fingerprint="f",
    reason=Reason("default", "nothing allows: git push"),
    suggestions=(PUSH, PULL),
)
YES = ApprovalAnswer(request_id="req_1", fingerprint="f", behavior="allow")
NO = replace(YES, behavior="deny")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("y", YES),
        ("  YES \n", YES),
        ("n", NO),
        ("No", NO),
        ("n not on a Friday\n", replace(NO, message="not on a Friday")),
        ("no  because ", replace(NO, message="because")),
        ("1", replace(YES, changes=(PUSH,))),
        (" 2 ", replace(YES, changes=(PULL,))),
        ("0", None),
        ("3", None),
        ("-1", None),
        ("²", None),
        ("", None),
        ("\n", None),
        ("yes please", None),
        ("nope", None),
        ("allow", None),
    ],
)
def test_an_answer_means_one_thing_or_nothing(typed: str, meant: ApprovalAnswer | None) -> None:
    assert read_answer(REQUEST, typed) == meant


def test_what_counts_once_cannot_be_remembered() -> None:
    assert read_answer(replace(REQUEST, one_time_only=True), "1") is None


@pytest.mark.anyio
async def test_where_nobody_is_nobody_answers() -> None:
    with pytest.raises(NoUserChannel):
        await Nobody().ask(REQUEST)


# --- a terminal -------------------------------------------------------------------------------


@pytest.fixture
def approver(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Iterator[TerminalApprover]:
    with open(os.dup(terminal.theirs), encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield TerminalApprover(Screen("plain", {}))


@pytest.mark.anyio
async def test_an_unclear_answer_is_asked_for_again(
    terminal: Terminal, approver: TerminalApprover, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.type("what?\n2\n")
    with anyio.fail_after(30):
        answer = await approver.ask(REQUEST)

    assert answer == replace(YES, changes=(PULL,))
    said = capsys.readouterr().err
    assert said.count("Run it? [y]es once, a number to remember that rule, [n]o, or n and a reason: ") == 2
    assert "note: answer y, n, n followed by a reason, or the number of a rule to remember.\n" in said


@pytest.mark.anyio
async def test_the_end_of_input_is_no_answer(terminal: Terminal, approver: TerminalApprover) -> None:
    terminal.type("\x04")
    with anyio.fail_after(30), pytest.raises(NoUserChannel):
        await approver.ask(REQUEST)


@pytest.mark.anyio
@pytest.mark.usefixtures("terminal")
async def test_a_question_can_be_taken_back(approver: TerminalApprover) -> None:
    with anyio.move_on_after(0) as scope:
        await approver.ask(REQUEST)
    assert scope.cancelled_caught


def started(terminal: Terminal, folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return terminal.starts(folder, "call", *words)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


WRITE = ("write", '{"file_path": "a.txt", "content": "hello"}')


def test_a_person_says_yes(terminal: Terminal, folder: Path) -> None:
    process = started(terminal, folder, *WRITE)
    question = terminal.until("a reason: ")
    assert "file_path: a.txt" in question
    assert not (folder / "a.txt").exists()

    terminal.type("y\n")

    assert "[done] Write" in terminal.until("[done] Write")
    assert (process.wait(30), (folder / "a.txt").read_text()) == (0, "hello")


def test_ctrl_c_at_a_question_ends_the_command_at_once(terminal: Terminal, folder: Path) -> None:
    process = started(terminal, folder, *WRITE)
    terminal.until("a reason: ")

    process.send_signal(signal.SIGINT)

    said = terminal.until("note: interrupted")
    assert (process.wait(30), "Traceback" in said) == (130, False)
    assert not (folder / "a.txt").exists()


@pytest.mark.sandbox
def test_ctrl_c_ends_what_a_command_started_and_its_output_is_seen_live(
    terminal: Terminal, folder: Path
) -> None:
    # The far end of the pipe is held by nothing but the command: it ends when all of that has ended.
    os.mkfifo(folder / "alive")
    pipe = os.open(folder / "alive", os.O_RDONLY | os.O_NONBLOCK)
    line = "exec 9> alive; trap '' INT TERM; sleep 600 & printf 'under %s' 'way!'; wait"
    process = started(terminal, folder, "bash", f'{{"command": "{line}"}}')
    terminal.until("a reason: ")
    terminal.type("y\n")
    terminal.until("under way!")
    assert not select.select([pipe], [], [], 0)[0]

    process.send_signal(signal.SIGINT)

    assert "[interrupted]" in terminal.until("note: interrupted")
    assert process.wait(30) == 130
    assert select.select([pipe], [], [], 30)[0]
    assert os.read(pipe, 1) == b""
    os.close(pipe)
