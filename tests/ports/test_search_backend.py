"""The promises of ``SearchBackend``, kept by every service in its own wire format over real HTTP."""

import json
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from toolwright.backends.egress.guarded import GuardedEgress
from toolwright.backends.egress.memory import MemoryEgress
from toolwright.backends.search.brave import BraveSearch
from toolwright.backends.search.choice import chosen_search
from toolwright.backends.search.scripted import ScriptedSearch
from toolwright.backends.search.searxng import SearxngSearch
from toolwright.backends.search.tavily import TavilySearch
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import Egress, SearchBackend, SearchHit, SearchQuery
from toolwright.workspaces.network import NetworkGate

if TYPE_CHECKING:
    from tests.ports.conftest import Loopback

pytestmark = pytest.mark.anyio

HITS = (
    SearchHit("One & two", "https://a.example/1", "First snippet", "2026-01-02"),
    SearchHit("Three", "https://b.example/2", "Second", ""),
    SearchHit("Four", "https://c.example/3", "Third", ""),
)


@dataclass(frozen=True)
class Service:
    """How one service is asked and how it writes its answers."""

    make: Callable[[Egress, str], SearchBackend]
    envelope: Callable[[list[dict[str, Any]]], Any]
    snippet: str
    date: str

    def page(self, found: Iterable[SearchHit]) -> bytes:
        rows = [
            {"title": hit.title, "url": hit.url, self.snippet: hit.snippet}
            | ({self.date: hit.date} if hit.date else {})
            for hit in found
        ]
        return json.dumps(self.envelope(rows)).encode()


SERVICES = {
    "brave": Service(
        lambda egress, base: BraveSearch(egress, key="brave-key-1", endpoint=f"{base}/find"),
        lambda rows: {"type": "search", "web": {"type": "search", "results": rows}},
        "description",
        "page_age",
    ),
    "tavily": Service(
        lambda egress, base: TavilySearch(egress, key="tavily-key-1", endpoint=f"{base}/find"),
        lambda rows: {"query": "q", "results": rows, "response_time": 0.1},
        "content",
        "published_date",
    ),
    "searxng": Service(
        lambda egress, base: SearxngSearch(egress, url=f"{base}/"),
        lambda rows: {"query": "q", "results": rows, "answers": []},
        "content",
        "publishedDate",
    ),
}


class Upstream:
    """A fake service behind one backend: whatever is asked is answered the same."""

    def __init__(self, service: Service, loopback: "Loopback", egress: Egress) -> None:
        self.service = service
        self.loopback = loopback
        self.backend = service.make(egress, loopback.url("").rstrip("/"))

    def answers(self, body: bytes, *, status: int = 200, **headers: str) -> None:
        self.loopback.answers("*", body, status=status, **headers)

    @property
    def asked(self) -> dict[str, Any]:
        """What the service was asked, in the names of its own API."""
        seen = self.loopback.seen[-1]
        if seen.method == "POST":
            return dict(json.loads(seen.body))
        return {name: values[0] for name, values in parse_qs(urlsplit(seen.target).query).items()}


@pytest.fixture
async def egress() -> AsyncIterator[Egress]:
    egress = GuardedEgress(NetworkGate.opening(["127.0.0.0/8"]))
    yield egress
    await egress.close()


@pytest.fixture(params=sorted(SERVICES))
async def upstream(request: pytest.FixtureRequest, loopback: "Loopback", egress: Egress) -> Upstream:
    return Upstream(SERVICES[request.param], loopback, egress)


async def test_hits_come_back_in_order_with_their_dates(upstream: Upstream) -> None:
    upstream.answers(upstream.service.page(HITS))
    assert await upstream.backend.search(SearchQuery(query="something")) == HITS


async def test_no_more_hits_come_back_than_were_asked_for(upstream: Upstream) -> None:
    upstream.answers(upstream.service.page(HITS))
    assert await upstream.backend.search(SearchQuery(query="something", limit=2)) == HITS[:2]


async def test_markup_in_titles_and_snippets_is_taken_out(upstream: Upstream) -> None:
    marked = SearchHit("<strong>One</strong> &amp; two", "https://a.example/", "a <b>big</b>\n&lt;thing&gt;")
    upstream.answers(upstream.service.page([marked]))
    assert await upstream.backend.search(SearchQuery(query="something")) == (
        SearchHit("One & two", "https://a.example/", "a big <thing>"),
    )


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b"null", b'{"results": 5, "web": {"results": "x"}}', b'{"web": []}']
)
async def test_an_answer_without_hits_is_no_hits(upstream: Upstream, body: bytes) -> None:
    upstream.answers(body)
    assert await upstream.backend.search(SearchQuery(query="something")) == ()


