"""The client itself: what an engine can be asked for, one method each."""

import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack
from weakref import WeakSet

from toolwright.client.directories import Assets, Skills
from toolwright.client.door import Door
from toolwright.client.events import Event, Events
from toolwright.client.in_loop import OwnLoop, Pump
from toolwright.contracts.errors import NotPossible

if TYPE_CHECKING:
    from toolwright.contracts.models import ModelProvider
    from toolwright.surfaces.engine import EngineOptions

DEFAULT_URL = "http://127.0.0.1:8000"
_CLOSED = "this client is closed: make another one"


class TurnOptions(TypedDict, total=False):
    """Further fields of a turn."""

    media: list[dict[str, Any]]
    """Images and documents, as content blocks."""
    direct: bool
    """Without a planning step."""
    agent: str
    edit_message_id: str
    """Say this in place of an earlier message; what came after it is dropped."""
    retry_message_id: str
    super_thinking: bool


class EngineClient:
    """An engine behind the Engine API. Blocking; a context, or closed with ``close``.

    ``base_url`` and ``api_key`` are those of the variables ``ENGINE_URL`` and ``ENGINE_KEY`` unless they are
    given. ``patience`` is how many seconds a broken line is taken up again without any news. What goes wrong
    is an ``EngineClientError``. May be used by several threads at once.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        patience: float = 60.0,
        door: Door | None = None,
    ) -> None:
        self._url = base_url or os.environ.get("ENGINE_URL") or DEFAULT_URL
        self._key = api_key if api_key is not None else os.environ.get("ENGINE_KEY", "")
        self._patience = patience
        self._given = door
        self._door: Door | None = None
        self._loop = OwnLoop()
        self._pumps: WeakSet[Pump[Event]] = WeakSet()
        self._is_closed = False
        self.skills = Skills(self._asked)
        self.assets = Assets(self._asked)

    @classmethod
    def local(
        cls,
        model: "ModelProvider | str" = "",
        *,
        workspace: "str | os.PathLike[str] | None" = None,
        **more: "Unpack[EngineOptions]",
    ) -> Self:
        """Return a client of an engine in this process. The words are those of ``toolwright.Engine``.

        Tools are offered under the names of this API (``read_file``) and sessions kept in memory, unless
        ``settings`` and ``durable`` say otherwise. It knows turns, replay and questions; the rest a server.
        """
        from toolwright.client.local import LocalDoor
        from toolwright.surfaces.engine import Engine

        given = dict(more.get("settings") or {})
        more["settings"] = {**given, "tools": {"toolset": "engine", **given.get("tools", {})}}
        more.setdefault("durable", False)
        return cls(door=LocalDoor(lambda: Engine(model=model, workspace=workspace, **more)))

    # --- turns ----------------------------------------------------------------------------------

    def execute(self, message: str = "", *, task_id: str, **more: Unpack[TurnOptions]) -> Events:
        """Say something to a task and return its events, which are read as they come.

        Raises EngineRefused where the engine takes no turn; a turn
        that fails later ends with an event ``error``. A broken line is taken up where it broke.
        """
        body = _body(message, task_id, more)
        return Events(self._read(lambda: self._opened.execute(body))).begin()

    async def aexecute(
        self, message: str = "", *, task_id: str, **more: Unpack[TurnOptions]
    ) -> AsyncGenerator[Event]:
        """The same for a program with an event loop: yields the events as they come."""
        body = _body(message, task_id, more)
        pump = self._read(lambda: self._opened.execute(body))
        try:
            while True:
                try:
                    event = await pump.anext()
                except StopAsyncIteration:
                    return
                yield event
        finally:
            pump.close()

    def replay(self, after: int = 0, *, task_id: str | None = None) -> Events:
        """Return what was emitted behind a stamp, of one task or of all; follows turns that still run."""
        return Events(self._read(lambda: self._opened.replay(after, task_id))).begin()

    def cancel(self, task_id: str) -> Any:
        """Stop the turn that runs on a task."""
        return self._asked("POST", "/execute/cancel", {"task_id": task_id})

    # --- questions --------------------------------------------------------------------------------

    def respond(
        self,
        task_id: str,
        answer: str,
        *,
        feedback: str | None = None,
        content_blocks: Iterable[Mapping[str, Any]] = (),
        request_id: str | None = None,
    ) -> Any:
        """Answer what a task waits for: ``yes`` or ``no`` to a permission, words to a question."""
        body: dict[str, Any] = {"task_id": task_id, "answer": answer}
        if feedback is not None:
            body["feedback"] = feedback
        blocks = [dict(block) for block in content_blocks]
        if blocks:
            body["content_blocks"] = blocks
        if request_id is not None:
            body["request_id"] = request_id
        return self._asked("POST", "/hitl/respond", body)

    def pending(self) -> list[dict[str, Any]]:
        """Return everything that waits for an answer, of all tasks."""
        found: list[dict[str, Any]] = self._asked("GET", "/hitl/pending")["pending"]
        return found

    # --- the rest ---------------------------------------------------------------------------------

    def rpc(self, method: str, params: Mapping[str, Any] | None = None, *, task_id: str | None = None) -> Any:
        """Call one tool or skill without a model: ``tool.<name>`` or ``skill.<name>``. Returns its result.

        Raises EngineRefused with the tool's own code where it fails.
        """
        body: dict[str, Any] = {"method": method, "params": dict(params or {})}
        if task_id is not None:
            body["task_id"] = task_id
        return self._asked("POST", "/rpc", body)["result"]

    def reload_catalog(self) -> dict[str, Any]:
        """Let the engine read its catalog anew; returns what changed and what could not be read."""
        found: dict[str, Any] = self._asked("POST", "/admin/reload-catalog", {})
        return found

    def tools(self) -> Any:
        """Return the tools that there are."""
        return self._asked("GET", "/tools")

    def health(self) -> dict[str, Any]:
        """Return whether the engine is well; needs no key."""
        found: dict[str, Any] = self._asked("GET", "/health")
        return found

    # --- opening and closing ------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of everything. Turns go on, and can be read with ``replay``. Safe to repeat."""
        self._is_closed = True  # a generator that begins from now on is told so
        for pump in list(self._pumps):
            pump.close()
        door, self._door = self._door, None
        if door is not None:
            self._loop.call(door.close)
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _read(self, make: Callable[[], AsyncGenerator[Event]]) -> Pump[Event]:
        if self._is_closed:
            raise NotPossible(_CLOSED)
        pump = Pump(self._loop, make)
        self._pumps.add(pump)
        return pump

    @property
    def _opened(self) -> Door:
        """The door, made in the loop that it is used in."""
        if self._door is None:
            if self._given is not None:
                self._door = self._given
            else:
                from toolwright.client.http_door import HttpDoor

                self._door = HttpDoor(self._url, self._key, patience=self._patience)
        return self._door

    def _asked(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        if self._is_closed:
            raise NotPossible(_CLOSED)
        return self._loop.call(lambda: self._opened.ask(method, path, body=body))


def _body(message: str, task_id: str, more: TurnOptions) -> dict[str, Any]:
    return {"message": message, "task_id": task_id, **more}
