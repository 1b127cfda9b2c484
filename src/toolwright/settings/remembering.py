"""What a person decided for good is written into the settings file it belongs to."""

import os
from collections.abc import Mapping
from typing import Any

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.permissions import RuleChange
from toolwright.settings.files import read_file, write_file
from toolwright.settings.layers import SETTINGS_FOLDER, Loaded, user_folder


def trust(project: str, environ: Mapping[str, str]) -> str:
    """Note in the user's own settings that a project is trusted; return the file's path. Blocking."""
    path = os.path.join(user_folder(environ), "settings.json")
    data = dict(read_file(path))
    data["trusted_projects"] = sorted({*data.get("trusted_projects", ()), project})
    write_file(path, data)
    return path


def remember(loaded: Loaded, change: RuleChange) -> str:
    """Write a lasting change into the settings file of its destination; return the file's path.

    Blocking. Raises SettingsError when the file cannot be read or written.
    """
    path = _file_of(loaded, change)
    data = dict(read_file(path))
    data["permissions"] = _changed_section(data.get("permissions", {}), change)
    write_file(path, data)
    return path


def _file_of(loaded: Loaded, change: RuleChange) -> str:
    here = os.path.join(loaded.project, SETTINGS_FOLDER)
    match change.destination:
        case "local":
            return f"{here}/settings.local.json"
        case "project":
            return f"{here}/settings.json"
        case "user":
            return f"{user_folder(loaded.environ)}/settings.json"
        case "session":
            raise SettingsError("a change for the session only has no file")


def _changed_section(section: Mapping[str, Any], change: RuleChange) -> dict[str, Any]:
    out = dict(section)
    present = tuple(out.get(change.behavior, ()))
    folders = tuple(out.get("additional_directories", ()))
    match change.kind:
        case "addRules":
            out[change.behavior] = list(dict.fromkeys((*present, *change.rules)))
        case "replaceRules":
            out[change.behavior] = list(change.rules)
        case "removeRules":
            out[change.behavior] = [rule for rule in present if rule not in change.rules]
        case "setMode":
            out["mode"] = change.mode
        case "addDirectories":
            out["additional_directories"] = list(dict.fromkeys((*folders, *change.directories)))
        case "removeDirectories":
            out["additional_directories"] = [path for path in folders if path not in change.directories]
    return out
