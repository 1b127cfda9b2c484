"""Roots: directories held open by handle. What a workspace may reach starts at one of them."""

import os
import pwd
import weakref
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.mounts import Mount
from toolwright.contracts.tool import Access
from toolwright.workspaces.beneath import HANDLE_ONLY
from toolwright.workspaces.names import inside

NEVER_REACHABLE = ("/proc", "/sys", "/dev")


class Root:
    """One directory and an open handle of it. The handle stays the same place whatever is renamed."""

    __slots__ = ("__weakref__", "close", "given", "handle", "path", "writable")

    def __init__(self, given: str, *, writable: bool, folder: str = "") -> None:
        """``folder``: what is mounted at the path ``given``; empty for a directory under its own path."""
        self.given = os.path.normpath(os.path.abspath(given))
        """As configured; paths written this way mean the same as those below ``path``."""
        self.path = self.given if folder else os.path.realpath(self.given)
        """As calls see it, without any link in it."""
        self.writable = writable
        place = os.path.realpath(folder) if folder else self.path
        try:
            self.handle = os.open(place, HANDLE_ONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise SettingsError(f"{given} cannot be a workspace root: {error.strerror}") from error
        self.close = weakref.finalize(self, os.close, self.handle)
        """Close the handle; done by itself when the root is forgotten. Safe to repeat."""

    def permits(self, path: str, access: Access) -> bool:
        return inside(path, self.path) and (self.writable or access == "read")

    def below(self, path: str) -> str:
        """``path``, which lies inside, relative to this root."""
        return path[len(self.path) + 1 :] or "."


def opened_roots(
    writable: Sequence[str],
    readable: Sequence[str],
    mounts: Sequence[Mount] = (),
    *,
    engine_home: str | None,
) -> tuple[Root, ...]:
    """Open every root. Raises SettingsError for a place that must not be one."""
    if not writable:
        raise SettingsError("A workspace needs at least one root.")
    refuse_unfit((*writable, *readable))
    for given in writable:
        _refuse_holding_engine(given, engine_home)
    return (
        *(Root(given, writable=True) for given in writable),
        *(Root(given, writable=False) for given in readable),
        *(Root(mount.path, writable=mount.writable, folder=mount.folder) for mount in mounts),
    )


def root_for(roots: Iterable[Root], path: str, access: Access) -> Root | None:
    """The innermost root that holds the path, if it permits this: a read-only root inside a writable one
    stays read-only. Of two equal roots the first counts."""
    holding = [root for root in roots if inside(path, root.path)]
    innermost = max(holding, key=lambda root: len(root.path), default=None)
    return innermost if innermost is not None and innermost.permits(path, access) else None


def never_reachable(path: str) -> bool:
    return any(inside(path, place) for place in NEVER_REACHABLE)


def refuse_unfit(places: Iterable[str]) -> None:
    """Raises SettingsError for a place that must not be a workspace. Opens and makes nothing."""
    homes = _homes(os.path.expanduser("~"))
    for given in places:
        _refuse_unfit(given, homes)


def _refuse_unfit(given: str, homes: "_Homes") -> None:
    path = os.path.realpath(given)
    if path == "/":
        raise SettingsError("The whole file system cannot be a workspace; name a folder in it.")
    if never_reachable(path):
        raise SettingsError(f"{given} cannot be a workspace: it belongs to the system.")
    if path in homes.all or any(inside(home, path) for home in homes.personal):
        raise SettingsError(f"{given} cannot be a workspace: it is or holds a home folder.")
    if inside(_temporary(), path):
        raise SettingsError(
            f"{given} cannot be a workspace: the engine keeps files there; name a folder in it."
        )


def _refuse_holding_engine(given: str, engine_home: str | None) -> None:
    if engine_home is None:
        return
    path, engine = os.path.realpath(given), os.path.realpath(engine_home)
    if inside(engine, path) or inside(path, engine):
        raise SettingsError(f"{given} cannot be a workspace: the engine keeps its own data there.")


def _temporary() -> str:
    """Where sandboxes and sessions without a folder keep what no call may change."""
    import tempfile

    return os.path.realpath(tempfile.gettempdir())


class _Homes(NamedTuple):
    all: frozenset[str]
    personal: frozenset[str]
    """Those whose parents are no workspace either. Accounts of services live in ordinary places."""


@cache
def _homes(own: str) -> _Homes:
    """Look once where the accounts of this machine are at home."""
    own = os.path.realpath(own)
    accounts = (account.pw_dir for account in pwd.getpwall() if os.path.isabs(account.pw_dir))
    homes = frozenset((own, *map(os.path.realpath, accounts)))
    return _Homes(homes, frozenset(home for home in homes if home == own or inside(home, "/home")))
