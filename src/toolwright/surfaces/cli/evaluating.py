"""The work behind ``toolwright eval``."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio
import orjson

from toolwright.catalog.eval_suites import read_suites
from toolwright.contracts.errors import SettingsError
from toolwright.contracts.evals import EvalCase
from toolwright.settings import load
from toolwright.surfaces.cli.modules import tools_of
from toolwright.surfaces.evals.baselines import read_baseline, write_baseline, write_whole
from toolwright.surfaces.evals.comparing import (
    Baseline,
    Comparison,
    compared,
    comparison_data,
    known_after,
)
from toolwright.surfaces.evals.preparing import EvalOptions, prepared, selected
from toolwright.surfaces.evals.report_html import html_report
from toolwright.surfaces.evals.report_junit import junit_report
from toolwright.surfaces.evals.report_text import attempt_line, text_report
from toolwright.surfaces.evals.results import Attempt, EvalReport, report_data
from toolwright.surfaces.evals.running import run_evals

FAILED, NOT_TRIED = 1, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRequest:
    """What a person typed that is not about how cases are tried."""

    paths: tuple[str, ...]
    filters: tuple[str, ...] = ()
    folder: str = "."
    baseline: str = ""
    write_baseline: str = ""
    reports: tuple[str, ...] = ()
    as_json: bool = False
    shows_progress: bool = True
    only_lists: bool = False


@dataclass(frozen=True, slots=True)
class _Told:
    """A report, and what it is compared with."""

    report: EvalReport
    comparison: Comparison | None
    baseline: str


def evaluated(request: EvalRequest, options: EvalOptions) -> int:
    """Try cases, report, and return the exit code. May raise ToolwrightError."""
    _refuse_both(options)
    writers = [(path, _writer(path)) for path in request.reports]
    before = _baseline(request.baseline) if request.baseline else None
    everything = read_suites(request.paths)
    cases = selected(everything, request.filters)
    if request.only_lists:
        print("".join(f"{case.name}\n" for case in cases), end="")
        return 0
    if not os.path.isdir(request.folder):
        raise SettingsError(f"there is no folder {request.folder}.")
    loaded = load(os.path.realpath(request.folder), environ=dict(os.environ))
    ready = prepared(cases, options, loaded, tools_of)
    progress = _Progress(len(cases) * options.repeat, options.repeat) if request.shows_progress else _silent
    report = anyio.run(lambda: run_evals(ready, options, told=progress))
    all_ids = {case.id for case in everything}
    comparison = None if before is None else compared(before, report.results, all_ids=all_ids)
    told = _Told(report, comparison, request.baseline)
    for path, write in writers:
        write_whole(path, write(told))
    if request.write_baseline:
        known = _known_before(request.write_baseline)
        write_baseline(request.write_baseline, known_after(known, report.results, all_ids=all_ids))
    sys.stdout.write((_json if request.as_json else _text)(told).decode())
    return _exit_code(told)


def _exit_code(told: _Told) -> int:
    if told.comparison.is_worse if told.comparison is not None else told.report.count("failed"):
        return FAILED
    return NOT_TRIED if told.report.count("error") else 0


def _refuse_both(options: EvalOptions) -> None:
    if options.record_to and options.replay_from:
        raise SettingsError("--record and --replay exclude each other.")
    if options.replay_from and (options.model or options.judge_model):
        raise SettingsError("--replay plays the models of its recordings; leave out the others.")


def _baseline(path: str) -> Baseline:
    try:
        return read_baseline(path)
    except FileNotFoundError:
        raise SettingsError(f"there is no baseline {path}; make one with --write-baseline {path}.") from None


def _known_before(path: str) -> Baseline:
    try:
        return read_baseline(path)
    except FileNotFoundError:
        return {}


# --- what is shown while it goes on --------------------------------------------------------------


def _silent(case: EvalCase, attempt: Attempt) -> None:
    del case, attempt


class _Progress:
    """One line on standard error for every attempt that is over."""

    def __init__(self, attempts: int, repeat: int) -> None:
        self._attempts = attempts
        self._repeat = repeat
        self._done = 0

    def __call__(self, case: EvalCase, attempt: Attempt) -> None:
        self._done += 1
        line = attempt_line(case.name, attempt, of=self._repeat)
        print(f"[{self._done}/{self._attempts}] {line}", file=sys.stderr, flush=True)


# --- reports -------------------------------------------------------------------------------------


def _text(told: _Told) -> bytes:
    return text_report(told.report, told.comparison, baseline=told.baseline).encode("utf-8", "replace")


def _json(told: _Told) -> bytes:
    data = report_data(told.report)
    if told.comparison is not None:
        data["comparison"] = comparison_data(told.comparison)
    return orjson.dumps(data, option=orjson.OPT_INDENT_2) + b"\n"


_WRITERS: dict[str, Callable[[_Told], bytes]] = {
    ".txt": _text,
    ".json": _json,
    ".xml": lambda told: junit_report(told.report),
    ".html": lambda told: html_report(told.report, told.comparison),
}


def _writer(path: str) -> Callable[[_Told], bytes]:
    ending = os.path.splitext(path)[1]
    if ending not in _WRITERS:
        known: Sequence[str] = tuple(_WRITERS)
        raise SettingsError(
            f"--report {path}: the ending says what is written; known are {', '.join(known)}."
        )
    return _WRITERS[ending]
