"""How a server was asked to run, and where it keeps everything."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolwright.contracts.errors import SettingsError
from toolwright.settings import Loaded, load
from toolwright.surfaces.engine_variables import data_folder_of, spoken

LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How a server was asked to run."""

    environ: Mapping[str, str]
    host: str = "127.0.0.1"
    port: int = 8000
    data: str = ""
    """Its data folder; by default ``$TOOLWRIGHT_HOME``, else one in the user's home."""
    model: str = ""
    hosts: tuple[str, ...] = ()
    """Further names under which it is reached; ``*`` is any."""
    behind_proxy: bool = False
    """What stands in front of it speaks TLS."""
    catalog: str = ""
    """The directory of its catalog; by default ``$CATALOG_DIR``, else the one that comes along."""
    watch: bool = False
    """It reads the catalog anew when a file of it changes."""
    grace: float = 10.0
    """Seconds that runs have when the server ends."""


def data_folder(serving: Serving) -> str:
    """Return the folder a server keeps everything in."""
    if serving.data or serving.environ.get("TOOLWRIGHT_HOME"):
        return os.path.realpath(serving.data or serving.environ["TOOLWRIGHT_HOME"])
    named = data_folder_of(serving.environ)
    if named:
        return os.path.realpath(named)
    share = serving.environ.get("XDG_DATA_HOME") or os.path.join(
        serving.environ.get("HOME") or "/", ".local", "share"
    )
    return os.path.join(share, "toolwright")


def settings_of(serving: Serving) -> Loaded:
    """Return the settings of a server, its data folder made. Blocking. May raise SettingsError."""
    folder = data_folder(serving)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as problem:
        raise SettingsError(f"{folder} cannot be made: {problem.strerror}.") from problem
    chosen = {"model": serving.model, "models": {"names": {"*": serving.model}}} if serving.model else {}
    said = {**spoken(serving.environ), **chosen, "data_dir": folder}
    return load(folder, environ=serving.environ, cli=said)


def refuse_unsafe(serving: Serving) -> None:
    """Raise SettingsError for an address that others reach, unless something in front keeps keys secret."""
    if serving.host not in LOOPBACK and not serving.behind_proxy:
        raise SettingsError(
            f"{serving.host} is reached from other machines, and keys would travel in the open. Put "
            "something that speaks TLS in front and say --behind-proxy, or listen on 127.0.0.1."
        )
