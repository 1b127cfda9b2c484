"""Search the web through the service that is set up."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import SearchBackend, SearchHit, SearchQuery
from toolwright.contracts.ports import Clock
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Objection, Outcome, Tool, Traits
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.services import Services
from toolwright.tools.untrusted import wrapped
from toolwright.workspaces.network import lies_in
from toolwright.workspaces.urls import ascii_host

MOST_SEARCHES = 200
MOST_RESULTS = 20
_MOST_DOMAINS = 20
_NOT_SET_UP = "No search service is set up."
_HOW_TO_SET_UP = "Whoever runs the engine sets BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL."

Domains = Annotated[list[str], Field(max_length=_MOST_DOMAINS)]


class WebSearch(ToolClass):
    spec = described(
        __file__,
        name="web_search",
        aliases=("WebSearch",),
        source="builtin",
        category="network",
        defer=True,
        result_limit=50_000,
        input_aliases={"limit": "max_results", "num_results": "max_results"},
        search_hint="search internet web news google find pages",
    )

    def __init__(
        self, backend: SearchBackend | None, clock: Clock, options: Mapping[str, Any] | None = None
    ) -> None:
        chosen = options or {}
        self._allowed: tuple[str, ...] = tuple(chosen.get("allowed_domains", ()))
        self._blocked: tuple[str, ...] = tuple(chosen.get("blocked_domains", ()))
        self._backend = backend
        self._clock = clock
        self._searches = 0

    def traits(self, input: Input) -> Traits:
        return Traits(read_only=True, concurrency_safe=True, open_world=True, touches=())

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        if self._backend is None:
            return Objection("invalid", _NOT_SET_UP, code="auth_required", hint=_HOW_TO_SET_UP)
        allowed, blocked = input.get("allowed_domains") or (), input.get("blocked_domains") or ()
        if allowed and blocked:
            return Objection("invalid", "allowed_domains and blocked_domains cannot be given together.")
        if len(input["query"].strip()) < 2:
            return Objection("invalid", "The query has at least two characters.")
        for domain in (*allowed, *blocked):
            if not _is_domain(domain):
                return Objection(
                    "invalid",
                    f"{domain!r} is not a domain.",
                    hint="Write a bare domain such as example.com, without scheme or path.",
                )
        return None

    async def run(
        self,
        ctx: CallContext,
        *,
        query: Annotated[str, Field(min_length=2, max_length=400)],
        allowed_domains: Domains | None = None,
        blocked_domains: Domains | None = None,
        max_results: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 10,
        freshness: Literal["day", "week", "month", "year"] | None = None,
    ) -> Outcome:
        if self._backend is None:
            raise ToolFailure("auth_required", _NOT_SET_UP, hint=_HOW_TO_SET_UP)
        if self._searches >= MOST_SEARCHES:
            return _used_up()
        self._searches += 1
        started = self._clock.monotonic()
        allowed, blocked = tuple(allowed_domains or ()), tuple(blocked_domains or ())
        wanted = SearchQuery(
            query=query.strip(),
            limit=MOST_RESULTS if allowed or blocked or self._allowed or self._blocked else max_results,
            freshness=freshness,
            allowed_domains=allowed or _hosts(self._allowed),
            blocked_domains=(*blocked, *(domain for domain in self._blocked if "/" not in domain)),
        )
        found = permitted(await self._backend.search(wanted), allowed=self._allowed, blocked=self._blocked)
        hits = distinct(permitted(found, allowed=allowed, blocked=blocked))[:max_results]
        data = {
            "results": [_row(hit) for hit in hits],
            "backend": self._backend.name,
            "duration_ms": round((self._clock.monotonic() - started) * 1000),
        }
        return Done(_listed(hits), data=data)

    def view(self, call: CallState) -> View:
        query = call.input.get("query", "")
        view = replace(generic_view(self.spec, call), activity=f"Searching the web: {query}", folds=True)
        if not isinstance(call.outcome, Done):
            return view
        count = len(call.outcome.data["results"])
        return replace(view, summary=f"{count} result{'' if count == 1 else 's'}")


def permitted(
    hits: Iterable[SearchHit], *, allowed: tuple[str, ...], blocked: tuple[str, ...]
) -> list[SearchHit]:
    """The hits whose host lies in an allowed domain, if any are named, and in no blocked one."""
    kept = []
    for hit in hits:
        host = _host(hit.url)
        if host is None or any(_found_in(hit.url, host, domain) for domain in blocked):
            continue
        if not allowed or any(_found_in(hit.url, host, domain) for domain in allowed):
            kept.append(hit)
    return kept


def distinct(hits: Iterable[SearchHit]) -> list[SearchHit]:
    """The hits without those whose page was already there; scheme, fragment and last slash do not count."""
    seen: dict[tuple[str, str, str], SearchHit] = {}
    for hit in hits:
        parts = urlsplit(hit.url)
        seen.setdefault((parts.netloc.lower(), parts.path.rstrip("/"), parts.query), hit)
    return list(seen.values())


def _host(url: str) -> str | None:
    """The host of a web address as services write it; None for what is no web address."""
    try:
        parts = urlsplit(url)
        return parts.hostname if parts.scheme in {"http", "https"} else None
    except ValueError:
        return None


def _found_in(url: str, host: str, domain: str) -> bool:
    """Whether a page lies in a domain, below the path that may stand behind it."""
    name, _, path = domain.partition("/")
    return lies_in(host, name) and urlsplit(url).path.startswith(f"/{path}" if path else "")


def _hosts(domains: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(domain.partition("/")[0] for domain in domains))


def _is_domain(text: str) -> bool:
    try:
        ascii_host(text.removeprefix("*."))
    except ToolFailure:
        return False
    return True


def _row(hit: SearchHit) -> dict[str, str]:
    return {name: value for name, value in asdict(hit).items() if value or name != "date"}


def _listed(hits: list[SearchHit]) -> str:
    if not hits:
        return "Nothing was found."
    lines = []
    for number, hit in enumerate(hits, 1):
        lines.append(f"{number}. {hit.title or '(no title)'}\n   {hit.url}")
        lines += [f"   {text}" for text in (hit.date, hit.snippet) if text]
    return wrapped("\n".join(lines), "web search")


def _used_up() -> Done:
    text = f"This session has used its {MOST_SEARCHES} searches. Go on with what you have."
    return Done(text, data={"results": [], "backend": "", "duration_ms": 0})


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Build the tool."""
    return WebSearch(services.search, services.clock, options)
