"""web_fetch, web_search and http_request: promises, answers, refusals, and what a person sees."""

import asyncio
import base64
import gzip
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolwright.backends.blobs.memory import MemoryBlobs
from toolwright.backends.clock.fake import FakeClock
from toolwright.backends.egress.guarded import GuardedEgress
from toolwright.backends.egress.memory import Answer, MemoryEgress
from toolwright.backends.search.scripted import ScriptedSearch
from toolwright.contracts.content import ImageBlock, TextBlock, text_of
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import SearchHit, SearchQuery, WebRequest, WebResponse
from toolwright.contracts.permissions import Behavior, RuleSet
from toolwright.contracts.tool import CallContext, CallState, Done, Failed, Objection, Outcome, Tool, Touch
from toolwright.tool_calls.permissions.decide import decide
from toolwright.tool_calls.permissions.rules import parse_rule
from toolwright.tool_calls.permissions.subject import Policy, Subject
from toolwright.tools.builtin import http_request, web_fetch, web_search
from toolwright.tools.builtin.web_search import MOST_SEARCHES
from toolwright.tools.services import Services
from toolwright.workspaces.network import NetworkGate
from toolwright.workspaces.workspace import open_workspace

pytestmark = pytest.mark.anyio

UNUSED: Any = None
URL = "https://site.example/page"


class Vault:
    def __init__(self, **secrets: str) -> None:
        self._secrets = secrets

    def use(self, name: str) -> str | None:
        return self._secrets.get(name)


class Helper:
    def __init__(self, reply: str) -> None:
        self.reply = reply
        self.prompts: list[tuple[str, str]] = []

    async def answer(self, purpose: str, prompt: str) -> str:
        self.prompts.append((purpose, prompt))
        return self.reply


class Web:
    """A web of one page or several, and the services around it."""

    def __init__(self, answers: Mapping[str, Answer] | None = None, **services: Any) -> None:
        self.clock = FakeClock()
        self.egress = MemoryEgress(NetworkGate(), answers or {})
        self.blobs = MemoryBlobs(self.clock)
        self.services = Services(
            sandbox=UNUSED,
            background=UNUSED,
            egress=self.egress,
            blobs=self.blobs,
            clock=self.clock,
            session_dir="/nowhere",
            **services,
        )
        self.fetch = web_fetch.build(self.services, {})
        self.search = web_search.build(self.services, {})
        self.http = http_request.build(self.services, {})

    @property
    def asked(self) -> list[str]:
        return [request.url for request in self.egress.requests]


def page(
    body: str | bytes = "", *, status: int = 200, type: str = "text/html", **headers: str
) -> WebResponse:
    data = body.encode() if isinstance(body, str) else body
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return WebResponse(url="", status=status, headers={"content-type": type, **named}, body=data)


@pytest.fixture
def ctx(tmp_path: Path) -> CallContext:
    return CallContext(workspace=open_workspace([str(tmp_path)], str(tmp_path)))


async def done(tool: Tool, ctx: CallContext, **input: Any) -> Done:
    outcome = await tool.call(input, ctx)
    assert isinstance(outcome, Done), outcome
    return outcome


async def failed(tool: Tool, ctx: CallContext, **input: Any) -> Failed | ToolFailure:
    try:
        outcome = await tool.call(input, ctx)
    except ToolFailure as failure:
        return failure
    assert isinstance(outcome, Failed), outcome
    return outcome


def state(tool: Tool, input: Mapping[str, Any], outcome: Outcome | None = None) -> CallState:
    return CallState(
        call_id="c",
        tool=tool.spec.name,
        offered_name=tool.spec.name,
        input=input,
        phase="done" if outcome else "running",
        outcome=outcome,
    )


