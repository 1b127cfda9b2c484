"""Every knob, typed. Files are read once, in layers, and passed on; nothing else reads the environment.

Precedence of values, first wins: managed, cli, local, project, user, and for a few of them the environment.
Rule lists are not overridden: each layer's rules are kept with their source.
"""

from toolwright.settings.environment import concurrency_limit
from toolwright.settings.layers import (
    MANAGED_FILE,
    PRECEDENCE,
    SETTINGS_FOLDER,
    Layer,
    Loaded,
    load,
    user_folder,
)
from toolwright.settings.origins import Origin, Said, every_origin, origin_of
from toolwright.settings.remembering import remember, trust
from toolwright.settings.sections import AbilitySettings, ProviderSettings, Settings

__all__ = [
    "MANAGED_FILE",
    "PRECEDENCE",
    "SETTINGS_FOLDER",
    "AbilitySettings",
    "Layer",
    "Loaded",
    "Origin",
    "ProviderSettings",
    "Said",
    "Settings",
    "concurrency_limit",
    "every_origin",
    "load",
    "origin_of",
    "remember",
    "trust",
    "user_folder",
]
