"""What one sandbox owns on the host: its ``/tmp``, its ``/etc``, and an empty directory to cover with."""

import os
import shutil
import tempfile
from typing import Final

_ETC_FILES: Final = (
    "debian_version",
    "ld.so.cache",
    "ld.so.conf",
    "localtime",
    "magic",
    "mime.types",
    "os-release",
    "protocols",
    "services",
    "ssl/openssl.cnf",
    "timezone",
)
"""Files of ``/etc`` that programs need and that hold no secret of the host. They are copied: each mount
costs time at every start."""

ETC_FOLDERS: Final = (
    "alternatives",
    "fonts",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "ssl/certs",
)
"""Folders of ``/etc`` of the same kind, with too many files to copy."""

_IDENTITY: Final = {
    "passwd": "sandbox:x:{id}:{id}:sandbox:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "group": "sandbox:x:{id}:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
"""What programs read about users and names, in place of the host's."""


class OwnFiles:
    """Made before the first start, removed with the sandbox. Methods block."""

    def __init__(self, inside_id: int) -> None:
        self._root = tempfile.mkdtemp(prefix="toolwright-sandbox-")
        for path in (self.tmp, self.etc, self.empty):
            os.mkdir(path)
        for name in _ETC_FILES:
            _copy(f"/etc/{name}", os.path.join(self.etc, name))
        for name in ETC_FOLDERS:
            os.makedirs(os.path.join(self.etc, name))
        for name, text in _IDENTITY.items():
            with open(os.path.join(self.etc, name), "w", encoding="ascii") as file:
                file.write(text.format(id=inside_id))

    @property
    def tmp(self) -> str:
        """Seen as ``/tmp``; commands of the sandbox share it."""
        return os.path.join(self._root, "tmp")

    @property
    def etc(self) -> str:
        """Seen as ``/etc``."""
        return os.path.join(self._root, "etc")

    @property
    def empty(self) -> str:
        """Lies over what must not be there."""
        return os.path.join(self._root, "empty")

    def remove(self) -> None:
        """Remove everything, however commands set its modes."""
        for directory, _, _ in os.walk(self._root):
            os.chmod(directory, 0o700)
        shutil.rmtree(self._root, ignore_errors=True)


def _copy(source: str, target: str) -> None:
    """Copy a file or a link of the host, if it is there and may be read."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    try:
        shutil.copyfile(source, target, follow_symlinks=False)
    except OSError:
        return