# --- promises -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "input", "promises", "touches"),
    [
        ("fetch", {"url": URL}, (True, False, True, True), (Touch("host", "site.example"),)),
        ("fetch", {"url": "nonsense"}, (True, False, True, True), None),
        ("search", {"query": "x"}, (True, False, True, True), ()),
        ("http", {"url": URL}, (True, False, True, True), (Touch("host", "site.example"),)),
        ("http", {"url": URL, "method": "HEAD"}, (True, False, True, True), (Touch("host", "site.example"),)),
        (
            "http",
            {"url": URL, "method": "POST"},
            (False, False, False, True),
            (Touch("host", "site.example", "write"),),
        ),
        (
            "http",
            {"url": URL, "method": "DELETE"},
            (False, True, False, True),
            (Touch("host", "site.example", "write"),),
        ),
        ("http", {"url": "x"}, (True, False, True, True), None),
    ],
)
def test_promises(
    name: str, input: dict[str, Any], promises: tuple[bool, ...], touches: tuple[Touch, ...] | None
) -> None:
    traits = getattr(Web(), name).traits(input)
    made = (traits.read_only, traits.destructive, traits.concurrency_safe, traits.open_world)
    assert (made, traits.touches, traits.pre_approved) == (promises, touches, False)


@pytest.mark.parametrize(
    ("name", "limit", "feature"),
    [("fetch", 100_000, None), ("search", 50_000, None), ("http", 50_000, "http_tool")],
)
def test_flags(name: str, limit: int, feature: str | None) -> None:
    spec = getattr(Web(), name).spec
    assert (spec.category, spec.defer, spec.always_load, spec.result_limit, spec.feature) == (
        "network",
        True,
        False,
        limit,
        feature,
    )
    assert all("description" in shape for shape in spec.input_schema["properties"].values())


@pytest.mark.parametrize(
    ("host", "approved"),
    [("docs.example", True), ("a.lib.example", True), ("lib.example", False), ("evil-docs.example", False)],
)
def test_only_listed_hosts_are_approved_beforehand(host: str, approved: bool) -> None:
    web = Web(settings={"network": {"preapproved": ("docs.example", "*.lib.example")}})
    assert web.fetch.traits({"url": f"https://{host}/x"}).pre_approved is approved


@pytest.mark.parametrize(
    ("input", "subject"),
    [
        ({"url": "https://api.example/v1/x?y=1"}, "GET api.example/v1/x?y=1"),
        ({"url": "https://API.example:8443/", "method": "PUT"}, "PUT api.example:8443/"),
        ({"url": "http://api.example:443/"}, "GET api.example:443/"),
    ],
)
def test_rules_of_http_request_are_compared_with_method_host_and_path(
    input: dict[str, Any], subject: str
) -> None:
    assert Web().http.traits(input).subject == subject


# --- web_fetch ------------------------------------------------------------------------------


async def test_a_page_comes_back_as_markdown_marked_as_foreign(ctx: CallContext) -> None:
    web = Web({URL: page("<h1>Hi</h1><p>there</p>")})
    outcome = await done(web.fetch, ctx, url=URL)
    assert outcome.data == {
        "url": URL,
        "final_url": URL,
        "status": 200,
        "content_type": "text/html",
        "bytes": 23,
        "result": "# Hi\n\nthere",
        "from_cache": False,
        "duration_ms": 0,
    }
    text = text_of(outcome.content)
    assert text.startswith(f'<untrusted_content source="{URL}">')
    assert "# Hi\n\nthere\n</untrusted_content>" in text
    assert web.egress.requests[0].headers["accept"].startswith("text/markdown")


@pytest.mark.parametrize(
    ("format", "result"),
    [("markdown", "# Hi"), ("text", "Hi"), ("html", "<h1>Hi</h1>"), ("raw", "<h1>Hi</h1>")],
)
async def test_html_comes_back_in_the_format_asked_for(ctx: CallContext, format: str, result: str) -> None:
    web = Web({URL: page("<h1>Hi</h1>")})
    assert (await done(web.fetch, ctx, url=URL, format=format)).data["result"] == result


async def test_http_becomes_https_and_a_fragment_does_not_count(ctx: CallContext) -> None:
    web = Web({URL: page("x")})
    await done(web.fetch, ctx, url="http://site.example/page#part")
    assert web.asked == [URL]


async def test_a_page_is_cut_at_its_limit_with_a_notice(ctx: CallContext) -> None:
    web = Web({URL: page("x" * 100_001, type="text/plain")})
    result = (await done(web.fetch, ctx, url=URL)).data["result"]
    assert result.endswith("[Cut: the first 100,000 of 100,001 characters.]")


