"""The wire format of the Engine API as its documentation says, played from a script, with lines that break.

It does no work: a turn is a list of events. What is kept of it is what a server must keep, so that a client
which lost the line gets every event once: stamps that only grow, and a buffer that is replayed.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from email.utils import formatdate
from typing import Any
from urllib.parse import parse_qs

import httpx2

KEY = "the-key"


class LineCut(Exception):
    """The server falls over in the middle of an answer."""


def turn(*events: tuple[str, dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """A turn that ends well, around some events."""
    return [
        ("thread_lifecycle", {"phase": "started", "message_id": "m_1"}),
        *events,
        ("thread_lifecycle", {"phase": "completed", "assistant_message_id": "m_2"}),
    ]


TALK = turn(
    ("content_block_start", {"block_index": 0, "block_type": "text"}),
    ("text_delta", {"text": "I look – ﬁrst. "}),
    ("content_block_stop", {"block_index": 0, "block_type": "text"}),
    ("usage", {"input_tokens": 10, "output_tokens": 5, "cache_hit_tokens": 0}),
    ("tool_call", {"tool": "git_log", "tool_call_id": "tu_1", "input": {"limit": 3}}),
    ("heartbeat", {}),
    ("tool_result", {"tool": "git_log", "tool_call_id": "tu_1", "output": "a\nb\n\ndata: c", "error": None}),
    ("text_delta", {"text": "Three commits."}),
)


class FakeEngine:
    """An ASGI application. ``turns`` are played one for each execute that is accepted."""

    def __init__(
        self,
        *turns: Sequence[tuple[str, Mapping[str, Any]]],
        now: int = 1_777_000_000_000,
        says_date: bool = True,
        names_turn: bool = False,
        ids_only: bool = False,
        line_end: str = "\n",
    ) -> None:
        self._turns = list(turns)
        self.now = now
        self._says_date = says_date
        self._names_turn = names_turn
        self._ids_only = ids_only
        self._line_end = line_end
        self.buffer: list[dict[str, Any]] = []
        self.asked: list[tuple[str, str, Any]] = []
        """Method, path and body of everything that was asked."""
        self.answers: dict[str, tuple[int, Any]] = {}
        """What is answered to other requests, by method and path."""
        self.cuts: list[int | None] = []
        """After how many bytes each stream breaks, in their order; None lets it be."""
        self.then: Callable[[], object] | None = None
        """Called once, when the next stream has ended or broken."""
        self.busy = 0
        """How many replays are refused, as by a server that is being restarted."""

    @property
    def executed(self) -> int:
        """How many turns were begun."""
        return sum(path == "/execute" for _, path, _ in self.asked)

    def remember(
        self, task_id: str, events: Iterable[tuple[str, Mapping[str, Any]]], *, turn_id: str = ""
    ) -> list[dict[str, Any]]:
        """Put a turn into the buffer, or more of one."""
        turn_id = turn_id or f"turn_{len({event['turn_id'] for event in self.buffer}) + 1}"
        made = []
        for seq, (type, payload) in enumerate(events):
            self.now += 1
            made.append(
                {"type": type, "task_id": task_id, "turn_id": turn_id, "ts": self.now, "seq": seq, **payload}
            )
        self.buffer += made
        return made

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while (message := await receive())["type"] != "lifespan.shutdown":
                await send({"type": f"{message['type']}.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        content = b""
        while True:
            message = await receive()
            content += message.get("body", b"")
            if not message.get("more_body"):
                break
        body = json.loads(content) if content else None
        method, path = scope["method"], scope["path"]
        raw_path = scope["raw_path"].decode()
        self.asked.append((method, raw_path, body))
        headers = dict(scope["headers"])
        if path != "/health" and headers.get(b"x-engine-key") != KEY.encode():
            await _answer(send, 401, {"error": "INVALID_KEY", "message": "the key is missing or wrong"})
        elif (method, path) == ("POST", "/execute"):
            await self._executed(send, body or {})
        elif (method, path) == ("GET", "/execute/replay"):
            await self._replayed(send, parse_qs(scope["query_string"].decode()))
        else:
            missing = (404, {"error": "NOT_FOUND", "message": f"there is no {method} {raw_path}"})
            status, answer = self.answers.get(f"{method} {raw_path}", missing)
            await _answer(send, status, answer)

    async def _executed(self, send: Any, body: Mapping[str, Any]) -> None:
        refusal = self.answers.get("POST /execute")
        if refusal is not None:
            await _answer(send, *refusal)
            return
        events = self.remember(body["task_id"], self._turns.pop(0))
        await self._streamed(send, events, events[0]["turn_id"])

    async def _replayed(self, send: Any, query: Mapping[str, list[str]]) -> None:
        if self.busy:
            self.busy -= 1
            await _answer(send, 503, {"error": "SHUTTING_DOWN", "message": "wait"})
            return
        after, task = int(query["after"][0]), query.get("task_id", [None])[0]
        known = [event for event in self.buffer if task in {None, event["task_id"]}]
        if task is not None and not known:
            await _answer(send, 404, {"error": "TASK_NOT_FOUND", "message": f"there is no task {task}"})
            return
        await self._streamed(send, [event for event in known if event["ts"] > after], "")

    async def _streamed(self, send: Any, events: Iterable[Mapping[str, Any]], turn_id: str) -> None:
        headers = [(b"content-type", b"text/event-stream")]
        if self._says_date:
            headers.append((b"date", formatdate(self.now / 1000, usegmt=True).encode()))
        if turn_id and self._names_turn:
            headers.append((b"x-turn-id", turn_id.encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        whole = b"".join(self._frame(event) for event in events)
        cut = self.cuts.pop(0) if self.cuts else None
        sent = whole if cut is None else whole[:cut]
        for start in range(0, len(sent), 7):  # frames come in pieces, whatever was written at once
            await send({"type": "http.response.body", "body": sent[start : start + 7], "more_body": True})
        then, self.then = self.then, None
        if then is not None:
            then()
        if cut is not None:
            raise LineCut
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _frame(self, event: Mapping[str, Any]) -> bytes:
        payload = dict(event)
        stamp = payload.pop("ts") if self._ids_only else payload["ts"]
        data = json.dumps(payload, ensure_ascii=False)
        lines = (f"id: {stamp}", f"event: {event['type']}", f"data: {data}", "", ": a comment", "")
        return self._line_end.join(lines).encode()


async def _answer(send: Any, status: int, body: Any) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


class CutLines(httpx2.AsyncBaseTransport):
    """Reaches an application without a network. Where that falls over, what it sent before still arrives."""

    def __init__(self, app: FakeEngine, *, refused: int = 0, hung_up: int = 0) -> None:
        self.app = app
        self.refused = refused
        """How many further connections are refused."""
        self.hung_up = hung_up
        """How many further requests are read and then nothing is answered."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self.refused:
            self.refused -= 1
            raise httpx2.ConnectError("Connection refused", request=request)
        if self.hung_up:
            self.hung_up -= 1
            raise httpx2.RemoteProtocolError("Server disconnected", request=request)
        content = await request.aread()
        head: list[dict[str, Any]] = []
        pieces: list[bytes] = []
        is_cut = False

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                head.append(message)
            else:
                pieces.append(message["body"])

        scope = {
            "type": "http",
            "method": request.method,
            "path": request.url.path,
            "raw_path": request.url.raw_path.split(b"?")[0],
            "query_string": request.url.query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
        }
        try:
            await self.app(scope, receive, send)
        except LineCut:
            is_cut = True
        return httpx2.Response(
            head[0]["status"], headers=head[0]["headers"], stream=_Pieces(pieces, is_cut=is_cut)
        )


class _Pieces(httpx2.AsyncByteStream):
    def __init__(self, pieces: Sequence[bytes], *, is_cut: bool) -> None:
        self._pieces = pieces
        self._is_cut = is_cut

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        if self._is_cut:
            raise httpx2.ReadError("Connection reset by peer")
