"""Reads evals as people write them: files of cases, JSON or YAML, and folders of such files.

A file holds one case, or ``cases`` and the ``defaults`` of all of them. What a case says of its own stands
in place of a default; of ``input``, ``expected`` and ``settings`` each key by itself.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolwright.catalog.eval_keys import CASE, Misplaced, at, section
from toolwright.catalog.values import Misfit, mapping
from toolwright.catalog.written import Place, Problem, Written, WrittenWrongly, read_keys
from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.evals import EvalCase

MOST_BYTES = 8 * 1024 * 1024
MOST_VALUES = 100_000
ENDINGS = (".json", ".yaml", ".yml")
_JOINED = ("input", "expected", "settings")
_SUITE = frozenset({"cases", "defaults", "description"})


def read_suites(paths: Sequence[str]) -> tuple[EvalCase, ...]:
    """Read the cases of files, and of all files in folders, in the order of their names. Blocking.

    Raises DefinitionError with everything that is wrong, each with file, line and remedy.
    """
    problems: list[str] = []
    cases: list[EvalCase] = []
    for path in _files(paths):
        try:
            cases += read_suite(path, _content(path))
        except WrittenWrongly as wrong:
            problems.append(str(wrong))
    problems += _twice(cases)
    if problems:
        raise DefinitionError("\n".join(problems))
    return tuple(cases)


def read_suite(path: str, content: bytes) -> tuple[EvalCase, ...]:
    """Read one file. Raises WrittenWrongly."""
    problems: list[Problem] = []
    found: list[EvalCase] = []
    try:
        written = read_keys(path, content, most_bytes=MOST_BYTES, most_values=MOST_VALUES)
        for place, whole in _cases(written):
            try:
                found.append(_case(whole, path))
            except Misfit as misfit:
                problems.append(_problem(misfit, place, written, whole))
    except WrittenWrongly as wrong:
        raise WrittenWrongly(*wrong.problems, path=path) from None
    if problems:
        raise WrittenWrongly(*problems, path=path)
    return tuple(found)


def _files(paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        found = sorted(entry for entry in os.listdir(path) if entry.endswith((".yaml", ".yml", ".eval.json")))
        if not found:
            raise DefinitionError(f"there are no evals in {path}: no .yaml, .yml or .eval.json file.")
        yield from (os.path.join(path, entry) for entry in found)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as problem:
        raise DefinitionError(f"the evals {path} cannot be read: {problem.strerror}.") from problem


def _cases(written: Written) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """Every case with its defaults, and where it stands."""
    data = written.data
    if "cases" not in data:
        yield (), data
        return
    unknown = sorted(data.keys() - _SUITE)
    if unknown:
        line = written.line_of((unknown[0],))
        raise WrittenWrongly(
            Problem(f"{unknown[0]!r} stands beside 'cases'; put it under 'defaults' or into a case.", line)
        )
    cases, defaults = data["cases"], data.get("defaults", {})
    if not isinstance(cases, list) or not cases:
        raise WrittenWrongly(
            Problem("'cases' takes a list of at least one case.", written.line_of(("cases",)))
        )
    if not isinstance(defaults, dict) or "id" in defaults:
        line = written.line_of(("defaults",))
        raise WrittenWrongly(Problem("'defaults' takes the keys of a case, without an id.", line))
    for number, case in enumerate(cases):
        yield ("cases", number), _joined(defaults, case) if isinstance(case, dict) else case


def _joined(defaults: Mapping[str, Any], case: Mapping[str, Any]) -> Mapping[str, Any]:
    whole = {**defaults, **case}
    for name in _JOINED:
        both = defaults.get(name), case.get(name)
        if isinstance(both[0], dict) and isinstance(both[1], dict):
            whole[name] = {**both[0], **both[1]}
    return whole


def _case(whole: Any, path: str) -> EvalCase:
    found = section(mapping(whole), CASE)
    given = found.pop("input", {})
    for name, place in (("id", found), ("message", given)):
        if name not in place:
            raise Misfit(f"has no {name!r}" + (" under 'input'." if name == "message" else "."))
    if "folder" in given:
        given["folder"] = at("folder", lambda folder: _folder(folder, path), given["folder"])
    return EvalCase(**found, **given, origin=path, fingerprint=_fingerprint(whole))


def _folder(folder: str, path: str) -> str:
    found = os.path.join(os.path.dirname(path), os.path.expanduser(folder))
    if not os.path.isdir(found):
        raise Misfit(f"names the folder {folder!r}, which is not there.")
    return found


def _problem(misfit: Misfit, place: Place, written: Written, whole: Any) -> Problem:
    inner = misfit.place if isinstance(misfit, Misplaced) else ()
    named = whole.get("id") if isinstance(whole, dict) else None
    case = f"the case {named!r}" if isinstance(named, str) else "the case"
    where = f"{case}: {'.'.join(map(str, inner))!r}" if inner else case
    return Problem(f"{where} {misfit}", written.line_of((*place, *inner)))


def _fingerprint(whole: Mapping[str, Any]) -> str:
    said = json.dumps(whole, sort_keys=True, ensure_ascii=False).encode()
    return hashlib.sha256(said).hexdigest()[:16]


def _twice(cases: Sequence[EvalCase]) -> Iterator[str]:
    first: dict[str, EvalCase] = {}
    for case in cases:
        if case.id in first:
            yield f"{case.origin}: the case {case.id!r} is in {first[case.id].origin} already; rename one."
        first.setdefault(case.id, case)