async def test_an_empty_page_says_so(ctx: CallContext) -> None:
    assert (await done(Web({URL: page("")}).fetch, ctx, url=URL)).data["result"] == "(The page is empty.)"


async def test_an_image_comes_back_as_an_image(ctx: CallContext) -> None:
    body = b"\x89PNG\r\n\x1a\n123"
    outcome = await done(Web({URL: page(body, type="image/png")}).fetch, ctx, url=URL)
    note = f"image/png, 11 B, from {URL}"
    assert outcome.content == (TextBlock(note), ImageBlock(base64.b64encode(body).decode(), "image/png"))


@pytest.mark.parametrize(
    ("path", "body", "format", "ending"),
    [
        ("file.zip", b"PK\x03\x04\0\0", "markdown", ".zip"),
        ("file", b"\0\1", "markdown", ".bin"),
        ("i.png", b"\x89PNG\r\n\x1a\n", "raw", ".png"),
        ("x.pdf", b"%PDF-1.4", "raw", ".pdf"),
        ("..%2f..%2fetc", b"\0", "markdown", ".bin"),
    ],
)
async def test_other_files_are_saved_whole_and_their_path_is_given(
    ctx: CallContext, path: str, body: bytes, format: str, ending: str
) -> None:
    url = f"https://site.example/{path}"
    web = Web({url: page(body, type="application/octet-stream")})
    result = (await done(web.fetch, ctx, url=url, format=format)).data["result"]
    saved = result.partition(" to ")[2].removesuffix(".")
    assert saved.startswith("/memory/tool-results/")
    assert saved.endswith(ending)
    assert await web.blobs.read(saved) == body


async def test_a_pdf_that_is_too_large_is_saved_as_far_as_it_came(ctx: CallContext) -> None:
    web = Web({URL: replace(page(b"%PDF-1.4 start", type="application/pdf"), truncated=True)})
    result = (await done(web.fetch, ctx, url=URL)).data["result"]
    assert result.endswith("The end is missing: it is larger than can be received.")


async def test_a_text_that_is_too_large_says_so_at_its_end(ctx: CallContext) -> None:
    web = Web({URL: replace(page("start", type="text/plain"), truncated=True)})
    result = (await done(web.fetch, ctx, url=URL)).data["result"]
    assert result.startswith("start\n\n[The server sent more")


async def test_a_question_goes_to_the_helper_model_with_the_page_marked_as_foreign(ctx: CallContext) -> None:
    helper = Helper("Because.")
    outcome = await done(Web({URL: page("<p>facts")}, model=helper).fetch, ctx, url=URL, prompt="Why?")
    assert outcome.data["result"] == "Because."
    assert "Because." in text_of(outcome.content)
    purpose, prompt = helper.prompts[0]
    assert purpose == "web_fetch"
    assert "Question: Why?" in prompt
    assert "facts\n</untrusted_content>" in prompt


async def test_a_page_with_braces_does_not_disturb_the_question(ctx: CallContext) -> None:
    helper = Helper("ok")
    web = Web({URL: page("{question} {page} {0}", type="text/plain")}, model=helper)
    await done(web.fetch, ctx, url=URL, prompt="{page}")
    assert "{question} {page} {0}" in helper.prompts[0][1]


async def test_without_a_helper_model_the_whole_page_comes_back(ctx: CallContext) -> None:
    outcome = await done(Web({URL: page("<p>facts")}).fetch, ctx, url=URL, prompt="Why?")
    assert outcome.data["result"] == "facts"
    assert text_of(outcome.content).endswith("[No helper model is set up: this is the whole page.]")


async def test_a_page_is_fetched_once_in_a_quarter_of_an_hour(ctx: CallContext) -> None:
    web = Web({URL: page("<p>x")})
    await done(web.fetch, ctx, url=URL)
    await web.clock.advance(899)
    assert (await done(web.fetch, ctx, url=URL + "#again", format="html")).data["from_cache"] is True
    await web.clock.advance(1)
    assert (await done(web.fetch, ctx, url=URL)).data["from_cache"] is False
    assert web.asked == [URL, URL]


async def test_the_cache_can_be_switched_off(ctx: CallContext) -> None:
    web = Web({URL: page("<p>x")}, environ={"TOOLWRIGHT_WEBFETCH_CACHE_TTL_MS": "0"})
    for _ in range(2):
        await done(web.fetch, ctx, url=URL)
    assert web.asked == [URL, URL]


