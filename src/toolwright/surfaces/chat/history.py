"""What a person typed into the conversations of a project, kept in a file that nobody else may read."""

import json
import logging
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from tempfile import NamedTemporaryFile

from prompt_toolkit.history import History

MOST_KEPT = 1_000
LONGEST_KEPT = 20_000
_MOST_BYTES = 16 * 1024 * 1024
log = logging.getLogger(__name__)


class InputHistory(History):
    """The lines of ``path``, oldest first; the newest ``MOST_KEPT`` of them stay.

    What cannot be read or written is left alone: a conversation goes on without a history.
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._is_told = False

    def load_history_strings(self) -> Iterable[str]:
        """Return what was typed, the newest first, each text once. Blocking."""
        kept = read(self._path)
        if len(kept) > MOST_KEPT:
            kept = kept[-MOST_KEPT:]
            self._rewrite(kept)
        return list(dict.fromkeys(reversed(kept)))

    def store_string(self, string: str) -> None:
        """Keep one more. Blocking, for a moment."""
        if len(string) > LONGEST_KEPT:
            return
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(_line(string))
        except OSError as problem:
            self._tell_once("what is typed is not kept in %s: %s", problem)

    def _rewrite(self, kept: Sequence[str]) -> None:
        """Put a shorter file in its place, whole or not at all."""
        folder = os.path.dirname(self._path)
        try:
            with NamedTemporaryFile("w", encoding="utf-8", dir=folder, delete=False) as file:
                file.writelines(map(_line, kept))
            os.replace(file.name, self._path)
        except OSError as problem:
            self._tell_once("%s cannot be shortened: %s", problem)

    def _tell_once(self, words: str, problem: OSError) -> None:
        if not self._is_told:
            self._is_told = True
            log.warning(words, self._path, problem.strerror)


def read(path: str) -> list[str]:
    """Return what a file keeps, oldest first. Lines that are none of ours are passed over. Blocking."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(_MOST_BYTES).splitlines()
    except OSError:
        return []
    found: list[str] = []
    for line in lines:
        with suppress(ValueError):
            text = json.loads(line)
            if isinstance(text, str) and text:
                found.append(text)
    return found


def _line(text: str) -> str:
    return json.dumps(text) + "\n"
