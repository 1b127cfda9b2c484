"""An engine behind HTTP. A broken line is taken up again where it broke."""

import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import anyio
import httpx2

from toolwright.client.following import Event, ReplayCursor, TurnCursor
from toolwright.client.problems import EngineRefused, EngineUnreachable, StreamLost, WireFault
from toolwright.client.wire import EventReader, understood
from toolwright.tool_calls.json_text import Broken, clipped, parsed

if TYPE_CHECKING:
    from toolwright.client.door import Door

_SILENCE = 60.0
"""Seconds without any byte, heartbeats included, after which a line is taken for broken."""
_FIRST_WAIT = 0.05
_LONGEST_WAIT = 5.0
_CLOCK_SLACK = 2_000
"""Milliseconds by which a turn may begin before its answer says what time it is; dates have no fractions."""
_PASSING = frozenset({429, 502, 503, 504})
"""Answers that a server gives while it is being restarted."""
_MOST_ERROR = 1024 * 1024
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
"""What fails like this never reached anybody."""
_HINTS = {"INVALID_KEY": "Set ENGINE_KEY, or give api_key.", "HITL_REQUIRED": "Answer it with respond()."}


class _Broken(Exception):
    """The line broke, or its end came too early."""


class HttpDoor:
    """``Door`` to a server. ``patience``: seconds without any news after which a broken line is given up."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        patience: float = 60.0,
        transport: httpx2.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._patience = patience
        self._sleep = sleep
        self._seen: dict[str, int] = {}
        """By task: the stamp of the last event that was seen of it."""
        self._client = httpx2.AsyncClient(
            base_url=self._base_url,
            headers={"X-Engine-Key": api_key} if api_key else {},
            timeout=httpx2.Timeout(_SILENCE, connect=10.0),
            transport=transport,
        )

    async def close(self) -> None:
        await self._client.aclose()

    # --- a turn ---------------------------------------------------------------------------------

    async def execute(self, body: Mapping[str, Any]) -> AsyncGenerator[Event]:
        task_id = body["task_id"]
        turn = TurnCursor(task_id, after=self._seen.get(task_id, 0))
        line = _Line("POST", "/execute", body)
        try:
            async with aclosing(self._new(line, turn)) as events:
                async for event in events:
                    yield event
        except _Broken as broken:
            if line.head is None:
                raise StreamLost(
                    f"{broken} It is not known whether the turn has begun: look with "
                    f"replay(task_id={task_id!r}) before it is asked for again.",
                    task_id=task_id,
                    after=turn.last,
                ) from None
        if line.head is not None:
            turn.learn(turn_id=line.head.get("X-Turn-Id", ""), since=_began(line.head))
        async with aclosing(self._resumed(turn)) as events:
            async for event in events:
                yield event

    async def _resumed(self, turn: TurnCursor) -> AsyncGenerator[Event]:
        """Go on with a turn whose line broke, as often as that is needed."""
        patience = _Patience(self._patience, self._sleep)
        while not turn.is_over:
            before, why = turn.last, "The engine knows of no more."
            try:
                async with aclosing(self._new(_replaying(turn.last, turn.task_id), turn)) as events:
                    async for event in events:
                        yield event
                if turn.has_failed:
                    return  # and nothing is said about it behind that
            except (_Broken, EngineUnreachable, EngineRefused) as problem:
                if isinstance(problem, EngineRefused) and problem.status not in _PASSING:
                    raise
                why = str(problem)
            await _waited(turn, patience, why, has_news=turn.last > before)

    async def replay(self, after: int, task_id: str | None) -> AsyncGenerator[Event]:
        cursor, patience = ReplayCursor(after), _Patience(self._patience, self._sleep)
        while True:
            before = cursor.last
            try:
                async with aclosing(self._new(_replaying(cursor.last, task_id), cursor)) as events:
                    async for event in events:
                        yield event
                return
            except _Broken as broken:
                if not await patience.is_left(has_news=cursor.last > before):
                    raise StreamLost(
                        f"the replay broke off: {broken}", task_id=task_id or "", after=cursor.last
                    ) from None

    async def _new(self, line: "_Line", cursor: TurnCursor | ReplayCursor) -> AsyncGenerator[Event]:
        """Yield what one line brings that was not seen yet. Raises _Broken when it breaks."""
        reader = EventReader()
        async with self._opened(line) as response:
            async for piece in response.aiter_bytes():
                for sent in reader.feed(piece):
                    event = cursor.take(understood(sent))
                    if event is not None:
                        self._note(event)
                        yield event

    def _note(self, event: Event) -> None:
        stamp, task_id = event.get("ts"), event.get("task_id")
        if isinstance(stamp, int) and isinstance(task_id, str):
            self._seen[task_id] = max(stamp, self._seen.get(task_id, 0))

    # --- anything else ----------------------------------------------------------------------------

    async def ask(self, method: str, path: str, *, body: Mapping[str, Any] | None = None) -> Any:
        try:
            async with self._opened(_Line(method, path, body, is_stream=False)) as response:
                content = await response.aread()
        except _Broken as broken:
            raise EngineUnreachable(
                f"{broken} It is not known whether {method} {path} was carried out."
            ) from None
        try:
            return json.loads(content, parse_constant=_refused)
        except (ValueError, RecursionError) as problem:
            raise WireFault(f"{method} {path} was answered with what is no JSON: {problem}") from problem

    @asynccontextmanager
    async def _opened(self, line: "_Line") -> AsyncIterator[httpx2.Response]:
        """Ask. Raises EngineRefused for an error, _Broken for a line that breaks now or later."""
        content = None if line.body is None else json.dumps(line.body, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json"} if content is not None else {}
        try:
            async with self._client.stream(
                line.method, line.path, content=content, headers=headers
            ) as response:
                line.head = response.headers
                if not response.is_success:
                    raise _refusal(response, await response.aread())
                kind = response.headers.get("Content-Type", "")
                if line.is_stream and not kind.startswith("text/event-stream"):
                    raise WireFault(f"{line.path} was answered with {kind or 'nothing'}, not with events.")
                yield response
        except _NEVER_SENT as problem:
            raise EngineUnreachable(
                f"nobody answers at {self._base_url} ({_said(problem)}). "
                "Is it served there? ENGINE_URL or base_url says where."
            ) from problem
        except httpx2.TransportError as problem:
            raise _Broken(f"The line to {self._base_url} broke ({_said(problem)}).") from problem


@dataclass(slots=True)
class _Line:
    """One request, and the head of its answer once that is there."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    is_stream: bool = True
    head: Mapping[str, str] | None = None


