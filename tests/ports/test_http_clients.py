"""The promises of ``HttpClients``: what a library's own HTTP may do once its connections are ours."""

import asyncio
import gzip
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import pytest

from toolwright.backends.egress.clients import GuardedClients
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import ANSWER_TOO_LARGE, ClientTerms, Trouble
from toolwright.workspaces.network import NetworkGate

if TYPE_CHECKING:
    from tests.ports.conftest import Loopback

pytestmark = pytest.mark.anyio

LOOPBACK = NetworkGate.opening(["127.0.0.0/8"])
WITHIN = 20


class Terms:
    """What is sent, what was refused, and what went wrong."""

    def __init__(self, *keys: str) -> None:
        self.keys = list(keys)
        self.refused_with: list[Mapping[str, str]] = []
        self.troubles: list[Trouble] = []
        self.more: dict[str, Any] = {}
        self.leaves = False

    async def headers(self) -> Mapping[str, str]:
        return {"authorization": f"Bearer {self.keys[0]}"} if self.keys else {}

    async def refused(self, sent: Mapping[str, str]) -> bool:
        self.refused_with.append(sent)
        self.keys = self.keys[1:]
        return bool(self.keys)

    def instead(self, trouble: Trouble) -> bytes | None:
        self.troubles.append(trouble)
        return None if self.leaves else b'{"instead": true}'

    @property
    def terms(self) -> ClientTerms:
        return ClientTerms(headers=self.headers, refused=self.refused, instead=self.instead, **self.more)


async def posted(terms: Terms, url: str, gate: NetworkGate = LOOPBACK) -> httpx2.Response:
    with anyio.fail_after(WITHIN):
        async with GuardedClients(gate).client(terms.terms) as client:
            answer: httpx2.Response = await client.post(url, json={"a": 1})
            return answer


async def rule_of(terms: Terms, url: str) -> str:
    answer = await posted(terms, url, NetworkGate())
    assert (answer.status_code, answer.json()) == (502, {"instead": True})
    failure = terms.troubles[0].failure
    assert isinstance(failure, ToolFailure)
    return str(failure.details.get("rule", failure.code))


async def test_every_request_carries_what_is_to_be_sent_now(loopback: "Loopback") -> None:
    loopback.answers("/", b"ok")
    terms = Terms("first")
    async with GuardedClients(LOOPBACK).client(terms.terms) as client:
        await client.post(loopback.url())
        terms.keys = ["second"]
        await client.post(loopback.url())
    assert [seen.headers["authorization"] for seen in loopback.seen] == ["Bearer first", "Bearer second"]
    assert loopback.seen[0].headers["accept-encoding"] == "identity"


async def test_a_refused_credential_is_replaced_and_the_request_sent_once_more(loopback: "Loopback") -> None:
    loopback.answers("/", b"no", status=401, www_authenticate='Bearer realm="x"')
    terms = Terms("old", "new")
    answer = await posted(terms, loopback.url())
    assert [seen.headers["authorization"] for seen in loopback.seen] == ["Bearer old", "Bearer new"]
    assert [seen.body for seen in loopback.seen] == [b'{"a":1}'] * 2
    assert terms.refused_with == [{"authorization": "Bearer old"}]
    assert terms.troubles == [Trouble(None, 401, 'Bearer realm="x"', None)]
    assert (answer.status_code, answer.json()) == (401, {"instead": True})


@pytest.mark.parametrize(("status", "waits"), [(404, None), (429, 7.0), (500, None), (503, 7.0)])
async def test_what_is_no_answer_of_the_protocol_is_replaced(
    loopback: "Loopback", status: int, waits: float | None
) -> None:
    more = {} if waits is None else {"retry_after": "7"}
    loopback.answers("/", b"<html>", status=status, content_type="text/html", **more)
    terms = Terms()
    answer = await posted(terms, loopback.url())
    assert (answer.status_code, answer.json()) == (status, {"instead": True})
    assert terms.troubles == [Trouble(None, status, "", waits)]


