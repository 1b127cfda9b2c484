"""``toolwright eval``: put cases to an agent, score what it does, and compare with how it was before."""

from typing import Annotated

import typer

_HELP = """Put cases to an agent, score what it does, and compare with how it was before.

PATHS are files of cases, or folders with .yaml, .yml and .eval.json files. Each attempt has a session and a
workspace of its own; nothing is asked, what would need asking is refused. How cases are written stands in
docs/how-to/evaluate-agents.md. Tools that a case names are loaded like any program: run only what you trust.

Ends with 0 when all is well, 1 when a case failed, 2 for a usage error, 3 when a case could not be tried.
With --baseline only what fails now and did not fail before is a failure.

\b
Examples:
  toolwright eval evals/
  toolwright eval evals/ --model ollama/qwen3 --repeat 3 --concurrency 2
  toolwright eval evals/ --write-baseline evals/baseline.json
  toolwright eval evals/ --baseline evals/baseline.json --report eval.html --report junit.xml
  toolwright eval evals/ --record evals/tapes
  toolwright eval evals/ --replay evals/tapes --filter reading/
"""

Paths = Annotated[list[str], typer.Argument(metavar="PATHS...", help="Files of cases, or folders of them.")]
Filter = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="Only cases whose category/id holds TEXT or fits it; may be repeated."),
]
Model = Annotated[
    str, typer.Option("--model", "-m", metavar="MODEL", help="Asked instead of what cases name.")
]
JudgeModel = Annotated[str, typer.Option(metavar="MODEL", help="Judges where cases want a judge.")]
Tools = Annotated[
    list[str] | None, typer.Option(metavar="MODULE", help="A module or .py file with tools for all cases.")
]
Folder = Annotated[
    str, typer.Option("--dir", metavar="FOLDER", help="The project whose agents and models count.")
]
Repeat = Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="Try each case N times.")]
Concurrency = Annotated[int, typer.Option(metavar="N", min=1, max=256, help="Try at most N at once.")]
BaselineFile = Annotated[str, typer.Option("--baseline", metavar="FILE", help="Compare with this run.")]
WriteBaseline = Annotated[str, typer.Option(metavar="FILE", help="Keep what came of it for later runs.")]
Reports = Annotated[
    list[str] | None,
    typer.Option("--report", metavar="FILE", help="Write a .txt, .json, .xml (JUnit) or .html report too."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]
Record = Annotated[str, typer.Option(metavar="FOLDER", help="Record what models say, for --replay.")]
Replay = Annotated[str, typer.Option(metavar="FOLDER", help="Play recordings instead of asking a model.")]
Keep = Annotated[str, typer.Option(metavar="FOLDER", help="Leave the workspaces of all attempts there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
List = Annotated[bool, typer.Option("--list", help="Only say which cases there are.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("eval", help=_HELP)(evaluate)


def evaluate(
    paths: Paths,
    filter: Filter = None,
    model: Model = "",
    judge_model: JudgeModel = "",
    tools: Tools = None,
    folder: Folder = ".",
    repeat: Repeat = 1,
    concurrency: Concurrency = 4,
    baseline: BaselineFile = "",
    write_baseline: WriteBaseline = "",
    report: Reports = None,
    json: Json = False,
    record: Record = "",
    replay: Replay = "",
    keep: Keep = "",
    quiet: Quiet = False,
    list: List = False,
) -> None:
    """Try cases and report."""
    from toolwright.surfaces.cli.evaluating import EvalRequest, evaluated
    from toolwright.surfaces.evals.preparing import EvalOptions

    options = EvalOptions(
        model=model,
        judge_model=judge_model,
        tools=tuple(tools or ()),
        repeat=repeat,
        concurrency=concurrency,
        record_to=record,
        replay_from=replay,
        keep=keep,
    )
    request = EvalRequest(
        paths=tuple(paths),
        filters=tuple(filter or ()),
        folder=folder,
        baseline=baseline,
        write_baseline=write_baseline,
        reports=tuple(report or ()),
        as_json=json,
        shows_progress=not quiet,
        only_lists=list,
    )
    raise typer.Exit(evaluated(request, options))
