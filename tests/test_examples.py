"""Every example runs and prints what it should; every Python block of README runs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from toolwright.surfaces.cli.main import application

ROOT = Path(__file__).parents[1]

PRINTED = {
    "01_hello.py": "3\n",
    "02_builtin_tools.py": """\
     1\tmilk
     2\tbread
False
Error [approval_unavailable]: edit needs approval but nobody can answer here.
Hint: Try another approach, a narrower call, or ask the user how to go on.
./todo.txt:1:oat milk
""",
    "03_asking.py": """\
launched to moon
The user rejected this call. Wait for instructions.
You may tell the user what you wanted to do.
waiting: launch
launched to mars
""",
    "04_side_by_side.py": "['a done', 'b done', 'c done']\nside by side: True\n",
    "05_hook.py": """\
HELLO
Blocked by hook no_secrets: do not speak of the password
Try another approach, a narrower call, or ask the user how to go on.
""",
    "06_agent.py": "Basel is larger: 171,513 people against 134,506.\ndone: 2 rounds, 2 calls\n",
    "07_approvals.py": """\
deleting kim
Kim's account is gone; the administrator's stays, as you wish.
waiting: Delete account kim
deleting kim
waiting: Delete account admin
done
""",
    "08_streaming.py": """\
Let me s|ee.|
temperature begins
temperature is done: Bern: 21 °C
It is 21| °C in B|ern.|
done
""",
    "09_client_tool.py": """\
waiting
to weigh: feather
taken: True False
to weigh: stone
taken: True False
The stone is heavier.
""",
    "10_resume.py": """\
Noted: 42.
It was 42.
['Noted: 42.', 'It was 42.']
As I said: 42.
fork: True 2
""",
    "12_engine_client.py": """\
find_recent_commits {'limit': 2}
The fence was mended and painted.
True
""",
    "11_agents.py": """\
begins: Count hills of Rome
begins: Count hills of Bern
['Bern has one, and a river around it.', 'Rome has seven hills.']
Rome has more hills than Bern. (4 rounds, 2 calls in all)
""",
    "12_skills.py": """\
Dear Ann, ...
<skill name="letters">
Write to Ann in two sentences, kindly.
</skill>
HELLO
""",
}


def run(code: Path | str, folder: Path) -> str:
    words = [str(code)] if isinstance(code, Path) else ["-c", code]
    done = subprocess.run(
        [sys.executable, "-W", "error", *words],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_every_example_is_tested() -> None:
    assert sorted(PRINTED) == sorted(path.name for path in (ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_an_example_prints_what_it_should(name: str, tmp_path: Path) -> None:
    assert run(ROOT / "examples" / name, tmp_path) == PRINTED[name]


def test_the_evals_among_the_examples_pass(tmp_path: Path) -> None:
    evals = ROOT / "examples" / "evals"
    words = ["eval", str(evals), "--baseline", str(evals / "baseline.json")]
    result = CliRunner().invoke(application(), words, env={"HOME": str(tmp_path)})
    assert result.exit_code == 0, (result.output, result.exception)
    assert "2 cases: 2 passed, 0 failed." in result.stdout
    assert "0 regressions, 0 fixes, 0 new failures, 0 new passes, 0 still failing." in result.stdout


def test_the_python_of_readme_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert [run(block, tmp_path) for block in blocks] == ["It is 42.\n"]


def test_readme_opens_with_exactly_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert [block.count("\n") for block in blocks] == [1, 1]
    assert blocks[0] == "scripts/run demo\n"
    assert (ROOT / ".ci" / "run").read_text().strip().endswith(f"exec {blocks[1].strip()}")


def test_the_commands_that_readme_names_can_be_given() -> None:
    """They need a model, a terminal or sessions; what is checked is that they mean something."""
    [listed] = re.findall(r"```text\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    for line in listed.splitlines():
        script, *words = shlex.split(re.split(r"\s{2,}", line)[0])
        assert script == "scripts/run"
        command: Any = get_command(application())
        while hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        assert command.make_context(command.name, words).command is command


def test_every_failure_code_is_in_the_docs() -> None:
    from typing import get_args

    from toolwright.contracts.errors import ErrorCode

    text = (ROOT / "docs" / "reference" / "failures.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == list(get_args(ErrorCode))
