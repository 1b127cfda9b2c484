"""Search the web and return what was found as a JSON array."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import SearchBackend, SearchHit, SearchQuery
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Tool, ToolSpec, Traits
from toolwright.contracts.view import View
from toolwright.tools.builtin.web_search import distinct, permitted
from toolwright.tools.define import ToolClass
from toolwright.tools.fields import Field
from toolwright.tools.generic_view import generic_view
from toolwright.tools.outcomes import json_text
from toolwright.tools.services import Services

MOST_RESULTS: Final = 50


class FindPages(ToolClass):
    """Title, address and snippet of pages; ``sites`` keeps to some domains."""

    spec = ToolSpec(
        name="web_search",
        description="Search the web.",
        input_schema={},
        source="catalog",
        category="network",
        result_limit=50_000,
    )

    def __init__(self, backend: SearchBackend | None) -> None:
        self._backend = backend

    def traits(self, input: Input) -> Traits:
        del input
        return Traits(read_only=True, concurrency_safe=True, open_world=True, touches=())

    async def run(
        self,
        ctx: CallContext,
        *,
        query: Annotated[str, Field(min_length=1, max_length=400)],
        limit: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 10,
        sites: Annotated[list[str], Field(max_length=20)] | None = None,
    ) -> Done:
        del ctx
        if self._backend is None:
            raise ToolFailure(
                "auth_required",
                "No search service is set up.",
                hint="Whoever runs the engine sets BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL.",
            )
        allowed = tuple(sites or ())
        wanted = SearchQuery(query=query.strip(), limit=limit, allowed_domains=allowed)
        found = distinct(permitted(await self._backend.search(wanted), allowed=allowed, blocked=()))
        rows = rows_of(found[:limit])
        return Done(json_text(rows), data=rows)

    def view(self, call: CallState) -> View:
        return generic_view(self.spec, call)


def rows_of(hits: Sequence[SearchHit]) -> list[dict[str, str]]:
    """Return pages as a program reads them."""
    return [
        {"title": hit.title, "url": hit.url, "snippet": hit.snippet}
        | ({"published_at": hit.date} if hit.date else {})
        for hit in hits
    ]


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool."""
    del options
    return FindPages(services.search)
