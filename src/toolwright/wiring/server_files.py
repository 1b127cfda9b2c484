"""MCP servers put into the files they are kept in, and taken out again. Blocking."""

import os
from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

from toolwright.contracts.errors import SettingsError
from toolwright.settings import SETTINGS_FOLDER, Loaded, user_folder
from toolwright.settings.files import read_file, write_file
from toolwright.tools.mcp.entries import Place, read_entry
from toolwright.wiring.server_choice import PROJECT_FILE

FileScope = Literal["user", "project", "local"]
SCOPES: Final[tuple[FileScope, ...]] = get_args(FileScope)
_PROJECT_KEY: Final = "mcpServers"


def file_of(loaded: Loaded, scope: FileScope) -> str:
    """Return the file that servers of a scope stand in."""
    return {
        "user": os.path.join(user_folder(loaded.environ), "settings.json"),
        "local": os.path.join(loaded.project, SETTINGS_FOLDER, "settings.local.json"),
        "project": os.path.join(loaded.project, PROJECT_FILE),
    }[scope]


def add_server(loaded: Loaded, scope: FileScope, name: str, entry: Mapping[str, Any]) -> str:
    """Write an entry; return the file's path. May raise SettingsError: it could not be used, or is there."""
    read = read_entry(name, dict(entry), Place(scope=scope, environ=loaded.environ, folder=loaded.project))
    if read.server is None:
        raise SettingsError(read.problem)
    path = file_of(loaded, scope)
    data = dict(read_file(path))
    entries = _entries(data, scope)
    if name in entries:
        raise SettingsError(f"{path} has a server {name!r} already; remove it first.")
    write_file(path, _with(data, scope, {**entries, name: dict(entry)}))
    return path


def remove_server(loaded: Loaded, name: str, scope: FileScope | None = None) -> str:
    """Take an entry out of the strongest file that has it; return its path. May raise SettingsError."""
    for place in (scope,) if scope is not None else ("local", "project", "user"):
        path = file_of(loaded, place)
        data = dict(read_file(path))
        entries = _entries(data, place)
        if name in entries:
            rest = {key: entry for key, entry in entries.items() if key != name}
            write_file(path, _with(data, place, rest))
            return path
    where = "no file" if scope is None else f"no entry of {file_of(loaded, scope)}"
    raise SettingsError(
        f"{where} has a server {name!r}; 'toolwright mcp list' shows where servers are written."
    )


def _entries(data: Mapping[str, Any], scope: FileScope) -> Mapping[str, Any]:
    section = data.get(_PROJECT_KEY, {}) if scope == "project" else data.get("mcp", {}).get("servers", {})
    if not isinstance(section, Mapping):
        raise SettingsError("servers are written as an object, by their names.")
    return section


def _with(data: Mapping[str, Any], scope: FileScope, entries: Mapping[str, Any]) -> Mapping[str, Any]:
    if scope == "project":
        return {**data, _PROJECT_KEY: entries}
    return {**data, "mcp": {**data.get("mcp", {}), "servers": entries}}
