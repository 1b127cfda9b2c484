"""The work behind ``toolwright sessions list``: which sessions there are, and how they stand."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from toolwright.contracts.storage import SessionCard, SessionStatus
from toolwright.surfaces.cli.completing import short_ids
from toolwright.surfaces.cli.stored import has_sessions, opened, settings_here

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from toolwright.contracts.storage import EventStore

CUT_OFF = "cut off"
NARROWEST_TABLE = 76
_STYLES = {"running": "green", "waiting": "yellow", CUT_OFF: "red", "ended": "dim"}
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a person asked for."""

    every: bool
    children: bool
    status: SessionStatus | None
    limit: int
    folder: str


@dataclass(frozen=True, slots=True)
class Row:
    """One session on a list."""

    card: SessionCard
    status: str
    """As the card says, or that whoever ran it is gone."""
    depth: int = 0


async def rows(wanted: Wanted) -> list[Row]:
    """Return what to list. May raise ToolwrightError."""
    if not has_sessions(settings_here(wanted.folder)):
        return []
    async with opened(wanted.folder) as (loaded, sessions):
        cards = await sessions.store.cards(
            project=None if wanted.every else loaded.project, status=wanted.status, limit=wanted.limit
        )
        found = [Row(card, await status_of(sessions.store, card)) for card in cards]
        return await _with_children(sessions.store, found) if wanted.children else found


async def status_of(store: "EventStore", card: SessionCard) -> str:
    """Return how a session stands: a run that nobody holds any more was cut off."""
    if card.status == "running" and not await store.is_held(card.session_id):
        return CUT_OFF
    return card.status


async def _with_children(store: "EventStore", above: Sequence[Row], depth: int = 1) -> list[Row]:
    listed: list[Row] = []
    for row in above:
        cards = await store.cards(parent_id=row.card.session_id)
        below = [Row(card, await status_of(store, card), depth) for card in reversed(cards)]
        listed += [row, *await _with_children(store, below, depth + 1)]
    return listed


# --- printing -------------------------------------------------------------------------------


def print_rows(found: Sequence[Row], *, as_json: bool) -> None:
    """Print a list: as JSON, as a table, or where that has no room two lines for each session."""
    import orjson

    from toolwright.surfaces.cli.tables import console

    if as_json:
        print(orjson.dumps([as_data(row) for row in found], option=orjson.OPT_INDENT_2).decode())
        return
    if not found:
        print('There are no sessions here. Begin one: toolwright run "…"')
        return
    out = console()
    if out.width < NARROWEST_TABLE:
        _print_narrow(found, out)
    else:
        _print_table(found, out)


def as_data(row: Row) -> dict[str, Any]:
    """Return a row for programs."""
    return {**asdict(row.card), "status": row.status.replace(" ", "_")}


def _print_table(found: Sequence[Row], out: "Console") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("ID", "STATUS", "AGE", "MODEL", "TOKENS", "COST"):
        right = title in {"AGE", "TOKENS", "COST"}
        table.add_column(title, no_wrap=True, justify="right" if right else "left")
    table.add_column(
        "TITLE", no_wrap=out.is_terminal, overflow="ellipsis" if out.is_terminal else "fold", ratio=1
    )
    shorts, now = short_ids([row.card.session_id for row in found]), time.time()
    for row in found:
        card = row.card
        table.add_row(
            Text(shorts[card.session_id], "bold"),
            _status(row),
            ago(now - card.updated_at),
            _model(card, longest=24),
            counted(card.tokens),
            dollars(card.cost),
            Text("  " * row.depth + _title(card)),
        )
    out.print(table)


def _print_narrow(found: Sequence[Row], out: "Console") -> None:
    from rich.text import Text

    shorts, now = short_ids([row.card.session_id for row in found]), time.time()
    for row in found:
        card = row.card
        indent = "  " * row.depth
        facts = filter(None, (ago(now - card.updated_at), dollars(card.cost)))
        head = Text.assemble(
            indent, (shorts[card.session_id], "bold"), " ", _status(row), f" {' '.join(facts)}"
        )
        out.print(head, soft_wrap=True)
        title = Text(f"{indent}  {_title(card)}", no_wrap=True, overflow="ellipsis")
        out.print(title, no_wrap=True, overflow="ellipsis")


def _status(row: Row) -> "Text":
    from rich.text import Text

    return Text(row.status, _STYLES.get(row.status, ""))


def _title(card: SessionCard) -> str:
    from toolwright.surfaces.rendering.safety import EVERYDAY

    return EVERYDAY.line(card.title) or "(nothing said yet)"


def _model(card: SessionCard, *, longest: int) -> str:
    from toolwright.surfaces.rendering.safety import marked

    model = marked(card.model, strict=True)
    return model if len(model) <= longest else f"…{model[1 - longest :]}"


def ago(seconds: float) -> str:
    """Return for how long, in one unit."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"


def counted(tokens: int) -> str:
    """Return a count of tokens in few characters; empty for none."""
    if tokens < 1_000:
        return str(tokens or "")
    return f"{tokens / 1_000:.1f}k" if tokens < 1_000_000 else f"{tokens / 1_000_000:.1f}M"


def dollars(cost: float) -> str:
    """Return a cost; empty for none, or where no price is known."""
    if not cost:
        return ""
    return f"${cost:.2f}" if cost >= 1 else f"${cost:.4f}"
