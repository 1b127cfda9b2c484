"""``toolwright permissions``: ask what the rules would say, without running anything."""

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from toolwright.surfaces.cli.explaining import Explainer, Explanation, Question
    from toolwright.tool_calls.permissions.subject import UnitVerdict

_STYLES = {"allow": "bold green", "ask": "bold yellow", "deny": "bold red"}

_EXPLAIN = """
Say whether a call would be allowed, asked about or denied, and why. Nothing is run.

CALL is a command line. With --tool it is the input of that tool as JSON, or its path, URL or other main text.
With --batch it is a file of JSON lines; without it, or as '-', they come from standard input.

Examples:

  toolwright permissions explain 'npm test && rm -rf build' --rules rules.json

  toolwright permissions explain .env --tool read --rules .toolwright/settings.json

  toolwright permissions explain --batch calls.jsonl > verdicts.jsonl

A line of a batch: {"tool": "bash", "input": {"command": "ls"},
"rules": {"allow": [], "ask": [], "deny": []}, "mode": "default", "cwd": "/srv/app"}.
Only the input is needed; {"command": "ls"} may stand for it.
Each is answered with {"verdict", "rule", "reason"}, or {"error"} and exit code 1 at the end.
"""


def register(app: typer.Typer) -> None:
    """Add the command group ``permissions``."""
    group = typer.Typer(help="Ask what permission rules would say.", no_args_is_help=True)
    group.command("explain", help=_EXPLAIN)(explain)
    app.add_typer(group, name="permissions")


def explain(
    call: Annotated[
        str | None, typer.Argument(help="A command line, or what --tool and --batch say.")
    ] = None,
    *,
    rules: Annotated[
        str | None, typer.Option(help="JSON with allow, ask and deny lists, or a settings file.")
    ] = None,
    tool: Annotated[str, typer.Option(help="The tool that is called, by any of its names.")] = "bash",
    mode: Annotated[str, typer.Option(help="Permission mode.")] = "default",
    cwd: Annotated[str | None, typer.Option(help="Working directory; default: this one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
    batch: Annotated[bool, typer.Option("--batch", help="Answer many calls, one JSON line each.")] = False,
) -> None:
    from dataclasses import replace

    from toolwright.surfaces.cli.described_calls import DescribedCalls
    from toolwright.surfaces.cli.explaining import Explainer, Question, RuleTexts, read_rules
    from toolwright.wiring import every_builtin

    defaults = Question(
        input={},
        tool=tool,
        rules=read_rules(rules) if rules else RuleTexts(),
        mode=mode,
        cwd=cwd or os.getcwd(),
    )
    calls = DescribedCalls(every_builtin())
    explainer = Explainer(calls)
    if batch:
        _answer_batch(explainer, call, defaults)
        return
    if call is None:
        raise typer.BadParameter("a command line is needed", param_hint="CALL")
    question = replace(defaults, input=calls.written_input(tool, call))
    _print(explainer.explain(question), as_json=as_json)


def _answer_batch(explainer: "Explainer", path: str | None, defaults: "Question") -> None:
    import orjson

    broken = False
    out = sys.stdout.buffer
    for answer in explainer.answers(_lines(path), defaults):
        broken = broken or "error" in answer
        out.write(orjson.dumps(answer) + b"\n")
    out.flush()
    if broken:
        raise typer.Exit(1)


def _lines(path: str | None) -> Iterator[bytes]:
    if path is None or path == "-":
        yield from sys.stdin.buffer
        return
    try:
        with open(path, "rb") as file:
            yield from file
    except OSError as problem:
        raise typer.BadParameter(f"{path} cannot be read: {problem.strerror}", param_hint="CALL") from problem


def _print(explanation: "Explanation", *, as_json: bool) -> None:
    from toolwright.surfaces.cli.explaining import whole_answer

    if as_json:
        import orjson

        typer.echo(orjson.dumps(whole_answer(explanation), option=orjson.OPT_INDENT_2).decode())
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    decision = explanation.decision
    console.print(Text(decision.behavior, style=_STYLES[decision.behavior]))
    rule = decision.reason.rule
    if rule is not None:
        console.print(Text(f"rule    {rule.written}  ({rule.behavior}, from {rule.source})"))
    console.print(Text(f"reason  {decision.reason.detail or decision.reason.kind}"))
    for unit in explanation.units:
        console.print(Text("  ").append(f"{unit.behavior:5}", _STYLES[unit.behavior]).append(_line(unit)))
    for change in decision.suggestions:
        for text in change.rules:
            console.print(Text(f"would be allowed by {text}", style="dim"))
    for notice in explanation.notices:
        console.print(Text(f"notice  {notice}", style="yellow"))


def _line(unit: "UnitVerdict") -> str:
    shown = " ".join(unit.text.split())
    rule = f"  [{unit.rule.written}]" if unit.rule else ""
    return f"  {shown}{rule}  {unit.reason}"