async def test_errors_are_not_cached(ctx: CallContext) -> None:
    web = Web({URL: page("no", status=500)})
    for _ in range(2):
        await failed(web.fetch, ctx, url=URL)
    assert web.asked == [URL, URL]


async def test_a_redirect_to_another_host_is_named_and_not_followed(ctx: CallContext) -> None:
    web = Web({URL: page(status=302, location="https://other.example/x")})
    outcome = await done(web.fetch, ctx, url=URL)
    assert "redirects to another host: https://other.example/x" in text_of(outcome.content)
    assert web.asked == [URL]
    assert outcome.data == {
        "url": URL,
        "final_url": URL,
        "status": 302,
        "content_type": "text/html",
        "bytes": 0,
        "result": outcome.content,
        "from_cache": False,
        "duration_ms": 0,
        "redirect": "https://other.example/x",
    }
    view = web.fetch.view(state(web.fetch, {"url": URL}, outcome))
    assert view.summary == "302 Found, 0 B"


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "http_error", False),
        (404, "http_error", False),
        (429, "rate_limited", True),
        (503, "http_error", True),
    ],
)
async def test_an_error_status_is_a_failure_with_the_start_of_its_page(
    ctx: CallContext, status: int, code: str, retryable: bool
) -> None:
    web = Web({URL: page("<p>" + "x" * 501, status=status, retry_after="7")})
    failure = await failed(web.fetch, ctx, url=URL)
    assert (failure.code, failure.retryable, failure.retry_after) == (code, retryable, 7.0)
    assert f"The server answered {status} " in failure.message
    assert "\n" + "x" * 500 + "\n" in failure.message


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("https://127.0.0.1/", "private-address"),
        ("https://169.254.169.254/latest/meta-data/", "private-address"),
        ("http://localhost:8080/", "local-name"),
        ("https://[::1]/", "private-address"),
    ],
)
async def test_private_places_are_refused_by_the_gate(ctx: CallContext, url: str, rule: str) -> None:
    failure = await failed(Web().fetch, ctx, url=url)
    assert (failure.code, failure.details) == ("permission_denied", {"rule": rule})


@pytest.mark.parametrize(
    "url", ["ftp://x.example/", "https://user@x.example/", "https://0x7f.1/", "nonsense", "https:// x"]
)
async def test_an_odd_url_is_invalid_before_anybody_is_asked(ctx: CallContext, url: str) -> None:
    for tool in (Web().fetch, Web().http):
        objection = await tool.check({"url": url}, ctx)
        assert isinstance(objection, Objection)
        assert objection.verdict == "invalid"


ROBOTS = "https://site.example/robots.txt"
RESPECTFUL = {"network": {"respect_robots": True}}


@pytest.mark.parametrize(
    ("robots", "welcome"),
    [
        (page("User-agent: *\nDisallow: /private", type="text/plain"), True),
        (page("User-agent: *\nDisallow: /", type="text/plain"), False),
        (page("User-agent: toolwright\nDisallow: /page\n", type="text/plain"), False),
        (page("User-agent: *\nDisallow: /\n\nUser-agent: toolwright\nAllow: /", type="text/plain"), True),
        (page(status=404), True),
        (page(status=500), False),
        (ToolFailure("network_error", "gone"), False),
    ],
)
async def test_robots_are_respected_where_the_setting_says_so(
    ctx: CallContext, robots: Answer, welcome: bool
) -> None:
    answers = {URL: page("<p>x"), ROBOTS: robots}
    web = Web(answers, settings=RESPECTFUL)
    if welcome:
        await done(web.fetch, ctx, url=URL)
    else:
        assert (await failed(web.fetch, ctx, url=URL)).details == {"rule": "robots"}
    careless = Web(answers)
    await done(careless.fetch, ctx, url=URL)
    assert careless.asked == [URL]


async def test_robots_are_asked_once(ctx: CallContext) -> None:
    other = "https://site.example/other"
    web = Web({URL: page("<p>x"), other: page("<p>x"), ROBOTS: page(status=404)}, settings=RESPECTFUL)
    for url in (URL, other):
        await done(web.fetch, ctx, url=url)
    assert web.asked == [ROBOTS, URL, other]


