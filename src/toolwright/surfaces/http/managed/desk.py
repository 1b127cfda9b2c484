"""What the routes of this dialect share while the server runs."""

from dataclasses import dataclass

from toolwright.surfaces.http.app import House
from toolwright.surfaces.http.frames import Broadcast
from toolwright.surfaces.http.managed.histories import Histories


@dataclass(frozen=True, slots=True)
class Desk:
    """Histories of sessions, and the streams of those who follow them."""

    histories: Histories
    streams: Broadcast


def opened(house: House) -> Desk:
    """Make the desk of a server; its streams end with it."""
    histories = Histories(house.works)
    streams = Broadcast(histories.watch)
    house.at_end.append(streams.close)
    return Desk(histories, streams)
