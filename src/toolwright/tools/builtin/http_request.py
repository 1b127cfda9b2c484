"""Send one HTTP request, with secrets that the model names and never sees."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypedDict
from urllib.parse import quote

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import JudgedUrl, WebRequest, WebResponse
from toolwright.contracts.tool import (
    CallContext,
    CallState,
    Done,
    Input,
    Objection,
    Outcome,
    Tool,
    Touch,
    Traits,
)
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.services import Services
from toolwright.tools.untrusted import wrapped
from toolwright.tools.web_content import content_of
from toolwright.tools.web_texts import host_of, size_text, status_text
from toolwright.workspaces.urls import DEFAULT_PORTS, LONGEST_URL, parse_url

MOST_BODY = 1024 * 1024
_READING = frozenset({"GET", "HEAD"})
_SHOWN = (
    "content-type",
    "location",
    "retry-after",
    "link",
    "etag",
    "last-modified",
    "allow",
    "www-authenticate",
)
_DOTS = re.compile(r"(?:^|/)(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
SecretName = TypedDict("SecretName", {"$secret": Annotated[str, "Name of the secret."]})
Headers = Annotated[dict[str, str | SecretName], Field(max_length=50)]


@dataclass(frozen=True, slots=True)
class Filled:
    """Headers with their secrets in place; ``secrets`` maps each value to its name."""

    headers: Mapping[str, str]
    secrets: Mapping[str, str]

    def hidden(self, text: str) -> str:
        """``text`` without the secrets that went out, in the spellings a server may send back."""
        for value, name in self.secrets.items():
            for spelling in _spellings(value):
                text = text.replace(spelling, f"[secret {name}]")
        return text


class HttpRequest(ToolClass):
    spec = described(
        __file__,
        name="http_request",
        aliases=("HttpRequest",),
        source="builtin",
        category="network",
        feature="http_tool",
        defer=True,
        result_limit=50_000,
        clamped=frozenset({"timeout"}),
        search_hint="http api request post put delete rest webhook",
    )

    def __init__(self, services: Services) -> None:
        self._services = services

    def traits(self, input: Input) -> Traits:
        method = str(input.get("method", "GET"))
        reads = method in _READING
        place = _place(input.get("url"))
        return Traits(
            read_only=reads,
            destructive=method == "DELETE",
            concurrency_safe=reads,
            open_world=True,
            touches=(Touch("host", place.host, "read" if reads else "write"),) if place else None,
            subject=f"{method} {_address(place)}" if place else None,
        )

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        try:
            place = parse_url(input["url"])
        except ToolFailure as refused:
            return Objection("invalid", refused.message, hint=refused.hint)
        if _DOTS.search(place.path.partition("?")[0]):
            return Objection("invalid", "The path of the URL holds no parts that are '.' or '..'.")
        if input.get("method", "GET") in _READING and input.get("body") is not None:
            return Objection("invalid", "GET and HEAD requests have no body.")
        names = _secret_names(input)
        if names:
            return Objection("ask", f"Would send the secret {', '.join(names)} to {place.host}.")
        return None

    async def run(
        self,
        ctx: CallContext,
        *,
        url: Annotated[str, Field(min_length=1, max_length=LONGEST_URL)],
        method: Method = "GET",
        headers: Headers | None = None,
        body: str | dict[str, Any] | list[Any] | None = None,
        timeout: Annotated[int, Field(ge=1, le=120)] = 30,
    ) -> Outcome:
        started = self._services.clock.monotonic()
        filled = self._filled(headers or {})
        payload, types = _payload(body, filled.headers)
        request = WebRequest(
            url=parse_url(url).url,
            method=method,
            headers={**filled.headers, **types},
            body=payload,
            timeout=float(timeout),
            max_redirects=0,
        )
        answer = await self._services.egress.send(request)
        text = filled.hidden(await self._body(answer))
        received = {name: filled.hidden(value) for name, value in answer.headers.items()}
        data = {
            "status": answer.status,
            "headers": received,
            "body": text,
            "bytes": len(answer.body),
            "duration_ms": round((self._services.clock.monotonic() - started) * 1000),
        }
        return Done(_report(answer.status, received, text, source=request.url), data=data)

    def view(self, call: CallState) -> View:
        host = host_of(call.input.get("url"))
        method = call.input.get("method", "GET")
        view = replace(generic_view(self.spec, call), activity=f"{method} {host}".rstrip())
        if not isinstance(call.outcome, Done):
            return view
        data = call.outcome.data
        return replace(view, summary=f"{status_text(data['status'])}, {size_text(data['bytes'])}")

    def _filled(self, headers: Mapping[str, str | SecretName]) -> Filled:
        """Put the secrets in. Raises ToolFailure ``auth_required`` for one that does not exist."""
        values: dict[str, str] = {}
        used: dict[str, str] = {}
        for header, value in headers.items():
            if isinstance(value, str):
                values[header] = value
                continue
            name = value["$secret"]
            secret = self._services.secrets.use(name) if self._services.secrets else None
            if not secret:
                raise ToolFailure("auth_required", f"There is no secret named {name!r}.")
            values[header] = secret
            used[secret] = name
        return Filled(values, used)

    async def _body(self, answer: WebResponse) -> str:
        content = content_of(answer.body, answer.headers)
        if content.kind in {"html", "text"}:
            return content.text + ("\n[The end is missing.]" if answer.truncated else "")
        blob = await self._services.blobs.put("answer", answer.body, suffix=".bin")
        return f"[Saved {content.media_type}, {size_text(blob.size)}, to {blob.path}.]"


def _place(url: Any) -> JudgedUrl | None:
    try:
        return parse_url(url) if isinstance(url, str) else None
    except ToolFailure:
        return None


def _address(place: JudgedUrl) -> str:
    """``host/path``, with the port where it is not the usual one: what rules are compared with."""
    port = "" if place.port == DEFAULT_PORTS[place.scheme] else f":{place.port}"
    return f"{place.host}{port}{place.path}"


def _secret_names(input: Input) -> list[str]:
    headers = input.get("headers") or {}
    return sorted({value["$secret"] for value in headers.values() if isinstance(value, Mapping)})


def _payload(body: Any, headers: Mapping[str, str]) -> tuple[bytes | None, Mapping[str, str]]:
    """The body as bytes and the header that says what it is, unless the caller said so."""
    if body is None:
        return None, {}
    data = body.encode() if isinstance(body, str) else json.dumps(body, ensure_ascii=False).encode()
    if len(data) > MOST_BODY:
        raise ToolFailure("invalid_input", f"The body has more than {size_text(MOST_BODY)}.")
    if any(name.lower() == "content-type" for name in headers):
        return data, {}
    return data, {
        "content-type": "text/plain; charset=utf-8" if isinstance(body, str) else "application/json"
    }


def _report(status: int, headers: Mapping[str, str], text: str, *, source: str) -> str:
    shown = "\n".join(f"{name}: {headers[name]}" for name in _SHOWN if name in headers)
    parts = [status_text(status), shown, text or "(empty body)"]
    return wrapped("\n".join(parts[:2]).strip() + f"\n\n{parts[2]}", source)


def _spellings(secret: str) -> set[str]:
    raw = secret.encode()
    return {
        secret,
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode(),
        quote(secret, safe=""),
        raw.hex(),
        json.dumps(secret)[1:-1],
    }


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Build the tool."""
    return HttpRequest(services)
