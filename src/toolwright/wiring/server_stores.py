"""What a server keeps besides the logs of its sessions: documents, files and keys."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from toolwright.backends.clock.system import SystemClock
from toolwright.catalog.access_keys import AccessKeys
from toolwright.contracts.documents import DocumentStore
from toolwright.contracts.files import FileStore
from toolwright.contracts.ports import Clock
from toolwright.settings import Loaded
from toolwright.wiring.storage import database_path

KEY_VARIABLE = "TOOLWRIGHT_API_KEY"


@dataclass(frozen=True, slots=True)
class ServerStores:
    """Opened together."""

    documents: DocumentStore
    files: FileStore
    keys: AccessKeys
    clock: Clock


@asynccontextmanager
async def open_server_stores(loaded: Loaded) -> AsyncIterator[ServerStores]:
    """Open what is kept beside the sessions of a data folder. May raise SettingsError, StoreUnavailable."""
    from toolwright.backends.files.folder import FolderFiles
    from toolwright.backends.storage.sqlite.documents import SqliteDocuments

    documents = SqliteDocuments(database_path(loaded))
    try:
        clock, given = SystemClock(), loaded.environ.get(KEY_VARIABLE, "")
        files = FolderFiles(os.path.join(loaded.data_folder, "files"))
        yield ServerStores(documents, files, AccessKeys(documents, clock=clock, given=given), clock)
    finally:
        await documents.close()
