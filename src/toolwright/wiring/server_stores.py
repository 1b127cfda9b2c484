"""What a server keeps besides the logs of its sessions: documents, files and keys."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from toolwright.backends.clock.system import SystemClock
from toolwright.catalog.access_keys import AccessKeys, plain_digest
from toolwright.contracts.documents import DocumentStore
from toolwright.contracts.files import FileStore
from toolwright.contracts.ports import Clock
from toolwright.settings import Loaded
from toolwright.wiring.storage import database_path

KEY_VARIABLE = "TOOLWRIGHT_API_KEY"
ENGINE_KEY = "ENGINE_API_KEY"
ENGINE_HASH = "ENGINE_KEY_HASH"


@dataclass(frozen=True, slots=True)
class ServerStores:
    """Opened together."""

    documents: DocumentStore
    files: FileStore
    keys: AccessKeys
    clock: Clock


def _hashed(environ: Mapping[str, str]) -> list[str]:
    """Return the digests of the keys that the variables of the Engine API give."""
    plain, digest = environ.get(ENGINE_KEY, ""), environ.get(ENGINE_HASH, "")
    found = [plain_digest(plain)] if plain else []
    return [*found, digest.strip().lower()] if digest else found


@asynccontextmanager
async def open_server_stores(loaded: Loaded) -> AsyncIterator[ServerStores]:
    """Open what is kept beside the sessions of a data folder. May raise SettingsError, StoreUnavailable."""
    from toolwright.backends.files.folder import FolderFiles
    from toolwright.backends.storage.sqlite.documents import SqliteDocuments

    documents = SqliteDocuments(database_path(loaded))
    try:
        files = FolderFiles(os.path.join(loaded.data_folder, "files"))
        clock, environ = SystemClock(), loaded.environ
        keys = AccessKeys(
            documents, clock=clock, given=environ.get(KEY_VARIABLE, ""), hashed=_hashed(environ)
        )
        yield ServerStores(documents, files, keys, clock)
    finally:
        await documents.close()