async def test_what_a_person_sees_of_a_fetch(ctx: CallContext) -> None:
    web = Web({URL: page("x" * 34 * 1024, type="text/plain")})
    outcome = await done(web.fetch, ctx, url=URL)
    view = web.fetch.view(state(web.fetch, {"url": URL}, outcome))
    assert (view.activity, view.summary) == ("Fetching site.example", "200 OK, 34 KB")
    for partial in ({}, {"url": "https://sit"}, {"url": "htt"}):
        assert web.fetch.view(state(web.fetch, partial)).activity.startswith("Fetching")


# --- web_search -----------------------------------------------------------------------------


def hit(url: str, title: str = "Title", snippet: str = "Snippet", date: str = "") -> SearchHit:
    return SearchHit(title, url, snippet, date)


async def test_hits_are_listed_and_marked_as_foreign(ctx: CallContext) -> None:
    search = ScriptedSearch(
        [[hit("https://a.example/1", date="2026-01-02"), hit("https://b.example/", "", "")]]
    )
    outcome = await done(Web(search=search).search, ctx, query=" python ")
    assert outcome.data == {
        "results": [
            {"title": "Title", "url": "https://a.example/1", "snippet": "Snippet", "date": "2026-01-02"},
            {"title": "", "url": "https://b.example/", "snippet": ""},
        ],
        "backend": "scripted",
        "duration_ms": 0,
    }
    lines = (
        "1. Title\n   https://a.example/1\n   2026-01-02\n   Snippet\n2. (no title)\n   https://b.example/"
    )
    assert f"{lines}\n</untrusted_content>" in text_of(outcome.content)
    assert search.asked == [SearchQuery(query="python", limit=10)]


async def test_no_hits_say_so(ctx: CallContext) -> None:
    outcome = await done(Web(search=ScriptedSearch()).search, ctx, query="nothing")
    assert (outcome.content, outcome.data["results"]) == ("Nothing was found.", [])


async def test_without_a_service_the_tool_says_what_to_set_before_anybody_is_asked(ctx: CallContext) -> None:
    tool = Web().search
    objection = await tool.check({"query": "python"}, ctx)
    assert objection is not None
    assert (objection.verdict, objection.code) == ("invalid", "auth_required")
    assert all(name in objection.hint for name in ("BRAVE_API_KEY", "TAVILY_API_KEY", "SEARXNG_URL"))
    assert (await failed(tool, ctx, query="python")).code == "auth_required"


@pytest.mark.parametrize(
    ("input", "valid"),
    [
        ({"query": "py"}, True),
        ({"query": "p "}, False),
        ({"query": "python", "allowed_domains": ["python.org", "*.example.com"]}, True),
        ({"query": "python", "blocked_domains": ["bücher.example"]}, True),
        ({"query": "python", "allowed_domains": ["https://python.org"]}, False),
        ({"query": "python", "allowed_domains": ["python.org/docs"]}, False),
        ({"query": "python", "blocked_domains": ["a b"]}, False),
        ({"query": "python", "allowed_domains": ["a.example"], "blocked_domains": ["b.example"]}, False),
    ],
)
async def test_a_search_is_checked_before_it_is_made(
    ctx: CallContext, input: dict[str, Any], valid: bool
) -> None:
    objection = await Web(search=ScriptedSearch()).search.check(input, ctx)
    assert (objection is None) is valid


FOUND = [
    hit("https://example.com/a"),
    hit("https://www.example.com/b"),
    hit("https://notexample.com/c"),
    hit("https://other.example/d"),
    hit("https://example.com.evil.example/e"),
    hit("ftp://example.com/f"),
    hit("javascript:alert(1)"),
    hit("https://[broken/g"),
]


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        ({}, ["a", "b", "c", "d", "e"]),
        ({"allowed_domains": ["example.com"]}, ["a", "b"]),
        ({"allowed_domains": ["*.example.com"]}, ["b"]),
        ({"allowed_domains": ["www.example.com", "other.example"]}, ["b", "d"]),
        ({"blocked_domains": ["example.com"]}, ["c", "d", "e"]),
    ],
)
async def test_domains_are_filtered_here_whatever_the_service_does(
    ctx: CallContext, filters: dict[str, Any], kept: list[str]
) -> None:
    outcome = await done(Web(search=ScriptedSearch([FOUND])).search, ctx, query="python", **filters)
    assert [row["url"][-1] for row in outcome.data["results"]] == kept


