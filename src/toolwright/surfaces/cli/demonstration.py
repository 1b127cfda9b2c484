"""The work behind ``toolwright demo``: a sample project, and a script that really mends it.

The script decides by the results it is shown, so that what it says of them is true.
"""

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files

from toolwright.contracts.content import text_of
from toolwright.contracts.messages import Message, ResultBlock, SaidBlock
from toolwright.contracts.models import ModelRequest
from toolwright.surfaces.cli.running import RunRequest, run_task
from toolwright.surfaces.cli.session_options import SessionOptions
from toolwright.testing import ScriptedModel, call, thought

TASK = "A basket of exactly 50.00 is charged for delivery, though delivery is free from 50.00 on. Mend it."
TESTS = "python3 -m unittest"
FAULTY = "basket.py"
Said = list[str | SaidBlock]
_SUFFIX = ".txt"
_PACE = 0.02
"""Seconds between two pieces of what the model says, where somebody watches."""


def demonstrate(request: RunRequest) -> int:
    """Do the sample task in a new folder and return the exit code. May raise ToolwrightError."""
    folder = tempfile.mkdtemp(prefix="toolwright-demo-")
    copy_sample(folder)
    asks = request.may_ask and sys.stdin.isatty()
    allowed = (f"Bash({TESTS})",) if asks else (f"Bash({TESTS})", f"Edit({FAULTY})")
    _tell(*_introduction(folder, asks=asks))
    model = ScriptedModel(SCRIPT, delay=_PACE if sys.stderr.isatty() else 0.0, remembers=False)
    code = run_task(replace(request, task=TASK), SessionOptions(folder=folder, allow=allowed), provider=model)
    _tell(*_conclusion(folder))
    return code


def copy_sample(folder: str) -> None:
    """Put the sample project into a folder. Blocking."""
    for source in files("toolwright.surfaces.cli").joinpath("sample").iterdir():
        if source.name.endswith(_SUFFIX):
            with open(os.path.join(folder, source.name.removesuffix(_SUFFIX)), "xb") as file:
                file.write(source.read_bytes())


def _introduction(folder: str, *, asks: bool) -> Sequence[str]:
    real = "The model of this demonstration is scripted; tools, permissions, sandbox and log are real."
    place = f"It works on a copy of a sample project in {folder}."
    nobody = f"Nobody can be asked here, so a rule allows the one change: Edit({FAULTY})."
    return (f"{real} {place}", *(() if asks else (nobody,)), "", f"> {TASK}", "")


def _conclusion(folder: str) -> Sequence[str]:
    how = "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name one on this machine: --model ollama/NAME."
    return (
        "",
        "To look at it again:",
        f"  toolwright sessions show --dir {folder}",
        f"To work with a real model, {how} Then, in a project of yours:",
        "  toolwright chat",
        '  toolwright run "…"',
    )


def _tell(*lines: str) -> None:
    """Print words of our own on standard error, folded between words where that is a terminal."""
    if not sys.stderr.isatty():
        print(*lines, sep="\n", file=sys.stderr)
        return
    from toolwright.surfaces.rendering.terminal import console_for

    console = console_for(sys.stderr, os.environ)
    for line in lines:
        console.print(line, soft_wrap=line.startswith("  "))


# --- what the model says ----------------------------------------------------------------------


def _begin(request: ModelRequest) -> Said:
    del request
    return [
        thought("There are tests. Before I change anything I want to see which of them fails."),
        "First the tests: they should show the fault.",
        call("bash", command=TESTS, description="Run the tests"),
    ]


def _look(request: ModelRequest) -> Said:
    said = _results(request)[-1]
    seen = (
        "One test fails, as told. Where is it decided what delivery costs?"
        if "FAILED" in text_of(said.content)
        else "The tests do not show it, so I look at the code. Where is it decided what delivery costs?"
    )
    return [
        seen,
        call("grep", pattern="DELIVERY_FREE_FROM", output_mode="content"),
        call("read", file_path=FAULTY),
    ]


def _mend(request: ModelRequest) -> Said:
    del request
    return [
        '`>` leaves out 50.00 itself; "from 50.00 on" is `>=`.',
        call(
            "edit",
            file_path=FAULTY,
            old_string="if goods > DELIVERY_FREE_FROM:",
            new_string="if goods >= DELIVERY_FREE_FROM:",
        ),
    ]


def _check(request: ModelRequest) -> Said:
    edited = _results(request)[-1]
    if edited.is_error:
        return [f"{FAULTY} stays as it is: {_first_line(edited)}"]
    return [call("bash", command=TESTS, description="Run the tests again")]


def _end(request: ModelRequest) -> Said:
    ran = _results(request)[-1]
    if "OK" in text_of(ran.content).split():
        return ["Mended: a basket of exactly 50.00 is delivered free now, and **all tests pass**."]
    return [f"I changed the comparison, and the tests still do not pass: {_first_line(ran)}"]


SCRIPT = (_begin, _look, _mend, _check, _end)


def _results(request: ModelRequest) -> list[ResultBlock]:
    last: Message = request.messages[-1]
    return [block for block in last.blocks if isinstance(block, ResultBlock)]


def _first_line(result: ResultBlock) -> str:
    return text_of(result.content).strip().partition("\n")[0]
