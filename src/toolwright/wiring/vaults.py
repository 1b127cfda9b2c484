"""The vaults of a project, opened with the master key of whoever runs the engine."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio.to_thread import run_sync

from toolwright.backends.clock.system import SystemClock
from toolwright.settings import Loaded, user_folder
from toolwright.vaults.master_keys import KEY_FILE, MasterKeys, find_keys
from toolwright.vaults.service import Vaults
from toolwright.wiring.storage import database_path


@asynccontextmanager
async def open_vaults(loaded: Loaded) -> AsyncIterator[Vaults]:
    """Open the vaults that are kept beside the sessions. May raise NoMasterKey for a key of no use.

    Without any key they can be looked at, and nothing can be put in or used.
    """
    from toolwright.backends.storage.sqlite.vaults import SqliteVaults

    keys = await run_sync(master_keys, loaded)
    store = SqliteVaults(database_path(loaded))
    try:
        yield Vaults(store, keys, clock=SystemClock())
    finally:
        await store.close()


def master_keys(loaded: Loaded) -> MasterKeys | None:
    """Return the keys that are set up, or None. Blocking. May raise NoMasterKey."""
    return find_keys(loaded.environ, usual_key_file(loaded))


def usual_key_file(loaded: Loaded) -> str:
    """Return where the master key is kept when nothing else is said."""
    return os.path.join(user_folder(loaded.environ), KEY_FILE)
