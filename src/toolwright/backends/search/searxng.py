"""An own SearXNG instance. Its settings must list ``json`` among the formats of ``search``."""

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from toolwright.backends.search.answers import ask, hits, member, with_sites
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import Egress, SearchBackend, SearchHit, SearchQuery, WebRequest


class SearxngSearch:
    """``SearchBackend`` over the instance at ``url``, which stays with the scheme it is written with."""

    name = "searxng"

    def __init__(self, egress: Egress, *, url: str) -> None:
        self._egress = egress
        self._url = url.rstrip("/")

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        wanted = {"q": with_sites(query), "format": "json"}
        if query.freshness:
            wanted["time_range"] = query.freshness
        request = WebRequest(
            url=f"{self._url}/search?{urlencode(wanted)}",
            headers={"accept": "application/json"},
            upgrade=False,
        )
        try:
            answer = await ask(self._egress, request, service="SearXNG", refusals=(403,))
        except ToolFailure as failed:
            if failed.code != "auth_required":
                raise
            raise ToolFailure(
                "auth_required",
                "The SearXNG instance refuses to answer in JSON",
                hint="The operator has to add json to search.formats in the settings of the instance.",
            ) from failed
        return hits(member(answer, "results"), snippet="content", date=("publishedDate",))[: query.limit]


if TYPE_CHECKING:

    def _conforms(backend: SearxngSearch) -> SearchBackend:
        return backend
