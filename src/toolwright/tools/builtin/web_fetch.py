"""Fetch a web page and make it readable."""

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import anyio.to_thread

from toolwright.contracts.content import Content, ImageBlock, TextBlock
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import JudgedUrl, WebRequest, WebResponse
from toolwright.contracts.tool import (
    CallContext,
    CallState,
    Done,
    Failed,
    Input,
    Objection,
    Outcome,
    Progress,
    Tool,
    Touch,
    Traits,
)
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.robots import welcome
from toolwright.tools.services import Services
from toolwright.tools.untrusted import wrapped
from toolwright.tools.web_cache import WebCache, seconds_to_keep
from toolwright.tools.web_content import MOST_CHARS, Format, WebContent, content_of, cut, html_text, readable
from toolwright.tools.web_texts import host_of, retry_after, size_text, status_text
from toolwright.workspaces.network import host_matches, lies_in
from toolwright.workspaces.urls import LONGEST_URL, parse_url

ACCEPT = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.5"
SECONDS = 30.0
_EXCERPT = 500
_CHARS_OF_TOKEN = 4
_QUESTION = (
    "Answer the question from the page below and from nothing else. Quote at most a few short sentences. "
    "Say so when the page does not contain the answer.\n\nQuestion: {question}\n\n{page}"
)


