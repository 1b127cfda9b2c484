"""The Brave Search API."""

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from toolwright.backends.search.answers import ask, hits, member, with_sites
from toolwright.contracts.network import Egress, SearchBackend, SearchHit, SearchQuery, WebRequest

ENDPOINT = "https://api.search.brave.com/res/v1/web/search"
MOST_HITS = 20
_FRESHNESS = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}


class BraveSearch:
    """``SearchBackend`` over Brave; ``key`` is a subscription token."""

    name = "brave"

    def __init__(self, egress: Egress, *, key: str, endpoint: str = ENDPOINT) -> None:
        self._egress = egress
        self._key = key
        self._endpoint = endpoint

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        wanted = {
            "q": with_sites(query),
            "count": str(min(query.limit, MOST_HITS)),
            "text_decorations": "false",
        }
        if query.freshness:
            wanted["freshness"] = _FRESHNESS[query.freshness]
        request = WebRequest(
            url=f"{self._endpoint}?{urlencode(wanted)}",
            headers={"accept": "application/json", "x-subscription-token": self._key},
        )
        answer = await ask(self._egress, request, service="Brave Search")
        found = hits(member(answer, "web", "results"), snippet="description", date=("page_age", "age"))
        return found[: query.limit]


if TYPE_CHECKING:

    def _conforms(backend: BraveSearch) -> SearchBackend:
        return backend