async def test_a_page_is_listed_once(ctx: CallContext) -> None:
    urls = [
        "https://a.example/x",
        "http://A.example/x/",
        "https://a.example/x#part",
        "https://a.example/x?y=1",
    ]
    outcome = await done(Web(search=ScriptedSearch([[hit(url) for url in urls]])).search, ctx, query="python")
    assert [row["url"] for row in outcome.data["results"]] == [urls[0], urls[3]]


async def test_no_more_hits_than_asked_for_after_filtering(ctx: CallContext) -> None:
    search = ScriptedSearch([[hit(f"https://a.example/{number}") for number in range(20)]])
    outcome = await done(
        Web(search=search).search,
        ctx,
        query="python",
        max_results=3,
        freshness="week",
        allowed_domains=["a.example"],
    )
    assert len(outcome.data["results"]) == 3
    assert search.asked == [
        SearchQuery(query="python", limit=20, freshness="week", allowed_domains=("a.example",))
    ]


async def test_after_two_hundred_searches_a_notice_comes_back(ctx: CallContext) -> None:
    search = ScriptedSearch()
    tool = Web(search=search).search
    for _ in range(MOST_SEARCHES):
        await done(tool, ctx, query="python")
    beyond = await done(tool, ctx, query="python")
    assert "used its 200 searches" in text_of(beyond.content)
    assert len(search.asked) == MOST_SEARCHES == 200


async def test_what_a_person_sees_of_a_search(ctx: CallContext) -> None:
    tool = Web(search=ScriptedSearch([[hit("https://a.example/")]])).search
    outcome = await done(tool, ctx, query="python")
    view = tool.view(state(tool, {"query": "python"}, outcome))
    assert (view.activity, view.summary, view.folds) == ("Searching the web: python", "1 result", True)
    assert tool.view(state(tool, {})).activity == "Searching the web: "


# --- http_request ---------------------------------------------------------------------------

API = "https://api.example/v1/items"


def echo(request: WebRequest) -> WebResponse:
    """A server that sends back all it was sent, as some do."""
    lines = [f"{name}={value}" for name, value in request.headers.items()]
    return page(
        "\n".join([*lines, (request.body or b"").decode()]), type="text/plain", x_seen=" ".join(lines)
    )


async def test_an_answer_comes_back_with_status_headers_and_body(ctx: CallContext) -> None:
    web = Web({API: page('{"a": 1}', status=201, type="application/json", location="/v1/items/1")})
    outcome = await done(web.http, ctx, url=API, method="POST", body={"b": "é"}, headers={"X-A": "1"})
    assert outcome.data == {
        "status": 201,
        "headers": {"content-type": "application/json", "location": "/v1/items/1"},
        "body": '{"a": 1}',
        "bytes": 8,
        "duration_ms": 0,
    }
    text = '201 Created\ncontent-type: application/json\nlocation: /v1/items/1\n\n{"a": 1}'
    assert text in text_of(outcome.content)
    sent = web.egress.requests[0]
    assert (sent.method, sent.body, dict(sent.headers)) == (
        "POST",
        '{"b": "é"}'.encode(),
        {"X-A": "1", "content-type": "application/json"},
    )


@pytest.mark.parametrize("status", [204, 302, 404, 500])
@pytest.mark.parametrize("location", ["/elsewhere", "ftp://other.example/", "http://10.0.0.1/"])
async def test_every_status_is_an_answer_and_redirects_are_not_followed(
    ctx: CallContext, status: int, location: str
) -> None:
    web = Web({API: page(status=status, location=location)})
    assert (await done(web.http, ctx, url=API)).data["status"] == status
    assert web.asked == [API]


async def test_the_caller_may_say_what_its_body_is(ctx: CallContext) -> None:
    web = Web({API: page()})
    await done(web.http, ctx, url=API, method="PUT", body="<a/>", headers={"Content-Type": "application/xml"})
    assert dict(web.egress.requests[0].headers) == {"Content-Type": "application/xml"}


