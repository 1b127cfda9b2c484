"""Where a redirect leads, and what may come along. Pure."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote, urljoin

from toolwright.backends.egress.gate import Judge
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import JudgedUrl, WebRequest, WebResponse

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PRINTABLE = "".join(chr(code) for code in range(0x21, 0x7F))
_KEPT_ELSEWHERE = frozenset({"accept", "accept-language", "user-agent"})
"""Headers that say nothing about who asks; every other one stays with the origin it was meant for."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One request of a chain."""

    url: JudgedUrl
    method: str
    headers: Mapping[str, str]
    body: bytes | None


Exchange = Callable[[Hop], Awaitable[WebResponse]]
"""Sends one request and reads its answer."""


async def follow(judge: Judge, request: WebRequest, exchange: Exchange) -> WebResponse:
    """Exchange a request and its redirects one by one, each judged by name before it is sent.

    A redirect to another host is returned with its target unless the request asks to follow it. Where nothing
    is followed, a target that may not be reached is just not named.
    Raises ToolFailure naming the rule, and whatever ``exchange`` raises.
    """
    hop = first_hop(judge, request)
    if request.max_redirects == 0:
        return _named(judge, hop, await exchange(hop), request)
    for _ in range(request.max_redirects + 1):
        answer = await exchange(hop)
        target = redirect_target(judge, hop.url, answer)
        if target is None:
            return answer
        following = next_hop(judge, hop, target, status=answer.status, request=request)
        stays = target.host == hop.url.host or request.follow_other_hosts
        if not stays:
            return replace(answer, redirect=following.url.url)
        hop = following
    raise _refused("redirect-count", f"The server redirects more than {request.max_redirects} times")


def _named(judge: Judge, hop: Hop, answer: WebResponse, request: WebRequest) -> WebResponse:
    """The answer with the target of its redirect, where that is one that could be followed."""
    try:
        target = redirect_target(judge, hop.url, answer)
        if target is None:
            return answer
        following = next_hop(judge, hop, target, status=answer.status, request=request)
    except ToolFailure:
        return answer  # nobody goes there, so whether one may is no question
    return replace(answer, redirect=following.url.url)


def first_hop(judge: Judge, request: WebRequest) -> Hop:
    """Judge the URL of a request by name. Raises ToolFailure naming the rule."""
    url = judge.parse(request.url)
    judge.admit_host(url.host, request.access)
    if request.upgrade and url.scheme == "http" and not judge.is_private_host(url.host):
        url = _upgraded(judge, url)
    return Hop(url, request.method.upper(), request.headers, request.body)


def redirect_target(judge: Judge, url: JudgedUrl, answer: WebResponse) -> JudgedUrl | None:
    """The URL an answer redirects to, read strictly, or None. Raises ToolFailure naming the rule."""
    location = answer.headers.get("location")
    if answer.status not in _REDIRECTS or not location:
        return None
    try:
        whole = urljoin(url.url, quote(location, safe=_PRINTABLE))
    except ValueError as problem:
        raise _refused("redirect-target", "The server redirects to what is no address") from problem
    target = judge.parse(whole)
    if url.scheme == "https" and target.scheme == "http":
        raise _refused("redirect-downgrade", "The server redirects from https to http")
    return target


def next_hop(judge: Judge, hop: Hop, target: JudgedUrl, *, status: int, request: WebRequest) -> Hop:
    """The request that follows a redirect to ``target``. Raises ToolFailure naming the rule."""
    judge.admit_host(target.host, request.access)
    if request.upgrade and target.scheme == "http" and not judge.is_private_host(target.host):
        target = _upgraded(judge, target)
    following = replace(hop, url=target)
    becomes_get = (status == 303 and hop.method != "HEAD") or (status in {301, 302} and hop.method == "POST")
    if becomes_get:
        following = replace(following, method="GET", body=None, headers=_without_content(hop.headers))
    if target.origin != hop.url.origin:
        kept = {name: value for name, value in following.headers.items() if name.lower() in _KEPT_ELSEWHERE}
        following = replace(following, headers=kept)
    return following


def _upgraded(judge: Judge, url: JudgedUrl) -> JudgedUrl:
    shown = f"[{url.host}]" if ":" in url.host else url.host
    port = "" if url.port == 80 else f":{url.port}"
    return judge.parse(f"https://{shown}{port}{url.path}")


def _without_content(headers: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in headers.items() if not name.lower().startswith("content-")}


def _refused(rule: str, message: str) -> ToolFailure:
    return ToolFailure("permission_denied", f"{message} (rule {rule})", details={"rule": rule})
