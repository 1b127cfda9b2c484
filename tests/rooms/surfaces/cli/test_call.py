"""``toolwright call``: options, forms, exit codes and what is said when something is wrong."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from toolwright.contracts.errors import ToolwrightError
from toolwright.surfaces.cli.main import application, main

OWN_TOOLS = '''
from toolwright import tool


@tool(read_only=True)
def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


@tool
def launch(target: str) -> str:
    """Launch something."""
    return "launched to " + target
'''


ODD_TOOL = """
from toolwright import tool
from toolwright.contracts.tool import Done


@tool(read_only=True)
def odd() -> Done:
    \"\"\"Return what JSON has no place for.\"\"\"
    return Done("odd", data={"half": "\\ud800", 1: 2**70})
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("hello\n")
    (folder / "own.py").write_text(OWN_TOOLS)
    monkeypatch.chdir(folder)
    return folder


def run(*words: str, stdin: str | bytes | None = None) -> Result:
    """Run ``toolwright call`` in this process; what ``main`` turns into a line is left as exception."""
    return CliRunner().invoke(application(), ["call", *words], input=stdin)


def refused(*words: str, stdin: str | bytes | None = None) -> str:
    """The line that a usage error ends with."""
    result = run(*words, stdin=stdin)
    if isinstance(result.exception, ToolwrightError):
        return str(result.exception)
    assert result.exit_code == 2, result.output
    return result.stderr.strip().splitlines()[-1]


READ = ("read", '{"file_path": "a.txt"}')
LAUNCH = ("launch", '{"target": "moon"}', "--tools", "own.py")


# --- exit codes -------------------------------------------------------------------------------


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (READ, 0, "hello"),
        (("read", '{"file_path": "none.txt"}'), 1, "[file_not_found]"),
        (("read", '{"file_path": '), 1, "[invalid_json]"),
        (("read", "[]"), 1, "expected a JSON object"),
        (("read",), 1, '"file_path" is a required property'),
        (("reed", "{}"), 1, "Did you mean read?"),
        (LAUNCH, 3, "[approval_unavailable]"),
        ((*LAUNCH, "--allow", "launch"), 0, "launched to moon"),
        ((*LAUNCH, "--mode", "dontAsk"), 3, "needs approval and this run never asks"),
        ((*LAUNCH, "--deny", "launch(target:moon)", "--allow", "launch"), 3, "[rejected] Launch"),
        (("shout", '{"text": "a"}', "--tools", "own.py", "--ask", "shout"), 3, "[approval_unavailable]"),
        (("shout", '{"text": "hi"}', "--tools", "own"), 0, "HI"),
        (("Read", READ[1], "--toolset", "harness"), 0, "hello"),
        (("http_request", "{}"), 1, "[unknown_tool]"),
    ],
)
def test_the_exit_code_says_how_it_went(words: tuple[str, ...], code: int, said: str) -> None:
    result = run(*words)
    assert (result.exit_code, said in result.stdout) == (code, True), result.output


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give the name of a tool and its input, or --batch FILE"),
        (("read", "--batch", "b.jsonl"), "give the name of a tool and its input, or --batch FILE"),
        ((*READ, "--json", "--raw"), "--json, --plain and --raw exclude each other"),
        ((*READ, "--jsn"), "No such option: --jsn"),
        ((*READ, "--mode", "fast"), "there is no mode 'fast': default, acceptEdits, plan"),
        ((*READ, "--dir", "nowhere"), "there is no folder"),
        ((*READ, "--dir", "/"), "Name another folder with --dir."),
        ((*READ, "--dir", "/proc"), "it belongs to the system. Name another folder with --dir."),
        ((*READ, "--dir", "~"), "there is no folder"),
        ((*READ, "--toolset", "mine"), "there is no toolset 'mine'. "),
        ((*READ, "--feature", "http_tool=maybe"), "write NAME, NAME=on or NAME=off"),
        ((*READ, "--session", "a/b"), "a session is named by letters, digits, '-' and '_'"),
        ((*READ, "--allow", "Bash("), "permissions.allow[0]: rule 'Bash(': the closing ')' is missing"),
        ((*READ, "--tools", "none.py"), "there is no Python file none.py"),
        ((*READ, "--tools", "no_such_module"), "'no_such_module' cannot be imported"),
        (("--batch", "none.jsonl"), "none.jsonl cannot be read: No such file or directory"),
    ],
)
def test_a_usage_error_names_the_cause(words: tuple[str, ...], said: str) -> None:
    assert said in refused(*words)


