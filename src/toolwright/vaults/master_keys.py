"""The keys that all vaults hang on: where they come from, and which one is the present one.

A key is 32 random bytes, written in base64 or hex. The first one seals; further ones, separated by commas or
lines, only open what was sealed before they were replaced.
"""

import base64
import binascii
import hashlib
import os
import secrets
import shlex
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from toolwright.contracts.vaults import NoMasterKey

KEY_VARIABLE: Final = "TOOLWRIGHT_VAULT_KEY"
FILE_VARIABLE: Final = "TOOLWRIGHT_VAULT_KEY_FILE"
COMMAND_VARIABLE: Final = "TOOLWRIGHT_VAULT_KEY_COMMAND"
KEY_BYTES: Final = 32
_LONGEST: Final = 64 * 1024
_COMMAND_SECONDS: Final = 30.0
KEY_FILE: Final = "vault.key"
"""In the folder of a user's settings: the place that counts when the environment names none."""
HOW_TO_GET_ONE: Final = (
    f"'toolwright vault key' makes one. Keep it in another place by {FILE_VARIABLE} (a file only you can "
    f"read), {COMMAND_VARIABLE} (a program that prints it) or {KEY_VARIABLE}."
)


@dataclass(frozen=True, slots=True)
class MasterKeys:
    """Keys by version; a version is the beginning of a key's hash, so that it needs no bookkeeping."""

    current: str
    keys: Mapping[str, bytes] = field(repr=False)

    @property
    def sealing(self) -> bytes:
        return self.keys[self.current]

    def opening(self, version: str) -> bytes:
        """Return the key of a version. May raise NoMasterKey."""
        key = self.keys.get(version)
        if key is None:
            raise NoMasterKey(
                f"The vault was sealed with the master key {version}, which is not among the keys given "
                f"({', '.join(self.keys)}). Put it behind the present one."
            )
        return key


def new_key() -> str:
    """Return a fresh key as it is written."""
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode("ascii")


def read_keys(text: str, origin: str) -> MasterKeys:
    """Return the keys of a text. May raise NoMasterKey, which never quotes it."""
    written = [part.strip() for line in text.splitlines() for part in line.split(",") if part.strip()]
    if not written:
        raise NoMasterKey(f"{origin} holds no key. {HOW_TO_GET_ONE}")
    keys = {}
    for place, part in enumerate(written, 1):
        key = _decoded(part)
        if key is None:
            raise NoMasterKey(f"Key {place} of {origin} is not {KEY_BYTES} bytes in base64 or hex.")
        keys[version_of(key)] = key
    return MasterKeys(next(iter(keys)), keys)


def version_of(key: bytes) -> str:
    """Return the name of a key, which tells nothing about it."""
    return hashlib.sha256(b"toolwright master key\0" + key).hexdigest()[:12]


def find_keys(environ: Mapping[str, str], usual_file: str = "") -> MasterKeys | None:
    """Return the keys that the environment names, else those of the usual file, or None. Blocking.

    May raise NoMasterKey for a place that holds no usable key: another one is never taken instead.
    """
    if environ.get(KEY_VARIABLE):
        return read_keys(environ[KEY_VARIABLE], KEY_VARIABLE)
    if environ.get(FILE_VARIABLE):
        return read_keys(_file(os.path.expanduser(environ[FILE_VARIABLE])), environ[FILE_VARIABLE])
    if environ.get(COMMAND_VARIABLE):
        return read_keys(_printed(environ[COMMAND_VARIABLE], environ), f"the output of {COMMAND_VARIABLE}")
    if usual_file and os.path.lexists(usual_file):
        return read_keys(_file(usual_file), usual_file)
    return None


def write_key(path: str) -> MasterKeys:
    """Put a fresh key into a file that only its owner can read, before the keys that are there. Blocking.

    The former keys stay: they open what they have sealed until it is sealed anew. May raise NoMasterKey.
    """
    there = _file(path) if os.path.lexists(path) else ""
    if there:
        read_keys(there, path)  # what is not a key file is not written over
    keys = f"{new_key()}\n{there}"
    beside = f"{path}.new"
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(keys)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as problem:
        raise NoMasterKey(f"The key file {path} cannot be written: {problem.strerror}.") from problem
    return read_keys(keys, path)


def _decoded(text: str) -> bytes | None:
    try:
        key = bytes.fromhex(text) if len(text) == KEY_BYTES * 2 else base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return None
    return key if len(key) == KEY_BYTES else None


def _file(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise NoMasterKey(f"Others can read the key file {path}. Say 'chmod 600 {path}'.")
            return file.read(_LONGEST)
    except OSError as problem:
        raise NoMasterKey(f"The key file {path} cannot be read: {problem.strerror}.") from problem


def _printed(command: str, environ: Mapping[str, str]) -> str:
    try:
        argv = shlex.split(command)
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_COMMAND_SECONDS,
            check=True,
            env=dict(environ),
        )
    except subprocess.TimeoutExpired:
        raise NoMasterKey(f"{COMMAND_VARIABLE} printed no key within {_COMMAND_SECONDS:.0f} s.") from None
    except subprocess.CalledProcessError as problem:
        raise NoMasterKey(f"{COMMAND_VARIABLE} ended with code {problem.returncode}.") from None
    except (OSError, ValueError) as problem:
        raise NoMasterKey(f"{COMMAND_VARIABLE} cannot be run: {problem}.") from None
    return done.stdout[:_LONGEST].decode("ascii", "replace")
