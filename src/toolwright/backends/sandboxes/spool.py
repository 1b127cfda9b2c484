"""Keep the start and the end of a stream in bounded memory and count the rest."""


class Spool:
    """Bytes of one stream. ``kept`` bytes stay: half from the start, half from the end."""

    __slots__ = ("_half", "_head", "_tail", "total")

    def __init__(self, kept: int) -> None:
        self._half = max(kept // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    @property
    def dropped(self) -> int:
        """Bytes of the middle that are no longer here."""
        return self.total - len(self._head) - len(self._tail)

    def write(self, data: bytes) -> None:
        """Append ``data``; only what fits the two halves stays."""
        self.total += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-self._half :]
        excess = len(self._tail) - self._half
        if excess > 0:
            del self._tail[:excess]

    def kept(self) -> bytes:
        """Return head and tail, with a marker line where something is missing."""
        if not self.dropped:
            return bytes(self._head + self._tail)
        marker = f"\n[... {self.dropped} bytes of output not kept ...]\n".encode()
        return bytes(self._head) + marker + bytes(self._tail)

    def since(self, offset: int) -> tuple[bytes, int]:
        """Return what is kept from byte ``offset`` on, and the offset after it."""
        offset = max(offset, 0)
        tail_start = self.total - len(self._tail)
        parts = bytes(self._head[offset:]) + bytes(self._tail[max(offset - tail_start, 0) :])
        return parts, self.total
