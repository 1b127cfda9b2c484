"""Reading a body with three bounds at once: bytes received, bytes decoded, and how they compare."""

import zlib
from collections.abc import AsyncIterable

from toolwright.backends.egress.gate import Bounds
from toolwright.contracts.errors import ToolFailure

ACCEPTED = "gzip, deflate"
_STEP = 64 * 1024
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS


class Inflater:
    """Undoes one content encoding in small steps. A bomb is noticed before it is unpacked."""

    def __init__(self, encoding: str, bounds: Bounds) -> None:
        self._gzip = encoding in {"gzip", "x-gzip"}
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._bounds = bounds
        self._started = False
        self.received = 0
        self.produced = 0

    def feed(self, data: bytes, room: int) -> bytes:
        """Decode ``data`` into at most ``room`` bytes; what would come after is given up.

        May raise ToolFailure: ``output_limit`` for a bomb, ``network_error`` for broken data.
        """
        self.received += len(data)
        self._choose_raw_deflate(data)
        pieces: list[bytes] = []
        while room > 0:
            step = min(room, _STEP)
            piece = self._inflate(data, step)
            room -= len(piece)
            pieces.append(piece)
            self._check_ratio(len(piece))
            data = self._rest()
            if not data and len(piece) < step:
                break
        return b"".join(pieces)

    def finish(self) -> None:
        """Raise ToolFailure ``network_error`` when the data stopped in the middle."""
        if self.received and not self._stream.eof:
            raise ToolFailure("network_error", "The compressed answer was cut short", retryable=True)

    def _inflate(self, data: bytes, most: int) -> bytes:
        try:
            return self._stream.decompress(data, most)
        except zlib.error as problem:
            raise ToolFailure("network_error", "The compressed answer is damaged") from problem

    def _rest(self) -> bytes:
        if not self._stream.eof:
            return self._stream.unconsumed_tail
        following = self._stream.unused_data
        if self._gzip and following.startswith(b"\x1f\x8b"):
            self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
            return following
        return b""

    def _choose_raw_deflate(self, data: bytes) -> None:
        """Some servers say deflate and leave the zlib header out."""
        if self._started or not data:
            return
        self._started = True
        if not self._gzip and data[0] & 0x0F != 0x08:
            self._stream = zlib.decompressobj(_RAW)

    def _check_ratio(self, produced: int) -> None:
        self.produced += produced
        too_much = self.produced > self.received * self._bounds.ratio
        if too_much and self.produced > self._bounds.ratio_floor:
            raise ToolFailure(
                "output_limit",
                f"The answer unpacks to over {self._bounds.ratio} times its size (rule compression-ratio)",
                details={"rule": "compression-ratio"},
            )


async def read_body(
    chunks: AsyncIterable[bytes], *, encoding: str, most: int, bounds: Bounds
) -> tuple[bytes, bool]:
    """Return the decoded body and whether it was cut at ``most`` bytes.

    May raise ToolFailure: ``output_limit`` for a bomb, ``network_error`` for an encoding not asked for.
    """
    encoding = encoding.strip().lower()
    if encoding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
        raise ToolFailure("network_error", f"The answer is encoded in a way not asked for: {encoding[:40]}")
    inflater = Inflater(encoding, bounds) if encoding not in {"", "identity"} else None
    body = bytearray()
    async for chunk in chunks:
        room = most + 1 - len(body)
        body += inflater.feed(chunk, room) if inflater else chunk[:room]
        if len(body) > most:
            return bytes(body[:most]), True
    if inflater:
        inflater.finish()
    return bytes(body), False
