"""What a server tells of itself: one JSON object a line, on standard error.

Only what the engine says itself is told at the level that was asked for. Libraries are heard from warnings
on: what they say below may hold addresses and headers.
"""

import logging
import queue
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from logging.handlers import QueueHandler, QueueListener
from typing import Any, Final, TextIO

import orjson

from toolwright.contracts.errors import SettingsError

LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")
VARIABLES: Final = ("TOOLWRIGHT_LOG_LEVEL", "ENGINE_LOG_LEVEL")
"""Where the level stands; the first one that is set counts."""
FIELDS: Final = "fields"
"""What a record carries beside its text: ``log.info("...", extra={FIELDS: {...}})``."""
_OURS: Final = "toolwright"
_MOST_WAITING: Final = 10_000
_PATIENCE: Final = 2.0
"""Seconds in which what is left at the end should have been written."""


class JsonLines(logging.Formatter):
    """Writes records as JSON."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "timestamp": at.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


class _Waiting(QueueHandler):
    """Hands records over as they are: they are written in this process, and nobody changes them."""

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        try:
            self.queue.put_nowait(record)
        except queue.Full:
            return  # whoever reads is stuck: the server goes on without being heard


class _Writing(QueueListener):
    """Writes what is waiting, in a thread of its own."""

    def stop(self) -> None:
        """Wait a little for what is left: a reader that is stuck does not hold up the end of the server."""
        thread, self._thread = self._thread, None
        if thread is not None:
            with suppress(queue.Full):
                self.enqueue_sentinel()
            thread.join(_PATIENCE)


def level_of(environ: Mapping[str, str]) -> int:
    """Return the level that the environment asks for. May raise SettingsError."""
    name, written = next(((name, environ[name]) for name in VARIABLES if environ.get(name)), ("", "INFO"))
    if written.upper() not in LEVELS:
        raise SettingsError(f"{name} is one of {', '.join(LEVELS)}, not {written!r}.")
    return logging.getLevelNamesMapping()[written.upper()]


@contextmanager
def telling(level: int, stream: TextIO | None = None) -> Iterator[None]:
    """Have logs written as lines meanwhile, by a thread of their own: whoever logs never waits."""
    writer = logging.StreamHandler(stream or sys.stderr)
    writer.setFormatter(JsonLines())
    waiting: queue.Queue[Any] = queue.Queue(_MOST_WAITING)
    handler, root, ours = _Waiting(waiting), logging.getLogger(), logging.getLogger(_OURS)
    listener = _Writing(waiting, writer)
    before = ours.level
    root.addHandler(handler)
    ours.setLevel(level)
    listener.start()
    try:
        yield
    finally:
        root.removeHandler(handler)
        ours.setLevel(before)
        listener.stop()
