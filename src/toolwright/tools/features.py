"""Feature gates: whether a tool exists at all. Read once for a session, then frozen.

A tool that appears in the middle of a session would rewrite the start of every prompt.
"""

import difflib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from toolwright.contracts.errors import SettingsError

ENVIRONMENT_PREFIX = "TOOLWRIGHT_FEATURE_"

DEFAULTS: Mapping[str, bool] = MappingProxyType(
    {
        "tasks_v2": True,
        "triggers": True,
        "worktrees": False,
        "monitor": True,
        "lsp": False,
        "browser": False,
        "repl": False,
        "plan_verify": False,
        "teams": False,
        "http_tool": False,
        "memory": True,
        "skills": True,
        "notify": False,
        "simple": False,
    }
)
"""Every gate and whether it is open when nobody says otherwise."""

SIMPLE = frozenset({"read", "edit", "write", "bash"})
"""All that is left with ``simple``."""

Origin = Literal["managed", "command line", "environment", "settings", "detected", "default"]

_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"0", "false", "no", "off"})
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Features:
    """The gates of one session, and who decided each."""

    values: Mapping[str, bool] = field(default_factory=lambda: DEFAULTS)
    origins: Mapping[str, Origin] = field(default_factory=dict)

    def on(self, name: str) -> bool:
        """Whether a gate is open. Raises KeyError for a gate that does not exist."""
        return self.values[name]


def resolved(
    *,
    managed: Mapping[str, bool] | None = None,
    cli: Mapping[str, bool] | None = None,
    environ: Mapping[str, str] | None = None,
    settings: Mapping[str, bool] | None = None,
    detected: Mapping[str, bool] | None = None,
) -> Features:
    """Decide every gate; the sources are given from strongest to weakest.

    ``detected`` holds what was found on this machine (a git repository, a language server). Raises
    SettingsError for a gate that does not exist; an environment value that is neither yes nor no counts not.
    """
    layers: tuple[tuple[Origin, Mapping[str, bool]], ...] = (
        ("managed", _known(managed or {}, "managed settings")),
        ("command line", _known(cli or {}, "the command line")),
        ("environment", _from_environment(environ or {})),
        ("settings", _known(settings or {}, "settings")),
        ("detected", _known(detected or {}, "what was detected")),
        ("default", DEFAULTS),
    )
    values: dict[str, bool] = {}
    origins: dict[str, Origin] = {}
    for name in DEFAULTS:
        origins[name], layer = next((origin, layer) for origin, layer in layers if name in layer)
        values[name] = layer[name]
    return Features(MappingProxyType(values), MappingProxyType(origins))


def _known(given: Mapping[str, bool], where: str) -> Mapping[str, bool]:
    for name in given:
        if name not in DEFAULTS:
            near = difflib.get_close_matches(name, DEFAULTS, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(sorted(DEFAULTS))}."
            raise SettingsError(f"{where}: there is no feature {name!r}. {hint}")
    return given


def _from_environment(environ: Mapping[str, str]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for name in DEFAULTS:
        variable = ENVIRONMENT_PREFIX + name.upper()
        word = environ.get(variable, "").strip().lower()
        if word in _YES or word in _NO:
            found[name] = word in _YES
        elif word:
            _logger.warning("%s is neither yes nor no and is left out", variable)
    return found
