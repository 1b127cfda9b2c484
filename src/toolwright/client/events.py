"""What came of a turn: events that are read as they come, and stay."""

from collections.abc import Iterator, Sequence
from threading import RLock
from typing import overload

from toolwright.client.following import Event
from toolwright.client.in_loop import Pump

__all__ = ["Event", "Events"]


class Events(Sequence[Event]):
    """Events of a turn, or of a replay: ``{"type": …, **payload}``.

    Iterating yields each as it comes, and the same ones again the second time. A length, an index or a
    comparison waits for the last one. Heartbeats are left out.
    """

    def __init__(self, pump: Pump[Event]) -> None:
        self._pump = pump
        self._seen: list[Event] = []
        self._is_over = False
        self._lock = RLock()

    def __iter__(self) -> Iterator[Event]:
        place = 0
        while self._has(place):
            yield self._seen[place]
            place += 1

    def __len__(self) -> int:
        return len(self._whole())

    @overload
    def __getitem__(self, place: int) -> Event: ...

    @overload
    def __getitem__(self, place: slice) -> list[Event]: ...

    def __getitem__(self, place: int | slice) -> Event | list[Event]:
        if isinstance(place, int) and place >= 0 and self._has(place):
            return self._seen[place]
        return self._whole()[place]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Events):
            return self._whole() == other._whole()
        return self._whole() == other

    def __hash__(self) -> int:
        raise TypeError("events are compared by what they hold and cannot be hashed")

    def __repr__(self) -> str:
        return f"<Events: {len(self._seen)} so far{', all of them' if self._is_over else ''}>"

    @property
    def text(self) -> str:
        """All that the model said."""
        return "".join(event["text"] for event in self if event["type"] == "text_delta")

    @property
    def error(self) -> Event | None:
        """The event that says why the turn failed; None for one that did not."""
        return next((event for event in self if event["type"] == "error"), None)

    def of(self, type: str) -> list[Event]:
        """Return the events of one type."""
        return [event for event in self if event["type"] == type]

    def close(self) -> None:
        """Read no further; the turn goes on without anybody listening. What came stays."""
        self._is_over = True
        self._pump.close()

    def begin(self) -> "Events":
        """Wait until the first event is there, or raise why there is none."""
        self._has(0)
        return self

    def _whole(self) -> list[Event]:
        for _ in self:
            pass
        return self._seen

    def _has(self, place: int) -> bool:
        """Whether there is an event at a place; waits for it."""
        with self._lock:
            while place >= len(self._seen) and not self._is_over:
                try:
                    self._seen.append(self._pump.next())
                except StopIteration:
                    self._is_over = True
                except BaseException:
                    self.close()
                    raise
            return place < len(self._seen)