def test_the_home_folder_is_refused_before_anything_is_made_there(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(project))
    assert refused(*READ).endswith("it is or holds a home folder. Name another folder with --dir.")
    assert sorted(path.name for path in project.iterdir()) == ["a.txt", "own.py"]


def test_a_folder_that_cannot_be_written_is_told(project: Path) -> None:
    (project / ".toolwright").write_text("in the way")
    assert refused(*READ).endswith("settings.local.json cannot be read: Not a directory.")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = (", "'broken.py' cannot be imported: SyntaxError: "),
        ("raise ValueError('odd')", "ValueError: odd ("),
        ("import no_such_thing", "No module named 'no_such_thing'"),
        ("x = 1", "there is no tool in broken.py; decorate a function with @tool."),
        ("from toolwright import tool\n@tool\ndef f(x): ...", "'broken.py' cannot be imported: "),
    ],
)
def test_a_module_that_cannot_be_used_is_told_in_one_line(project: Path, text: str, said: str) -> None:
    (project / "broken.py").write_text(text)
    line = refused("f", "{}", "--tools", "broken.py")
    assert said in line


# --- forms ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("form", "printed"),
    [
        ("--raw", "     1\thello\n"),
        ("--plain", "[done] Read a.txt\n       1    hello\n"),
        ("--screen-reader", "[done] Read a.txt\n       1    hello\n"),
    ],
)
def test_each_form_prints_the_call(form: str, printed: str) -> None:
    result = run(*READ, form)
    assert (result.stdout, result.stderr) == (printed, "")


def test_json_holds_whatever_a_tool_returns(project: Path) -> None:
    (project / "odd.py").write_text(ODD_TOOL)
    line = run("odd", "{}", "--tools", "odd.py", "--json").stdout
    assert json.loads(line)["data"] == {"half": "\ud800", "1": 2**70}


@pytest.mark.usefixtures("project")
def test_json_has_a_fixed_shape() -> None:
    done = json.loads(run(*READ, "--json").stdout)
    failed = json.loads(run("read", '{"file_path": "none.txt"}', "--json").stdout)

    keys = ["content", "data", "duration_ms", "error", "id", "name", "notes", "ok", "stored", "tool", "view"]
    assert sorted(done) == sorted(failed) == keys
    assert (done["ok"], done["content"], done["error"]) == (True, "     1\thello", None)
    assert failed["ok"] is False
    assert failed["error"] == {
        "code": "file_not_found",
        "message": failed["error"]["message"],
        "hint": failed["error"]["hint"],
        "retryable": False,
        "retry_after": None,
        "details": failed["error"]["details"],
    }
    assert (done["view"]["phase"], failed["view"]["phase"]) == ("done", "error")


@pytest.mark.usefixtures("project")
def test_a_call_that_fails_a_check_is_drawn_with_its_input() -> None:
    result = run("write", '{"file_path": "a.txt", "content": "new"}')
    assert result.stdout.startswith("[failed] Write a.txt\n      1 new\n  [not_read_yet] ")


@pytest.mark.usefixtures("project")
def test_every_problem_of_an_input_stands_on_a_line_of_its_own() -> None:
    lines = run("read", "{}").stdout.splitlines()
    assert any(line.strip().startswith('- $: "file_path"') for line in lines)


# --- what a person can do ---------------------------------------------------------------------


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bash", '{"command": "touch x"}'), "or run it again with --allow 'Bash(touch *)'."),
        (("bash", '{"command": "rm -r x"}'), "or add a rule with --allow."),
        (("http_request", "{}"), "note: http_request is not offered here: feature 'http_tool' is off."),
    ],
)
def test_a_note_says_what_would_help(words: tuple[str, ...], said: str) -> None:
    assert run(*words).stderr.strip().endswith(said)


@pytest.mark.usefixtures("project")
def test_a_feature_gate_opens_a_tool() -> None:
    words = ("http_request", '{"url": "http://127.0.0.1:9/", "method": "GET"}', "--feature", "http_tool")
    assert run(*words).exit_code == 3


def test_a_project_counts_in_full_only_when_it_is_trusted(project: Path) -> None:
    (project / ".toolwright").mkdir()
    settings = {"permissions": {"allow": ["launch"]}}
    (project / ".toolwright" / "settings.json").write_text(json.dumps(settings))

    before = run(*LAUNCH)
    trusted = CliRunner().invoke(application(), ["trust"])
    after = run(*LAUNCH)

    assert (before.exit_code, "until the project is trusted" in before.stderr) == (3, True)
    assert f"{project} is trusted" in trusted.stdout
    assert (after.exit_code, after.stderr) == (0, "")