async def test_rows_without_an_address_are_left_out(upstream: Upstream) -> None:
    rows: list[Any] = [
        {"title": "no address"},
        "text",
        {"url": 5},
        {"url": "https://a.example/", "title": None},
    ]
    upstream.answers(json.dumps(upstream.service.envelope(rows)).encode())
    assert await upstream.backend.search(SearchQuery(query="something")) == (
        SearchHit("", "https://a.example/", ""),
    )


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (403, b"", "auth_required"),
        (429, b"", "rate_limited"),
        (500, b"", "http_error"),
        (302, b"", "http_error"),
        (200, b"<html>", "http_error"),
        (200, b"[" * 100_000, "http_error"),
    ],
)
async def test_a_failing_service_is_a_failure_by_its_kind(
    upstream: Upstream, status: int, body: bytes, code: str
) -> None:
    upstream.answers(body, status=status, retry_after="7", location="http://127.0.0.1/elsewhere")
    with pytest.raises(ToolFailure) as caught:
        await upstream.backend.search(SearchQuery(query="something"))
    assert (caught.value.code, caught.value.retry_after) == (code, 7.0 if code == "rate_limited" else None)
    assert "-key-1" not in f"{caught.value.message}{caught.value.hint}"


async def test_brave_is_asked_in_its_own_words(loopback: "Loopback", egress: Egress) -> None:
    upstream = Upstream(SERVICES["brave"], loopback, egress)
    upstream.answers(upstream.service.page(()))
    await upstream.backend.search(
        SearchQuery(query="a b", limit=50, freshness="week", allowed_domains=("x.example", "y.example"))
    )
    assert upstream.asked == {
        "q": "a b (site:x.example OR site:y.example)",
        "count": "20",
        "freshness": "pw",
        "text_decorations": "false",
    }
    assert loopback.seen[0].headers["x-subscription-token"] == "brave-key-1"


async def test_tavily_is_asked_in_its_own_words(loopback: "Loopback", egress: Egress) -> None:
    upstream = Upstream(SERVICES["tavily"], loopback, egress)
    upstream.answers(upstream.service.page(()))
    await upstream.backend.search(
        SearchQuery(query="a", limit=50, freshness="day", blocked_domains=("x.example",))
    )
    assert upstream.asked == {
        "query": "a",
        "max_results": 20,
        "time_range": "day",
        "exclude_domains": ["x.example"],
    }
    assert loopback.seen[0].headers["authorization"] == "Bearer tavily-key-1"


async def test_searxng_is_asked_in_its_own_words(loopback: "Loopback", egress: Egress) -> None:
    upstream = Upstream(SERVICES["searxng"], loopback, egress)
    upstream.answers(upstream.service.page(()))
    await upstream.backend.search(
        SearchQuery(
            query="a", freshness="year", allowed_domains=("x.example",), blocked_domains=("y.example",)
        )
    )
    assert upstream.asked == {"q": "a site:x.example -site:y.example", "format": "json", "time_range": "year"}
    assert loopback.seen[0].target.startswith("/search?")


async def test_a_script_answers_in_order_and_then_finds_nothing() -> None:
    search = ScriptedSearch([HITS, ToolFailure("rate_limited", "later")])
    assert await search.search(SearchQuery(query="a", limit=1)) == HITS[:1]
    with pytest.raises(ToolFailure, match="later"):
        await search.search(SearchQuery(query="b"))
    assert await search.search(SearchQuery(query="c")) == ()
    assert [asked.query for asked in search.asked] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, None),
        ({"BRAVE_API_KEY": ""}, None),
        ({"TAVILY_API_KEY": "t"}, "tavily"),
        ({"TAVILY_API_KEY": "t", "BRAVE_API_KEY": "b"}, "brave"),
        ({"BRAVE_API_KEY": "b", "SEARXNG_URL": "https://s.example"}, "searxng"),
    ],
)
def test_the_service_that_is_set_up_is_chosen(environ: dict[str, str], name: str | None) -> None:
    chosen = chosen_search(environ, MemoryEgress(NetworkGate(), {}))
    assert (chosen.name if chosen else None) == name
