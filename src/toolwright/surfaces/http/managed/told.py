"""One event as a client gets it, and the voice in which a session tells its events (pure)."""

from dataclasses import dataclass

from toolwright.surfaces.http.managed.event_bodies import Body, event_id
from toolwright.surfaces.http.reading import written_time


@dataclass(frozen=True, slots=True)
class Told:
    """One event as a client gets it."""

    id: str
    type: str
    at: float
    body: Body
    preview: str = ""
    """On streams only: the type of the event whose words these are before it is complete."""
    is_last: bool = False
    """Nothing comes behind it."""

    @property
    def is_stored(self) -> bool:
        """Whether it stands in the history."""
        return not self.preview


@dataclass(frozen=True, slots=True)
class Voice:
    """Tells the events of one session, always under the same ids."""

    session_id: str

    def id(self, kind: str, key: object) -> str:
        """Return the id of an event: the same whenever and wherever the log is read."""
        return event_id(self.session_id, kind, key)

    @staticmethod
    def told(
        id: str, kind: str, at: float, body: Body, *, processed: bool = True, is_last: bool = False
    ) -> Told:
        """Return an event; one that is not processed yet waits for its turn."""
        whole = {"id": id, "type": kind, **body, "processed_at": written_time(at) if processed else None}
        return Told(id, kind, at, whole, is_last=is_last)

    def sent(self, kind: str, id: str, at: float, body: Body) -> tuple[Told, Told]:
        """Tell what a client sent: once when it is stored, once when it has its effect."""
        return self.told(id, kind, at, body, processed=False), self.told(id, kind, at, body)
