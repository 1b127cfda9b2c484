"""Answers of web servers, kept for a while: the oldest go first when there are too many bytes."""

import logging
from collections import OrderedDict
from collections.abc import Mapping

from toolwright.contracts.network import WebResponse
from toolwright.contracts.ports import Clock

MOST_BYTES = 50 * 1024 * 1024
DEFAULT_SECONDS = 15 * 60.0
VARIABLE = "TOOLWRIGHT_WEBFETCH_CACHE_TTL_MS"

_logger = logging.getLogger(__name__)


class WebCache:
    """Answers by URL, for ``seconds`` after they came."""

    def __init__(
        self, clock: Clock, *, seconds: float = DEFAULT_SECONDS, most_bytes: int = MOST_BYTES
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, tuple[float, WebResponse]] = OrderedDict()
        self._bytes = 0

    def get(self, url: str) -> WebResponse | None:
        """The answer of a URL while it is fresh."""
        found = self._kept.get(url)
        if found is None:
            return None
        if self._clock.monotonic() - found[0] >= self._seconds:
            self._drop(url)
            return None
        self._kept.move_to_end(url)
        return found[1]

    def put(self, url: str, answer: WebResponse) -> None:
        """Keep an answer, unless it alone is too big."""
        self._drop(url)
        if len(answer.body) > self._most_bytes or self._seconds <= 0:
            return
        self._kept[url] = (self._clock.monotonic(), answer)
        self._bytes += len(answer.body)
        while self._bytes > self._most_bytes:
            self._drop(next(iter(self._kept)))

    def _drop(self, url: str) -> None:
        if url in self._kept:
            self._bytes -= len(self._kept.pop(url)[1].body)


def seconds_to_keep(environ: Mapping[str, str]) -> float:
    """How long answers are kept, from the environment; a wrong value is reported and counts not."""
    text = environ.get(VARIABLE, "")
    if not text:
        return DEFAULT_SECONDS
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        _logger.warning("%s is not a number of milliseconds; the default counts", VARIABLE)
        return DEFAULT_SECONDS
    return int(text) / 1000
