"""Finds the tools in a Python module or file that a person names."""

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import TypeVar

from toolwright.contracts.errors import SettingsError, ToolwrightError
from toolwright.contracts.tool import Tool

Loaded = TypeVar("Loaded")


def tools_of(name: str) -> list[Tool]:
    """Return the tools that stand in a module, given by import name or path. May raise SettingsError."""
    module = _from_file(name) if name.endswith(".py") or os.sep in name else _imported(name)
    found = [
        value for value in vars(module).values() if isinstance(value, Tool) and not isinstance(value, type)
    ]
    if not found:
        raise SettingsError(f"there is no tool in {name}; decorate a function with @tool.")
    return found


def _imported(name: str) -> ModuleType:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    return _loaded(name, lambda: importlib.import_module(name))


def _from_file(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(os.path.basename(path).removesuffix(".py"), path)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise SettingsError(f"there is no Python file {path}.")
    module = importlib.util.module_from_spec(spec)
    # Type hints and dataclasses look their module up by its name.
    sys.modules[spec.name] = module
    execute = partial(spec.loader.exec_module, module)
    _loaded(path, execute)
    return module


def _loaded(name: str, load: Callable[[], Loaded]) -> Loaded:
    """Run somebody's module. Whatever it raises is told in one line, with its place."""
    try:
        return load()
    except Exception as problem:
        said = f"{type(problem).__name__}: {problem}"
        raise SettingsError(f"{name!r} cannot be imported: {said}{_place(problem)}.") from problem


def _place(problem: Exception) -> str:
    if isinstance(problem, ToolwrightError | ImportError | SyntaxError):
        return ""
    frames = traceback.extract_tb(problem.__traceback__)
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