class _Patience:
    """How long a line that breaks again and again is taken up again."""

    def __init__(self, seconds: float, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._seconds = seconds
        self._sleep = sleep
        self._since = time.monotonic()
        self._tries = 0

    async def is_left(self, *, has_news: bool) -> bool:
        """Wait before the next try; False when there is none. News begin the count anew."""
        if has_news:
            self._since, self._tries = time.monotonic(), 0
        wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(self._tries, 10))
        if time.monotonic() + wait - self._since > self._seconds:
            return False
        self._tries += 1
        await self._sleep(wait)
        return True


async def _waited(turn: TurnCursor, patience: _Patience, why: str, *, has_news: bool) -> None:
    """Wait before a turn that is not over is asked for again. Raises StreamLost when it is given up."""
    if turn.is_over or await patience.is_left(has_news=has_news):
        return
    raise StreamLost(
        f"the turn of task {turn.task_id!r} could not be followed to its end: {why} "
        f"It may still run: replay(after={turn.last}, task_id={turn.task_id!r}).",
        task_id=turn.task_id,
        after=turn.last,
    )


def _replaying(after: int, task_id: str | None) -> _Line:
    query = {"after": str(after)} if task_id is None else {"after": str(after), "task_id": task_id}
    return _Line("GET", f"/execute/replay?{urlencode(query)}")


def _began(head: Mapping[str, str]) -> int:
    """The stamp from which on a turn can have begun whose answer has this head; 0 where it does not say."""
    try:
        at = parsedate_to_datetime(head.get("Date", "")).timestamp()
    except ValueError:
        return 0
    return int(at * 1000) - _CLOCK_SLACK


def _said(problem: Exception) -> str:
    return str(problem) or type(problem).__name__


def _refusal(response: httpx2.Response, content: bytes) -> EngineRefused:
    body = parsed(content[:_MOST_ERROR].decode("utf-8", "replace"))
    status = response.status_code
    if isinstance(body, Broken) or not isinstance(body.get("error"), str):
        said = clipped(content[:1000].decode("utf-8", "replace"), 200) or "nothing"
        return EngineRefused(f"HTTP_{status}", f"the answer is not that of an engine: {said}", status=status)
    details = body.get("details")
    return EngineRefused(
        body["error"],
        str(body.get("message", "")),
        status=status,
        details=details
        if isinstance(details, dict)
        else {k: v for k, v in body.items() if k not in {"error", "message"}},
        hint=_HINTS.get(body["error"], ""),
    )


def _others(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool says of its own about a failure, such as ``retry_after``."""
    return {name: value for name, value in body.items() if name not in {"error", "message"}}


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number")


if TYPE_CHECKING:
    _: Door = HttpDoor("", "")
