"""The fake provider plays its script, remembers who came, and does to a client what it is told to do."""

import asyncio
from collections.abc import Mapping

import anyio
import httpx2
import pytest

from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.models import Answer, Usage
from toolwright.testing import FakeUpstream, refusing_url
from toolwright.testing.replies import Frames, HangUp, Page, Reply, SeenRequest, Status, answer_of

pytestmark = pytest.mark.anyio

WITHIN = 20
ASKED = {"model": "m-1", "stream": True}


async def post(url: str, path: str = "/v1/messages", **members: object) -> httpx2.Response:
    async with httpx2.AsyncClient(trust_env=False) as client:
        with anyio.fail_after(WITHIN):
            return await client.post(url + path, json={**ASKED, **members})


async def test_answers_come_in_the_order_of_the_script_and_requests_are_remembered() -> None:
    async with FakeUpstream(["One.", "Two."]) as upstream:
        texts = [(await post(upstream.url, number=number)).text for number in (1, 2)]
    assert '"One."' in texts[0]
    assert '"Two."' in texts[1]
    assert [(seen.method, seen.path, seen.json["number"]) for seen in upstream.requests] == [
        ("POST", "/v1/messages", 1),
        ("POST", "/v1/messages", 2),
    ]
    assert upstream.requests[0].headers["content-type"] == "application/json"
    assert upstream.connections == 2


async def test_an_answer_names_the_model_that_was_asked() -> None:
    async with FakeUpstream(["Hi"]) as upstream:
        assert '"model":"m-1"' in (await post(upstream.url)).text


async def test_a_script_at_its_end_says_so() -> None:
    async with FakeUpstream(["Hi"]) as upstream:
        await post(upstream.url)
        answer = await post(upstream.url)
    assert (answer.status_code, answer.json()["error"]["message"]) == (500, "the script has only 1 answers")


async def test_a_function_may_answer_what_it_sees() -> None:
    def echo(seen: SeenRequest) -> str:
        return f"You said {seen.json['word']}."

    async with FakeUpstream(echo) as upstream:
        assert "You said hello" in (await post(upstream.url, word="hello")).text


async def test_pages_answer_beside_the_script_and_unknown_addresses_are_not_found() -> None:
    async with FakeUpstream(["Hi"], pages={"POST /props": (201, b'{"n_ctx": 7}')}) as upstream:
        page = await post(upstream.url, "/props")
        nowhere = await post(upstream.url, "/nowhere")
        assert (page.status_code, page.json()) == (201, {"n_ctx": 7})
        assert nowhere.status_code == 404
    assert [seen.path for seen in upstream.requests] == ["/nowhere"]


@pytest.mark.parametrize(
    ("item", "status", "kind", "body"),
    [
        (Status(418, kind="teapot"), 418, "application/json", "teapot"),
        (Status(502, body=b"bad", content_type="text/plain"), 502, "text/plain", "bad"),
        (Page(b"<html>"), 200, "text/html; charset=utf-8", "<html>"),
        (Frames((b"data: 1\n\n",)), 200, "text/event-stream", "data: 1"),
        (Reply(Frames((b"a", b"b", b"c")), keep=-1, then=b"!"), 200, "text/event-stream", "ab!"),
        (Reply(Frames((b"abc",)), piece=1), 200, "text/event-stream", "abc"),
    ],
)
async def test_each_item_is_sent_as_it_says(
    item: Status | Page | Frames | Reply, status: int, kind: str, body: str
) -> None:
    async with FakeUpstream([item]) as upstream:
        answer = await post(upstream.url)
    assert (answer.status_code, answer.headers["content-type"]) == (status, kind)
    assert body in answer.text


@pytest.mark.parametrize(
    "item", [HangUp(), HangUp(reset=True), Reply("Hi", ending="cut"), Reply("Hi", length=5)], ids=str
)
async def test_a_client_is_left_in_every_way(item: HangUp | Reply) -> None:
    async with FakeUpstream([item]) as upstream:
        with pytest.raises(httpx2.TransportError):
            await post(upstream.url)


async def test_a_held_answer_goes_on_when_it_is_released() -> None:
    async with FakeUpstream([Reply("Hello.", hold_at=2)]) as upstream, anyio.create_task_group() as group:
        texts: list[str] = []

        async def ask() -> None:
            texts.append((await post(upstream.url)).text)

        group.start_soon(ask)
        with anyio.fail_after(WITHIN):
            await upstream.until(lambda it: len(it.requests) == 1)
        assert texts == []
        upstream.release()
    assert "message_stop" in texts[0]


async def test_leaving_ends_what_is_held() -> None:
    async with FakeUpstream([Reply("Hello.", hold_at=2)]) as upstream:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(upstream.url.rpartition(":")[2]))
        writer.write(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}")
        with anyio.fail_after(WITHIN):
            await reader.readuntil(b"\r\n\r\n")
    with anyio.fail_after(WITHIN):
        assert b"message_stop" not in await reader.read()
    writer.close()


async def test_nobody_listens_at_a_refusing_address() -> None:
    with pytest.raises(httpx2.ConnectError):
        await post(refusing_url())


def test_a_closed_upstream_has_no_address() -> None:
    with pytest.raises(RuntimeError, match="async with"):
        _ = FakeUpstream().url


@pytest.mark.parametrize(
    ("said", "stop"), [("Hi", "end_turn"), ((TextBlock("Hi"), CallBlock("t", "read", "{}")), "calls")]
)
def test_what_is_said_becomes_an_answer_with_tokens_of_its_size(said: str, stop: str) -> None:
    answer = answer_of(said, 3)
    assert (answer.stop, answer.usage.input_tokens) == (stop, 103)
    assert answer_of(answer, 9) is answer


def test_usage_of_a_given_answer_stands() -> None:
    given = Answer(blocks=(), stop="end_turn", usage=Usage(input_tokens=1))
    assert answer_of(given, 1).usage == Usage(input_tokens=1)


def test_a_request_is_read_as_json_when_it_is_asked_for() -> None:
    headers: Mapping[str, str] = {}
    assert SeenRequest(method="POST", path="/", headers=headers, body=b'{"a": 1}').json == {"a": 1}
