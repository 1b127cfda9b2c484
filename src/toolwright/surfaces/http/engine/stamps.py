"""Times that tell events apart: whole milliseconds, each later than the one before (pure).

What the log says gets stamps that follow from the log alone, so that they are the same after a restart. The
words of an answer under way are counted up from the moment at which the model was asked; there are fewer of
them than milliseconds, so they stay below what the log will say of the answer.
"""

_ROUNDING = 1e-4
"""Keeps a whole millisecond from being cut to the one before it."""


class Stamps:
    """Of one task."""

    def __init__(self) -> None:
        self.last = 0
        """The last stamp that was given."""
        self._settled = 0
        """The last one that follows from the log alone."""
        self._anchor: int | None = None
        self._free = False

    def rise(self, at: float) -> None:
        """Let what comes be later than this moment, which the log tells of."""
        self._settled = max(self._settled, _milliseconds(at))
        self.last = max(self.last, self._settled)

    def begin(self, at: float, *, slots: int = 0) -> None:
        """Stamp what one record tells; ``slots`` are kept for the words of its answer."""
        self._anchor = max(_milliseconds(at), self._settled + 1) + slots
        self._free = slots > 0

    def settle(self) -> None:
        """The words of the answer are over: what comes now follows from the log alone."""
        self._free = False

    def end(self) -> None:
        """All that the record tells is stamped."""
        self._anchor = None

    def next(self, at: float) -> int:
        """Return the stamp of the next event."""
        if self._anchor is None:
            self.last += 1
            return self.last
        if self._free:
            self.last = max(_milliseconds(at), self.last + 1)
            return self.last
        self.last = max(self._anchor, self.last + 1)
        self._settled = max(self._anchor, self._settled + 1)
        self._anchor += 1
        return self.last

    def has_room(self, now: float) -> bool:
        """Whether an event can be stamped without running ahead of the clock."""
        return _milliseconds(now) > self.last


def _milliseconds(at: float) -> int:
    return int(at * 1000 + _ROUNDING)