async def test_an_error_of_the_protocol_can_be_left_as_it_is(loopback: "Loopback") -> None:
    loopback.answers("/", b'{"error": 1}', status=400, content_type="application/json; charset=utf-8")
    terms = Terms()
    terms.leaves = True
    answer = await posted(terms, loopback.url())
    assert (answer.status_code, answer.json()) == (400, {"error": 1})
    assert terms.troubles == [Trouble(None, 400, "", None, b'{"error": 1}')]


async def test_a_refusal_that_is_too_long_is_not_read(loopback: "Loopback") -> None:
    loopback.answers("/", b" " * 100_000, status=400, content_type="application/json")
    terms = Terms()
    await posted(terms, loopback.url())
    assert terms.troubles == [Trouble(None, 400)]


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("https://127.0.0.1/", "private-address"),
        ("https://localhost/", "local-name"),
        ("https://169.254.169.254/", "private-address"),
        ("http://example.com/", "https-only"),
    ],
)
async def test_places_that_no_request_may_reach_are_refused(url: str, rule: str) -> None:
    assert await rule_of(Terms(), url) == rule


async def test_a_name_that_leads_to_a_private_address_is_refused_when_it_is_connected_to(
    loopback: "Loopback",
) -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return ("127.0.0.1",)

    terms = Terms()
    with anyio.fail_after(WITHIN):
        async with GuardedClients(NetworkGate(), resolve=resolve).client(terms.terms) as client:
            await client.post(f"https://example.com:{loopback.port}/")
    failure = terms.troubles[0].failure
    assert failure is not None
    assert (failure.details["rule"], loopback.connections) == ("private-address", 0)


async def test_nobody_there_is_said_in_place_of_an_answer(loopback: "Loopback") -> None:
    url = loopback.url()
    loopback.routes["*"] = _hang_up
    terms = Terms()
    answer = await posted(terms, url)
    failure = terms.troubles[0].failure
    assert failure is not None
    assert (answer.status_code, failure.code) == (502, "network_error")


async def _hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()


async def test_an_answer_that_does_not_begin_in_time_is_given_up(loopback: "Loopback") -> None:
    async def say_nothing(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(WITHIN)

    loopback.routes["*"] = say_nothing
    terms = Terms()
    terms.more = {"first_byte": 0.05}
    await posted(terms, loopback.url())
    failure = terms.troubles[0].failure
    assert failure is not None
    assert failure.code == "timeout"


async def test_an_answer_that_is_too_large_fails_while_it_is_read(loopback: "Loopback") -> None:
    loopback.answers("/", b"x" * 2_000)
    terms = Terms()
    terms.more = {"most_bytes": 1_000}
    with pytest.raises(httpx2.StreamError, match=ANSWER_TOO_LARGE):
        await posted(terms, loopback.url())


async def test_what_is_only_listened_to_may_go_on_for_ever(loopback: "Loopback") -> None:
    loopback.answers("/", b"x" * 2_000)
    terms = Terms()
    terms.more = {"most_bytes": 1_000}
    async with GuardedClients(LOOPBACK).client(terms.terms) as client:
        assert len((await client.get(loopback.url())).content) == 2_000


async def test_an_answer_that_breaks_off_fails_while_it_is_read(loopback: "Loopback") -> None:
    loopback.routes["*"] = _half
    with pytest.raises(httpx2.StreamError, match="broke off"):
        await posted(Terms(), loopback.url())


async def _half(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")
    await writer.drain()
    writer.close()


async def test_what_comes_compressed_though_nobody_asked_is_not_unfolded(loopback: "Loopback") -> None:
    loopback.answers("/", gzip.compress(b"x" * 1_000_000), content_encoding="gzip")
    with pytest.raises(httpx2.StreamError, match="compressed"):
        await posted(Terms(), loopback.url())


async def test_what_asking_for_headers_raises_is_an_answer_too(loopback: "Loopback") -> None:
    async def no_key() -> Mapping[str, str]:
        raise ToolFailure("auth_required", "there is no credential")

    terms = Terms()
    own = ClientTerms(headers=no_key, instead=terms.instead)
    async with GuardedClients(LOOPBACK).client(own) as client:
        assert (await client.post(loopback.url())).json() == {"instead": True}
    assert loopback.connections == 0
