"""Every way in which a server of models can fail: the list behind the table of docs/explain/models.md.

The suite of the port looks at the code of each fault, the journeys at what becomes of a whole run.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from toolwright.contracts.messages import CallBlock
from toolwright.contracts.models import FaultCode
from toolwright.testing.replies import HangUp, Page, Reply, ScriptItem, Status

LONG = "A text that is long enough to be sent in quite a number of pieces, one after the other. " * 3
HTML = "text/html"


@dataclass(frozen=True, slots=True)
class ServerFault:
    """One way to fail, in the words of the page; ``item`` makes the fake upstream do it."""

    words: str
    code: FaultCode
    item: ScriptItem
    silent: bool = False
    """Nothing more comes: it ends when a time limit does."""


def _after(then: bytes) -> Reply:
    return Reply(LONG, keep=3, then=then)


_PROMPT_TOO_LONG = "prompt is too long: 210000 tokens exceed the maximum context length"
FAULTS: Mapping[str, ServerFault] = {
    "hung up": ServerFault("closes the connection without an answer", "connection", HangUp()),
    "reset": ServerFault("breaks the connection without an answer", "connection", HangUp(reset=True)),
    "400": ServerFault("400", "bad_request", Status(400)),
    "401": ServerFault("401", "unauthorized", Status(401)),
    "402": ServerFault("402", "billing", Status(402)),
    "403": ServerFault("403", "unauthorized", Status(403)),
    "404": ServerFault("404", "not_found", Status(404)),
    "405": ServerFault("405", "bad_request", Status(405)),
    "408": ServerFault("408", "timeout", Status(408)),
    "409": ServerFault("409", "bad_request", Status(409)),
    "413": ServerFault("413", "too_large", Status(413)),
    "422": ServerFault("422", "bad_request", Status(422)),
    "429": ServerFault("429", "rate_limited", Status(429)),
    "no credit": ServerFault(
        "429, because the account has no credit", "billing", Status(429, kind="insufficient_quota")
    ),
    "500": ServerFault("500", "server_error", Status(500)),
    "502": ServerFault(
        "502 with a page of HTML",
        "server_error",
        Status(502, body=b"<html>Bad gateway</html>", content_type=HTML),
    ),
    "503": ServerFault("503", "overloaded", Status(503)),
    "504": ServerFault("504 with nothing in it", "server_error", Status(504, body=b"")),
    "529": ServerFault("529", "overloaded", Status(529)),
    "elsewhere": ServerFault(
        "302, to send elsewhere",
        "not_found",
        Status(302, headers={"location": "http://127.0.0.1:1/"}, body=b""),
    ),
    "too long": ServerFault(
        "400, because the conversation is too long", "too_large", Status(400, _PROMPT_TOO_LONG)
    ),
    "page": ServerFault("200 with a page of HTML", "garbage", Page(b"<!doctype html><title>Sign in</title>")),
    "json": ServerFault(
        "200 with JSON that is no stream", "garbage", Page(b'{"hello": "world"}', "application/json")
    ),
    "json error": ServerFault(
        "200 with an error as JSON",
        "rate_limited",
        Page(b'{"error": {"type": "rate_limit_error", "message": "slow"}}', "application/json"),
    ),
    "page as stream": ServerFault(
        "HTML that is called a stream",
        "garbage",
        Page(b"<!doctype html><title>Hi</title>\n\n", "text/event-stream"),
    ),
    "nothing": ServerFault("a stream with nothing in it", "cut", Page(b"", "text/event-stream")),
    "compressed": ServerFault(
        "a compressed stream", "garbage", Reply("Hi", headers={"content-encoding": "gzip"})
    ),
    "broken frame": ServerFault("a line that belongs to no event", "garbage", _after(b'dat{"a": 1}\n\n')),
    "broken json": ServerFault("an event that is not JSON", "garbage", _after(b'data: {"type": \n\n')),
    "no object": ServerFault("an event that is no object", "garbage", _after(b"data: [1, 2]\n\n")),
    "not a number": ServerFault("an event with NaN in it", "garbage", _after(b'data: {"type": NaN}\n\n')),
    "half a pair": ServerFault(
        "an event with half a surrogate pair", "garbage", _after(b'data: {"type": "\\ud800"}\n\n')
    ),
    "noise": ServerFault("bytes that are nothing at all", "garbage", _after(b"\x00\xff\xfe\x80\n\n")),
    "bytes that are no text": ServerFault(
        "an event that is not UTF-8", "garbage", _after(b'data: {"type": "\xff"}\n\n')
    ),
    "endless frame": ServerFault(
        "an event of more than 16 MiB", "garbage", _after(b"data: " + b"x" * 17 * 1024 * 1024)
    ),
    "cut in a block": ServerFault(
        "closes the connection in the middle", "cut", Reply(LONG, keep=4, ending="cut")
    ),
    "reset in a block": ServerFault(
        "breaks the connection in the middle", "cut", Reply(LONG, keep=4, ending="reset")
    ),
    "ended in a block": ServerFault("ends in order, but in the middle", "cut", Reply(LONG, keep=4)),
    "frame without its end": ServerFault(
        "ends in the middle of an event", "cut", Reply(LONG, keep=4, then=b'data: {"type": "ping"}')
    ),
    "error in the middle": ServerFault(
        "an error in the middle", "server_error", Reply(LONG, keep=4, fault="server_error")
    ),
    "length too long": ServerFault("less than it announced", "cut", Reply(LONG, keep=4, length=10)),
    "length too short": ServerFault("more than it announced", "cut", Reply(LONG, length=-150)),
    "equal ids": ServerFault(
        "two calls with the same id",
        "garbage",
        (CallBlock("call_1", "read", "{}"), CallBlock("call_1", "read", '{"a": "b"}')),
    ),
    "silence": ServerFault(
        "nothing at all, for too long", "stalled", Reply(LONG, hold_headers=True), silent=True
    ),
    "silence in the middle": ServerFault(
        "nothing more in the middle, for too long", "stalled", Reply(LONG, hold_at=6), silent=True
    ),
}
