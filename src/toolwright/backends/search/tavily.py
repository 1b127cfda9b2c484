"""The Tavily Search API."""

import json
from typing import TYPE_CHECKING, Any

from toolwright.backends.search.answers import ask, hits, member
from toolwright.contracts.network import Egress, SearchBackend, SearchHit, SearchQuery, WebRequest

ENDPOINT = "https://api.tavily.com/search"
MOST_HITS = 20


class TavilySearch:
    """``SearchBackend`` over Tavily; ``key`` is an API key."""

    name = "tavily"

    def __init__(self, egress: Egress, *, key: str, endpoint: str = ENDPOINT) -> None:
        self._egress = egress
        self._key = key
        self._endpoint = endpoint

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        wanted: dict[str, Any] = {"query": query.query, "max_results": min(query.limit, MOST_HITS)}
        if query.freshness:
            wanted["time_range"] = query.freshness
        if query.allowed_domains:
            wanted["include_domains"] = list(query.allowed_domains)
        if query.blocked_domains:
            wanted["exclude_domains"] = list(query.blocked_domains)
        request = WebRequest(
            url=self._endpoint,
            method="POST",
            headers={"authorization": f"Bearer {self._key}", "content-type": "application/json"},
            body=json.dumps(wanted).encode(),
        )
        answer = await ask(self._egress, request, service="Tavily")
        return hits(member(answer, "results"), snippet="content", date=("published_date",))[: query.limit]


if TYPE_CHECKING:

    def _conforms(backend: TavilySearch) -> SearchBackend:
        return backend