async def test_a_secret_goes_out_and_never_comes_back(ctx: CallContext) -> None:
    secret = 'p"ss wörd+/1'.replace("ö", "o")
    web = Web({API: echo}, secrets=Vault(TOKEN=secret))
    outcome = await done(
        web.http, ctx, url=API, headers={"Authorization": {"$secret": "TOKEN"}, "X-A": "visible"}
    )
    assert web.egress.requests[0].headers["Authorization"] == secret
    shown = f"{outcome.content} {outcome.data} {web.http.view(state(web.http, {'url': API}, outcome))}"
    assert secret not in shown
    assert "[secret TOKEN]" in outcome.data["body"]
    assert "[secret TOKEN]" in outcome.data["headers"]["x-seen"]
    assert "visible" in outcome.data["body"]


@pytest.mark.parametrize(
    "spell", [str, lambda s: base64.b64encode(s.encode()).decode(), lambda s: s.encode().hex()]
)
async def test_a_secret_sent_back_in_another_spelling_is_hidden(ctx: CallContext, spell: Any) -> None:
    web = Web(
        {API: page(f"token: {spell('secret-value')}.", type="text/plain")},
        secrets=Vault(TOKEN="secret-value"),
    )
    outcome = await done(web.http, ctx, url=API, headers={"X": {"$secret": "TOKEN"}})
    assert outcome.data["body"] == "token: [secret TOKEN]."


@pytest.mark.parametrize("secrets", [None, Vault(OTHER="x")])
async def test_a_secret_that_does_not_exist_stops_the_request(
    ctx: CallContext, secrets: Vault | None
) -> None:
    web = Web({API: echo}, secrets=secrets)
    failure = await failed(web.http, ctx, url=API, headers={"X": {"$secret": "TOKEN"}})
    assert failure.code == "auth_required"
    assert web.asked == []


async def test_a_secret_that_cannot_be_a_header_is_not_shown_in_the_refusal(ctx: CallContext) -> None:
    web = Web({API: echo}, secrets=Vault(TOKEN="line\nbreak"))
    failure = await failed(web.http, ctx, url=API, headers={"X": {"$secret": "TOKEN"}})
    assert (failure.code, "break" in failure.message) == ("permission_denied", False)


@pytest.mark.parametrize(
    ("input", "verdict"),
    [
        ({"url": API}, None),
        ({"url": API, "method": "POST", "body": "x"}, None),
        ({"url": API, "body": "x"}, "invalid"),
        ({"url": API, "method": "HEAD", "body": {}}, "invalid"),
        ({"url": "https://api.example/public/../admin"}, "invalid"),
        ({"url": "https://api.example/public/%2e%2E/admin"}, "invalid"),
        ({"url": "https://api.example/public/.%2e/admin"}, "invalid"),
        ({"url": "https://api.example/./admin"}, "invalid"),
        ({"url": "https://api.example/public/.."}, "invalid"),
        ({"url": "https://api.example/a..b/.well-known"}, None),
        ({"url": "https://api.example/?next=/../x"}, None),
        ({"url": API, "headers": {"X": {"$secret": "TOKEN"}}}, "ask"),
    ],
)
async def test_a_request_is_checked_before_it_is_sent(
    ctx: CallContext, input: dict[str, Any], verdict: str | None
) -> None:
    objection = await Web().http.check(input, ctx)
    assert (objection.verdict if objection else None) == verdict


@pytest.mark.parametrize(("size", "sent"), [(1024 * 1024, 1), (1024 * 1024 + 1, 0)])
async def test_a_body_may_have_a_megabyte_and_not_a_byte_more(ctx: CallContext, size: int, sent: int) -> None:
    web = Web({API: page()})
    input = {"url": API, "method": "POST", "body": "x" * size}
    if sent:
        await done(web.http, ctx, **input)
    else:
        assert (await failed(web.http, ctx, **input)).code == "invalid_input"
    assert len(web.asked) == sent


async def test_a_binary_answer_is_saved(ctx: CallContext) -> None:
    web = Web({API: page(b"\0\1\2", type="application/octet-stream")})
    body = (await done(web.http, ctx, url=API)).data["body"]
    assert body.startswith("[Saved application/octet-stream, 3 B, to /memory/tool-results/")


