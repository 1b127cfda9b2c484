"""Which search service an operator has set up, read from environment variables."""

from collections.abc import Mapping

from toolwright.backends.search.brave import BraveSearch
from toolwright.backends.search.searxng import SearxngSearch
from toolwright.backends.search.tavily import TavilySearch
from toolwright.contracts.network import Egress, SearchBackend


def chosen_search(environ: Mapping[str, str], egress: Egress) -> SearchBackend | None:
    """The service whose variable is set: an own ``SEARXNG_URL`` first, then ``BRAVE_API_KEY``, then
    ``TAVILY_API_KEY``; None when there is none."""
    if url := environ.get("SEARXNG_URL"):
        return SearxngSearch(egress, url=url)
    if key := environ.get("BRAVE_API_KEY"):
        return BraveSearch(egress, key=key)
    if key := environ.get("TAVILY_API_KEY"):
        return TavilySearch(egress, key=key)
    return None
