"""Lists in pages. A cursor is a place in the order, so that pages stay right while things are added."""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Generic, TypeVar

import orjson
from pydantic import BeforeValidator, Field

from toolwright.contracts.documents import Document, DocumentStore, Wanted, place_of
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.routes import Query, Shape

Item = TypeVar("Item")
_PREFIX: Final = "page_"
Place = tuple[float | str, str]


def _read_moment(given: object) -> object:
    """Read a time; one without an offset is UTC. A plus sign may have arrived as a blank."""
    if not isinstance(given, str):
        return given
    try:
        at = datetime.fromisoformat(given.replace(" ", "+"))
        return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise ValueError("should be a time such as 2026-01-31T12:00:00Z") from None


Moment = Annotated[float, BeforeValidator(_read_moment, json_schema_input_type=datetime)]
Written = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""A time as it is written."""


class PageQuery(Query):
    """The parameters of every list."""

    limit: int = Field(20, ge=1, le=100)
    page: str | None = None


class ListQuery(PageQuery):
    """Of lists that hold archived things too."""

    include_archived: bool = False


class DatedQuery(ListQuery):
    """Of lists that can be narrowed by time."""

    since: Moment | None = Field(None, alias="created_at[gte]")
    until: Moment | None = Field(None, alias="created_at[lte]")


class Page(Shape, Generic[Item]):
    """A part of a list."""

    data: list[Item]
    next_page: str | None = None


def cursor(place: Place) -> str:
    """Return a place in a list for a client to hand back."""
    return _PREFIX + base64.urlsafe_b64encode(orjson.dumps(place)).decode().rstrip("=")


def place(written: str | None, *, kind: type = float) -> Place | None:
    """Return the place a cursor names. May raise Problem."""
    if not written:
        return None
    text = written.removeprefix(_PREFIX)
    try:
        at, id = orjson.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, TypeError):
        raise Problem("invalid", "page: this is no cursor of this list.") from None
    fits = isinstance(at, str) if kind is str else isinstance(at, int | float)
    if not written.startswith(_PREFIX) or not isinstance(id, str) or not fits:
        raise Problem("invalid", "page: this is no cursor of this list.")
    return (at, id)


@dataclass(frozen=True, slots=True)
class TurningPoint:
    """A place in a list that is read in both directions, and which way it goes on from there."""

    place: Place
    order: str
    is_back: bool

    @property
    def written(self) -> str:
        """Return it for a client to hand back."""
        return cursor((self.place[0], f"{self.order} {'back' if self.is_back else 'on'} {self.place[1]}"))


def turning_point(written: str | None, order: str) -> TurningPoint | None:
    """Return what a cursor of such a list means. May raise Problem: it is none, or of another order."""
    found = place(written)
    if found is None:
        return None
    of_order, way, id = [*found[1].split(" ", 2), "", ""][:3]
    if way not in {"on", "back"} or not id:
        raise Problem("invalid", "page: this is no cursor of this list.")
    if of_order != order:
        raise Problem("invalid", f"page: this cursor is of the order {of_order}.")
    return TurningPoint((found[0], id), order, way == "back")


async def page_of(
    store: DocumentStore,
    workspace: str,
    kind: str,
    wanted: Wanted,
    shown: Callable[[Document], Any],
) -> dict[str, Any]:
    """Return a page of documents as they are shown; ``wanted.limit`` is its size."""
    found = await store.list(workspace, kind, replace(wanted, limit=wanted.limit + 1))
    return cut(found, wanted.limit, shown, lambda document: place_of(document, wanted))


def cut(
    found: Sequence[Item], limit: int, shown: Callable[[Item], Any], where: Callable[[Item], Place]
) -> dict[str, Any]:
    """Return a page of what was found, one more than fits saying that there is another page."""
    here = found[:limit]
    more = len(found) > limit and bool(here)
    return {"data": [shown(item) for item in here], "next_page": cursor(where(here[-1])) if more else None}