class WebFetch(ToolClass):
    spec = described(
        __file__,
        name="web_fetch",
        aliases=("WebFetch", "fetch_url"),
        source="builtin",
        category="network",
        defer=True,
        result_limit=100_000,
        search_hint="read web page url http download documentation pdf",
    )

    def __init__(self, services: Services, options: Mapping[str, Any] | None = None) -> None:
        chosen = options or {}
        self._allowed: tuple[str, ...] = tuple(chosen.get("allowed_domains", ()))
        self._blocked: tuple[str, ...] = tuple(chosen.get("blocked_domains", ()))
        self._most_chars = min(
            int(chosen.get("max_content_tokens", MOST_CHARS)) * _CHARS_OF_TOKEN, MOST_CHARS
        )
        network = services.settings.get("network", {})
        self._services = services
        self._preapproved: tuple[str, ...] = tuple(network.get("preapproved", ()))
        self._asks_robots = bool(network.get("respect_robots", False))
        self._cache = WebCache(services.clock, seconds=seconds_to_keep(services.environ))

    def traits(self, input: Input) -> Traits:
        host = host_of(input.get("url"))
        return Traits(
            read_only=True,
            concurrency_safe=True,
            open_world=True,
            pre_approved=bool(host) and any(host_matches(host, known) for known in self._preapproved),
            touches=(Touch("host", host),) if host else None,
        )

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        try:
            place = parse_url(input["url"])
        except ToolFailure as refused:
            return Objection("invalid", refused.message, hint=refused.hint)
        if self._may_fetch(place.host):
            return None
        hint = f"Only these: {', '.join(self._allowed)}." if self._allowed else "Look elsewhere."
        return Objection(
            "invalid", f"url_not_allowed: {place.host} is not to be fetched from.", "permission_denied", hint
        )

    def _may_fetch(self, host: str) -> bool:
        if any(lies_in(host, domain) for domain in self._blocked):
            return False
        return not self._allowed or any(lies_in(host, domain) for domain in self._allowed)

    async def run(
        self,
        ctx: CallContext,
        *,
        url: Annotated[str, Field(min_length=1, max_length=LONGEST_URL)],
        prompt: str | None = None,
        format: Format = "markdown",
    ) -> Outcome:
        started = self._services.clock.monotonic()
        place = parse_url(url)
        answer = self._cache.get(place.url)
        from_cache = answer is not None
        if answer is None:
            ctx.report(Progress(f"Fetching {place.host}"))
            answer = await self._fetched(place)
        if answer.status >= 400:
            return await self._refused(answer)
        content = content_of(answer.body, answer.headers)
        result, shown = await self._shown(answer, content, format, prompt)
        data = {
            "url": url,
            "final_url": answer.url,
            "status": answer.status,
            "content_type": content.media_type,
            "bytes": len(answer.body),
            "result": result,
            "from_cache": from_cache,
            "duration_ms": round((self._services.clock.monotonic() - started) * 1000),
        }
        return Done(shown, data={**data, "redirect": answer.redirect} if answer.redirect else data)

    def view(self, call: CallState) -> View:
        host = host_of(call.input.get("url"))
        view = replace(generic_view(self.spec, call), activity=f"Fetching {host}".rstrip())
        data = call.outcome.data if isinstance(call.outcome, Done) else None
        if not isinstance(data, Mapping):
            return view
        return replace(view, summary=f"{status_text(data['status'])}, {size_text(data['bytes'])}")

    async def _fetched(self, place: JudgedUrl) -> WebResponse:
        if self._asks_robots and not await welcome(place, self._services.egress, self._cache):
            raise ToolFailure(
                "permission_denied",
                f"{place.host} asks programs not to fetch this page (rule robots)",
                details={"rule": "robots"},
            )
        request = WebRequest(url=place.url, headers={"accept": ACCEPT}, timeout=SECONDS)
        answer = await self._services.egress.send(request)
        if answer.status == 200:
            self._cache.put(place.url, answer)
        return answer

    async def _refused(self, answer: WebResponse) -> Failed:
        content = content_of(answer.body, answer.headers)
        text = (
            "" if content.kind in {"pdf", "image", "binary"} else await _text_in_thread(content, answer.url)
        )
        excerpt = f"\n{wrapped(text[:_EXCERPT], answer.url)}" if text else ""
        wait = retry_after(answer.headers, now=self._services.clock.now())
        return Failed(
            "rate_limited" if answer.status == 429 else "http_error",
            f"The server answered {status_text(answer.status)}.{excerpt}",
            retryable=answer.status == 429 or answer.status >= 500,
            retry_after=wait,
            details={"status": answer.status},
        )

    async def _shown(
        self, answer: WebResponse, content: WebContent, form: Format, prompt: str | None
    ) -> tuple[str, Content]:
        """The result as text, and what the model reads."""
        if answer.redirect:
            note = _elsewhere(answer)
            return note, note
        whole_file = form == "raw" or answer.truncated
        if content.kind == "binary" or (content.kind in {"image", "pdf"} and whole_file):
            note = await self._saved(answer, content)
            return note, note
        if content.kind == "image":
            note = f"{content.media_type}, {size_text(len(content.body))}, from {answer.url}"
            image = ImageBlock(base64.b64encode(content.body).decode("ascii"), content.media_type)
            return note, (TextBlock(note), image)
        text = await anyio.to_thread.run_sync(
            lambda: readable(content, form, url=answer.url), abandon_on_cancel=True
        )
        page = cut(text, self._most_chars) if text.strip() else "(The page is empty.)"
        if answer.truncated:
            page += "\n\n[The server sent more than could be received; the end is missing.]"
        return await self._answered(page, answer.url, prompt)

    async def _answered(self, page: str, source: str, prompt: str | None) -> tuple[str, str]:
        whole = wrapped(page, source)
        if not prompt:
            return page, whole
        if self._services.model is None:
            return page, f"{whole}\n\n[No helper model is set up: this is the whole page.]"
        question = _QUESTION.format(question=prompt, page=whole)
        found = await self._services.model.answer("web_fetch", question)
        return found, wrapped(found, source)

    async def _saved(self, answer: WebResponse, content: WebContent) -> str:
        name = answer.url.partition("?")[0].rstrip("/").rpartition("/")[2]
        blob = await self._services.blobs.put(name or "download", content.body, suffix=_suffix(name))
        cut_short = " The end is missing: it is larger than can be received." if answer.truncated else ""
        return f"Saved {content.media_type}, {size_text(blob.size)}, to {blob.path}.{cut_short}"


async def _text_in_thread(content: WebContent, url: str) -> str:
    if content.kind == "text":
        return content.text
    return await anyio.to_thread.run_sync(
        lambda: html_text(content.text, url=url, plain=True), abandon_on_cancel=True
    )


def _elsewhere(answer: WebResponse) -> str:
    return (
        f"{answer.url} redirects to another host: {answer.redirect}\n"
        "It was not followed. Fetch that address if it is what you want."
    )


def _suffix(name: str) -> str:
    """The ending of a file name where it is a plain one."""
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    return f".{ending}" if ending.isascii() and ending.isalnum() and len(ending) <= 8 else ".bin"


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Build the tool."""
    return WebFetch(services, options)
