"""Background tasks that leave nothing on disk, with a list of what was told about them. For tests."""

from toolwright.backends.background.in_process import InProcessBackground
from toolwright.contracts.events import Event
from toolwright.contracts.ports import Clock


class MemoryBackground(InProcessBackground):
    """Follows processes as the real one does; ``events`` holds everything it announced."""

    def __init__(self, *, clock: Clock, most_running: int = 16) -> None:
        self.events: list[Event] = []
        super().__init__(clock=clock, folder=None, sink=self, most_running=most_running)

    def observe(self, event: Event) -> None:
        """Remember one event."""
        self.events.append(event)
