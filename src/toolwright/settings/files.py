"""Settings files: read whole, written so that a reader sees the old file or the new one."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from toolwright.contracts.errors import SettingsError


def read_file(path: str) -> Mapping[str, Any]:
    """Return what a settings file holds, nothing when there is none. Raises SettingsError. Blocking."""
    try:
        text = Path(path).read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as problem:
        raise SettingsError(f"{path} cannot be read: {problem.strerror}.") from problem
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        raise SettingsError(f"{path} is not valid JSON: {problem}.") from problem
    if not isinstance(data, dict):
        raise SettingsError(f"{path} must hold a JSON object.")
    return data


def write_file(path: str, data: Mapping[str, Any]) -> None:
    """Replace a settings file. Raises SettingsError. Blocking."""
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".settings-", delete=False) as file:
            file.write(orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, path)
    except OSError as problem:
        raise SettingsError(f"{path} cannot be written: {problem.strerror}.") from problem
