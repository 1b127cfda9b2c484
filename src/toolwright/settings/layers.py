"""Reading the layers of settings and putting them together."""

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ValidationError

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.permissions import RuleSource
from toolwright.settings.environment import Environment, FromEnvironment, read_environment
from toolwright.settings.files import read_file
from toolwright.settings.holding_back import careful, leaves
from toolwright.settings.sections import Settings

SETTINGS_FOLDER = ".toolwright"
MANAGED_FILE = "/etc/toolwright/settings.json"
PRECEDENCE: tuple[RuleSource, ...] = ("managed", "cli", "local", "project", "user")
_OF_THE_PROJECT = frozenset({"local", "project"})


@dataclass(frozen=True, slots=True)
class Layer:
    """One source of settings as written; ``base`` anchors its path rules."""

    source: RuleSource
    origin: str
    base: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings in force, and the layers they came from, highest precedence first."""

    settings: Settings
    layers: tuple[Layer, ...]
    project: str
    home: str
    environ: Mapping[str, str]
    trusted: bool
    notices: tuple[str, ...] = ()
    """What a person should know about what was read."""
    environment: tuple[FromEnvironment, ...] = ()
    """Settings that variables give; they count where no layer has the same."""

    @property
    def data_folder(self) -> str:
        """Where sessions are kept: the setting ``data_dir``, else a folder in the project."""
        wanted = self.settings.data_dir
        if not wanted:
            return os.path.join(self.project, SETTINGS_FOLDER)
        if wanted == "~" or wanted.startswith("~/"):
            wanted = self.home + wanted[1:]
        return os.path.join(self.project, wanted)

    def features_of(self, source: RuleSource) -> Mapping[str, bool]:
        """Return the feature gates that one layer sets."""
        for layer in self.layers:
            if layer.source == source:
                return dict(layer.data.get("features", {}))
        return {}


def load(
    project: str,
    *,
    environ: Mapping[str, str],
    cli: Mapping[str, Any] | None = None,
    read_files: bool = True,
) -> Loaded:
    """Read all layers for a project folder. Raises SettingsError naming file, key and remedy."""
    home = environ.get("HOME") or "/"
    layers = [Layer("cli", "command line", project, cli or {})]
    if read_files:
        layers += [layer for layer in _file_layers(project, environ) if layer.data]
    layers.sort(key=lambda layer: PRECEDENCE.index(layer.source))
    for layer in layers:
        _validated(layer.data, layer.origin)
    trusted = _is_trusted(project, layers)
    stack = _stacked(layers, trusted=trusted)
    environment = read_environment(environ)
    settings = _validated(_with(environment, stack.merged), "merged settings")
    notices = [
        f"{layer.origin}: only its deny and ask rules, its disabled tools and its lower limits count until "
        "the project is trusted (toolwright trust)."
        for layer in stack.held_back
    ]
    return Loaded(
        settings,
        tuple(stack.layers),
        project,
        home,
        environ,
        trusted,
        (*notices, *environment.notices),
        environment.given,
    )


@dataclass(slots=True)
class _Stack:
    """Layers as they count, strongest first, and all of them in one."""

    layers: list[Layer]
    merged: dict[str, Any]
    held_back: list[Layer]


def _stacked(layers: list[Layer], *, trusted: bool) -> _Stack:
    stack = _Stack([], {}, [])
    for layer in reversed(layers):
        data = layer.data
        if not trusted and layer.source in _OF_THE_PROJECT:
            data = careful(data, stack.merged)
            if set(leaves(layer.data)) - set(leaves(data)):
                stack.held_back.insert(0, layer)
        stack.layers.insert(0, replace(layer, data=data))
        stack.merged = _over(stack.merged, data)
    return stack


def user_folder(environ: Mapping[str, str]) -> str:
    """Return the folder of a user's own settings."""
    config = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME") or "/", ".config")
    return os.path.join(config, "toolwright")


def _file_layers(project: str, environ: Mapping[str, str]) -> list[Layer]:
    here = os.path.join(project, SETTINGS_FOLDER)
    user = user_folder(environ)
    return [
        Layer("managed", MANAGED_FILE, "/", read_file(MANAGED_FILE)),
        Layer("local", f"{here}/settings.local.json", project, read_file(f"{here}/settings.local.json")),
        Layer("project", f"{here}/settings.json", project, read_file(f"{here}/settings.json")),
        Layer("user", f"{user}/settings.json", user, read_file(f"{user}/settings.json")),
    ]


def _validated(data: Mapping[str, Any], origin: str) -> Settings:
    try:
        return Settings.model_validate(data)
    except ValidationError as problem:
        raise SettingsError(f"{origin}: {_explained(problem)}") from None


def _explained(problem: ValidationError) -> str:
    first = problem.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = _known_keys(first["loc"][:-1])
        near = difflib.get_close_matches(str(first["loc"][-1]), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else f" Known here: {', '.join(sorted(known))}."
        return f"unknown setting {where!r}.{hint}"
    return f"setting {where!r}: {first['msg']}."


def _known_keys(location: tuple[int | str, ...]) -> list[str]:
    model: type[BaseModel] = Settings
    for part in location:
        field = model.model_fields.get(str(part))
        inner = field.annotation if field else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        model = inner
    return list(model.model_fields)


def _over(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(low)
    for key, value in high.items():
        below = out.get(key)
        out[key] = _over(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return out


def _with(environment: Environment, merged: Mapping[str, Any]) -> dict[str, Any]:
    """Put what variables give below what files say, lists beside it."""
    whole = _over(_given(environment), merged)
    for one in environment.given:
        if isinstance(one.value, tuple):
            section, _, last = one.key.rpartition(".")
            written = merged.get(section, {}).get(last, ())
            whole[section] = {**whole[section], last: tuple(dict.fromkeys((*written, *one.value)))}
    return whole


def _given(environment: Environment) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for one in environment.given:
        *sections, last = one.key.split(".")
        inner: dict[str, Any] = {last: one.value}
        for section in reversed(sections):
            inner = {section: inner}
        data = _over(data, inner)
    return data


def _is_trusted(project: str, layers: list[Layer]) -> bool:
    """A project is trusted by the user's own or a managed layer, never by itself."""
    for layer in layers:
        if layer.source in {"managed", "user", "cli"} and project in layer.data.get("trusted_projects", ()):
            return True
    return False
