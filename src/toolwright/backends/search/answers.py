"""What the search services have in common: one exchange, JSON back, and the same failures."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from html import unescape
from typing import Any

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import Egress, SearchHit, SearchQuery, WebRequest

MOST_BYTES = 4 * 1024 * 1024
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_LONGEST_TEXT = 1000


async def ask(
    egress: Egress, request: WebRequest, *, service: str, refusals: Iterable[int] = (401, 403)
) -> Any:
    """Send a search and return the JSON that comes back.

    May raise ToolFailure: ``auth_required`` for a status among ``refusals``, ``rate_limited``,
    ``http_error``, and what the egress raises.
    """
    answer = await egress.send(replace(request, max_redirects=0, max_bytes=MOST_BYTES))
    if answer.status in refusals:
        raise ToolFailure(
            "auth_required",
            f"{service} does not accept the key it was given (status {answer.status})",
            hint="The operator has to set a valid key; searching again will not help.",
        )
    if answer.status == 429:
        raise ToolFailure(
            "rate_limited",
            f"{service} asks to search less often",
            retryable=True,
            retry_after=seconds(answer.headers.get("retry-after", "")),
        )
    if answer.status != 200:
        raise ToolFailure("http_error", f"{service} answered with status {answer.status}")
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError) as problem:
        raise ToolFailure("http_error", f"{service} answered with something that is not JSON") from problem


def seconds(text: str) -> float | None:
    """The value of Retry-After when it is a plain number of seconds."""
    return float(text) if re.fullmatch(r"[0-9]{1,6}", text.strip()) else None


def hits(rows: Any, *, snippet: str, date: tuple[str, ...] = ()) -> tuple[SearchHit, ...]:
    """Hits from a service's list; rows that have no URL are left out."""
    if not isinstance(rows, list):
        return ()
    found = []
    for row in rows:
        if isinstance(row, Mapping) and isinstance(row.get("url"), str):
            when = next((row[name] for name in date if isinstance(row.get(name), str)), "")
            found.append(SearchHit(plain(row.get("title")), row["url"], plain(row.get(snippet)), when))
    return tuple(found)


def plain(value: Any) -> str:
    """Text without the markup that services put around the words searched for."""
    if not isinstance(value, str):
        return ""
    return " ".join(unescape(_TAG.sub("", value)).split())[:_LONGEST_TEXT]


def with_sites(query: SearchQuery) -> str:
    """The query with its domain filters written as ``site:`` operators."""
    parts = [query.query]
    if query.allowed_domains:
        sites = " OR ".join(f"site:{domain}" for domain in query.allowed_domains)
        parts.append(f"({sites})" if len(query.allowed_domains) > 1 else sites)
    parts += [f"-site:{domain}" for domain in query.blocked_domains]
    return " ".join(parts)


def member(value: Any, *path: str) -> Any:
    """The value under a path of names, or None where a service left something out."""
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