def test_trust_needs_a_folder(project: Path) -> None:
    result = CliRunner().invoke(application(), ["trust", str(project / "none")])
    assert (result.exit_code, "there is no folder" in result.stderr) == (2, True)


# --- standard input and batches ---------------------------------------------------------------


@pytest.mark.usefixtures("project")
def test_an_input_can_come_from_standard_input() -> None:
    assert run("read", "-", "--raw", stdin=READ[1]).stdout == "     1\thello\n"


def lines(*calls: Any) -> str:
    return "".join(json.dumps(call) + "\n" for call in calls)


GOOD = {"name": "read", "input": {"file_path": "a.txt"}, "id": "one"}


@pytest.mark.parametrize(
    ("calls", "code"),
    [
        ((GOOD,), 0),
        ((GOOD, {"name": "read", "input": {"file_path": "none"}}), 1),
        ((GOOD, {"name": "reed"}), 1),
        ((GOOD, {"name": "bash", "input": {"command": "touch x"}}, {"name": "reed"}), 3),
    ],
)
def test_a_batch_ends_with_its_worst_call(project: Path, calls: tuple[Any, ...], code: int) -> None:
    (project / "b.jsonl").write_text("\n" + lines(*calls))

    from_file = run("--batch", "b.jsonl", "--json")
    from_stdin = run("--batch", "-", "--json", stdin=lines(*calls))

    assert (from_file.exit_code, from_stdin.exit_code) == (code, code)
    printed = [json.loads(line) for line in from_file.stdout.splitlines()]
    assert [call["name"] for call in printed] == [call["name"] for call in calls]
    assert printed[0]["id"] == "one"


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        (lines(GOOD) + '{"name": "re', "line 2 is no JSON: "),
        ("[]\n", 'line 1 must be an object like {"name": "read", "input": {}}.'),
        ('{"input": {}}\n', "line 1 must be an object"),
        ('{"name": "read", "args": {}}\n', "line 1: unknown key 'args'; known: id, name, input."),
        (b"\xff\n", "standard input is no UTF-8 text: invalid start byte at byte 0."),
    ],
)
def test_nothing_of_a_batch_runs_when_a_line_cannot_be_read(stdin: str | bytes, said: str) -> None:
    assert said in refused("--batch", "-", stdin=stdin)


@pytest.mark.usefixtures("project")
def test_an_empty_batch_is_noted() -> None:
    result = run("--batch", "-", stdin="\n")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "note: - holds no calls.\n")


# --- the command itself -----------------------------------------------------------------------


@pytest.mark.usefixtures("project")
def test_a_usage_error_is_one_line_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["toolwright", "call", *READ, "--mode", "fast"])
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(SystemExit) as end:
        main()
    said = capsys.readouterr()
    assert (end.value.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err.startswith("toolwright: there is no mode 'fast'")


@pytest.mark.parametrize(
    ("words", "examples"),
    [
        (["call"], "toolwright call --batch calls.jsonl"),
        (["tools", "list"], "toolwright tools list --all"),
        (["tools", "show"], "toolwright tools show grep"),
        (["tools", "lint"], "toolwright tools lint grep read"),
        (["tools", "diff"], "toolwright tools diff old.json new.json"),
        (["permissions", "explain"], "toolwright permissions explain .env --tool read"),
        (["trust"], "toolwright trust ~/src/my-project"),
    ],
)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_shows_examples(words: list[str], examples: str, option: str) -> None:
    result = CliRunner().invoke(application(), [*words, option], terminal_width=100)
    assert (result.exit_code, examples in result.stdout) == (0, True), result.stdout


def test_help_names_the_commands() -> None:
    help = CliRunner().invoke(application(), ["--help"]).stdout
    assert all(f"\n  {name} " in help for name in ("call", "tools", "permissions", "trust"))


def test_the_installed_command_runs_and_keeps_errors_apart(project: Path) -> None:
    command = [sys.executable, "-m", "toolwright", "call", "bash", '{"command": "touch x"}', "--no-input"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
    assert done.stdout.startswith("[failed] Bash\n")
    assert done.stderr.startswith("note: bash needs approval")


def test_a_reader_that_goes_away_is_no_fault(project: Path) -> None:
    command = f"{sys.executable} -m toolwright call read '{READ[1]}' --raw | true"
    done = subprocess.run(
        ["bash", "-c", command], cwd=project, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
