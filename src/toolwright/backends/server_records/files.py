"""Records in small JSON files of a folder that belongs to the user, not to a project."""

import fcntl
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import orjson
from anyio.to_thread import run_sync

from toolwright.contracts.errors import SettingsError

if TYPE_CHECKING:
    from toolwright.contracts.mcp_servers import ServerRecords

_APPROVED: Final = "approved.json"
_LOCK: Final = ".lock"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]")
_Data = dict[str, Any]


class FileRecords:
    """``ServerRecords`` in ``folder``: one file of approvals, and one for the tools of each server.

    Processes that write at the same time wait for each other; a reader sees the old file or the new one.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    async def approved(self, project: str) -> Mapping[str, str]:
        data = await run_sync(self._read, _APPROVED)
        found = data.get(project, {})
        return {name: digest for name, digest in found.items() if isinstance(digest, str)}

    async def approve(self, project: str, name: str, digest: str) -> None:
        def change(data: _Data) -> None:
            of_project = data.setdefault(project, {})
            of_project[name] = digest
            if not digest:
                del of_project[name]

        await run_sync(self._change, _APPROVED, change)

    async def pins(self, key: str) -> Mapping[str, Mapping[str, Any]]:
        return await run_sync(self._read, _file_of(key))

    async def pin(self, key: str, tools: Mapping[str, Mapping[str, Any]]) -> None:
        await run_sync(self._change, _file_of(key), lambda data: data.update(tools))

    # --- blocking ---

    def _read(self, name: str) -> _Data:
        path = os.path.join(self._folder, name)
        try:
            with open(path, "rb") as file:
                data = orjson.loads(file.read())
        except FileNotFoundError:
            return {}
        except OSError as problem:
            raise SettingsError(f"{path} cannot be read: {problem.strerror}.") from problem
        except orjson.JSONDecodeError as problem:
            raise SettingsError(f"{path} is not valid JSON; mend or remove it.") from problem
        if not isinstance(data, dict) or not all(isinstance(value, dict) for value in data.values()):
            raise SettingsError(f"{path} is not what was written there; mend or remove it.")
        return data

    def _change(self, name: str, change: Callable[[_Data], None]) -> None:
        with self._alone():
            data = self._read(name)
            change(data)
            self._write(os.path.join(self._folder, name), data)

    def _write(self, path: str, data: _Data) -> None:
        try:
            with tempfile.NamedTemporaryFile(dir=self._folder, prefix=".new-", delete=False) as file:
                file.write(orjson.dumps(data, option=orjson.OPT_INDENT_2))
                file.flush()
                os.fsync(file.fileno())
            os.replace(file.name, path)
        except OSError as problem:
            raise SettingsError(f"{path} cannot be written: {problem.strerror}.") from problem

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            handle = os.open(os.path.join(self._folder, _LOCK), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise SettingsError(f"{self._folder} cannot be written: {problem.strerror}.") from problem
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _file_of(key: str) -> str:
    return f"tools-{_NOT_IN_NAMES.sub('_', key)}.json"


if TYPE_CHECKING:
    _: ServerRecords = FileRecords("")