async def test_what_a_person_sees_of_a_request(ctx: CallContext) -> None:
    web = Web({API: page("ok", type="text/plain")})
    outcome = await done(web.http, ctx, url=API, method="PUT")
    view = web.http.view(state(web.http, {"url": API, "method": "PUT"}, outcome))
    assert (view.activity, view.summary) == ("PUT api.example", "200 OK, 2 B")
    assert web.http.view(state(web.http, {})).activity == "GET"


# --- together with the rules and the real gate ----------------------------------------------


def decided(tool: Tool, input: dict[str, Any], **rules: str) -> str:
    """What the rules say about one call, in the default mode."""
    names = {"WebFetch": "web_fetch", "HttpRequest": "http_request", "WebSearch": "web_search"}
    made = {
        behavior: (parse_rule(text, behavior=behavior, source="user", names=names),)
        for behavior in BEHAVIORS
        if (text := rules.get(behavior))
    }
    traits = tool.traits(input)
    subject = Subject(
        spec=tool.spec,
        offered_name=tool.spec.name,
        input=input,
        raw_input=input,
        traits=traits,
        hosts=tuple(touch.name for touch in traits.touches or () if touch.kind == "host"),
    )
    return decide(Policy(rules=RuleSet(**made)), subject).behavior


BEHAVIORS: tuple[Behavior, ...] = ("allow", "ask", "deny")


@pytest.mark.parametrize(
    ("url", "rules", "behavior"),
    [
        (URL, {}, "ask"),
        (URL, {"allow": "WebFetch(domain:site.example)"}, "allow"),
        ("https://a.site.example/", {"allow": "WebFetch(domain:site.example)"}, "ask"),
        ("https://a.site.example/", {"allow": "WebFetch(domain:*.site.example)"}, "allow"),
        (URL, {"deny": "WebFetch(domain:site.example)", "allow": "WebFetch"}, "deny"),
        ("https://docs.example/", {}, "allow"),
        ("https://docs.example/", {"ask": "WebFetch(domain:docs.example)"}, "ask"),
        ("https://docs.example/", {"deny": "WebFetch(domain:*.example)"}, "deny"),
    ],
)
def test_rules_about_hosts_decide_over_fetching(url: str, rules: dict[str, str], behavior: str) -> None:
    web = Web(settings={"network": {"preapproved": ("docs.example",)}})
    assert decided(web.fetch, {"url": url}, **rules) == behavior


@pytest.mark.parametrize(
    ("input", "rules", "behavior"),
    [
        ({"url": API}, {}, "ask"),
        ({"url": API}, {"allow": "HttpRequest(GET api.example/v1/*)"}, "allow"),
        ({"url": API, "method": "POST"}, {"allow": "HttpRequest(GET api.example/v1/*)"}, "ask"),
        ({"url": "https://api.example/v2/"}, {"allow": "HttpRequest(GET api.example/v1/*)"}, "ask"),
        ({"url": "https://api.example.evil/v1/x"}, {"allow": "HttpRequest(GET api.example/v1/*)"}, "ask"),
        ({"url": API}, {"allow": "WebFetch(domain:api.example)"}, "ask"),
        ({"url": API}, {"deny": "WebFetch(domain:api.example)", "allow": "HttpRequest"}, "deny"),
    ],
)
def test_rules_about_method_host_and_path_decide_over_requests(
    input: dict[str, Any], rules: dict[str, str], behavior: str
) -> None:
    assert decided(Web().http, input, **rules) == behavior


async def test_a_page_is_read_through_the_real_gate(ctx: CallContext) -> None:
    html = gzip.compress(b"<main><h1>Real</h1><a href=/x>link</a></main>")
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head.encode() + b"\r\n" + html)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    egress = GuardedEgress(NetworkGate.opening(["127.0.0.0/8"]))
    web = Web()
    fetch = web_fetch.build(replace(web.services, egress=egress), {})
    outcome = await done(fetch, ctx, url=url)
    assert outcome.data["result"] == f"# Real\n\n[link]({url}x)"
    await egress.close()
    server.close()
