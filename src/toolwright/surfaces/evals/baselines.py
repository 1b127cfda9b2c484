"""The file that a baseline is kept in."""

import json
import os
import tempfile
from typing import Any

import orjson

from toolwright.contracts.errors import DefinitionError, SettingsError
from toolwright.surfaces.evals.comparing import VERSION, Baseline, Known, baseline_data

MOST_BYTES = 32 * 1024 * 1024
_HOW = "write it anew with --write-baseline"


def read_baseline(path: str) -> Baseline:
    """Read a baseline. Blocking. Raises DefinitionError, FileNotFoundError where there is none."""
    try:
        with open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise DefinitionError(f"the baseline {path} cannot be read: {problem.strerror}.") from problem
    if len(content) > MOST_BYTES:
        raise DefinitionError(f"the baseline {path} is larger than {MOST_BYTES:,} bytes.")
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise DefinitionError(f"the baseline {path} is not JSON: {problem}; {_HOW}.") from problem
    if not isinstance(data, dict) or data.get("evals") != VERSION or not isinstance(data.get("cases"), dict):
        raise DefinitionError(f"{path} is no baseline of evals of version {VERSION}; {_HOW}.")
    return {id: _known(id, case, path) for id, case in data["cases"].items()}


def _known(id: str, case: Any, path: str) -> Known:
    if not isinstance(case, dict) or not isinstance(case.get("passed"), bool):
        raise DefinitionError(f"the baseline {path} does not say whether {id!r} passed; {_HOW}.")
    rate, means, failing = case.get("rate", 1.0), case.get("means", {}), case.get("failing", [])
    numbers = [rate, *means.values()] if isinstance(means, dict) else [None]
    texts = failing if isinstance(failing, list) else [None]
    if not all(isinstance(one, int | float) for one in numbers) or not all(
        isinstance(one, str) for one in texts
    ):
        raise DefinitionError(f"the baseline {path} says of {id!r} what cannot be read; {_HOW}.")
    return Known(
        passed=case["passed"],
        rate=float(rate),
        failing=tuple(failing),
        fingerprint=str(case.get("fingerprint", "")),
        means={str(name): float(value) for name, value in means.items()},
    )


def write_baseline(path: str, baseline: Baseline) -> None:
    """Put a baseline in place of what is there. Blocking. Raises SettingsError."""
    write_whole(path, orjson.dumps(baseline_data(baseline), option=orjson.OPT_INDENT_2) + b"\n")


def write_whole(path: str, content: bytes) -> None:
    """Write a file so that it is there whole or as it was. Blocking. Raises SettingsError."""
    folder = os.path.dirname(path) or "."
    try:
        os.makedirs(folder, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=folder, prefix=".eval-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.chmod(beside, 0o644)
            os.replace(beside, path)
        except BaseException:
            os.unlink(beside)
            raise
    except OSError as problem:
        raise SettingsError(f"{path} cannot be written: {problem.strerror}.") from problem
