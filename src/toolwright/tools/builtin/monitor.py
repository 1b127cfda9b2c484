"""Watch what a command prints, or what a WebSocket says."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import anyio.to_thread

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.events import TaskChanged
from toolwright.contracts.network import WebSockets
from toolwright.contracts.ports import EventSink, Process
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
from toolwright.contracts.view import Line, Text, View
from toolwright.tools.commands.following import ended_with_call
from toolwright.tools.commands.listening import ListeningProcess
from toolwright.tools.commands.printed import plain
from toolwright.tools.commands.setup import CommandSetup, require_background, setup_of
from toolwright.tools.commands.state import BASH, ShellFolder
from toolwright.tools.commands.traits import nul_objection
from toolwright.tools.commands.view import command_view
from toolwright.tools.commands.watching import WatchedProcess
from toolwright.tools.define import ToolClass, described
from toolwright.tools.fields import Field
from toolwright.tools.services import Services
from toolwright.workspaces.urls import LONGEST_URL, parse_url

_NO_WS: Final = "WebSockets cannot be watched here."
_SCHEMES: Final = ("ws", "wss")
_FILTERED: Final = 'set -o pipefail; "${@:2}" | exec grep --line-buffered -E -e "$1"'
"""Filtering is left to a program in the sandbox, whose time for a bad pattern is its own."""


Protocol = Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$")]


@dataclass(frozen=True, slots=True)
class Feed:
    """A WebSocket to listen to."""

    url: Annotated[
        str,
        Field(
            "Address of the socket. Example: `wss://example.com/feed`.", min_length=1, max_length=LONGEST_URL
        ),
    ]
    protocols: Annotated[
        Annotated[list[Protocol], Field(max_length=10)] | None,
        Field("Subprotocols to offer, the preferred one first. Example: `mqtt`."),
    ] = None


class Monitor(ToolClass):
    spec = described(
        __file__,
        name="monitor",
        aliases=("Monitor",),
        source="builtin",
        category="agent_task",
        defer=True,
        result_limit=5_000,
        feature="monitor",
        clamped=frozenset({"timeout_ms"}),
        search_hint="watch monitor follow log lines notify wait for event",
    )

    def __init__(
        self, setup: CommandSetup, sink: EventSink | None, web_sockets: WebSockets | None = None
    ) -> None:
        self._setup = setup
        self._sink = sink
        self._web_sockets = web_sockets
        self._folder = ShellFolder(os.path.join(setup.session_dir, "shell"))

    def traits(self, input: Input) -> Traits:
        if input.get("ws"):
            host = _host_of(input["ws"])
            return Traits(open_world=True, touches=(Touch("host", host),) if host else None)
        return replace(self._setup.traits(input.get("command") or "", alone=True), read_only=False)

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        del ctx
        require_background(self._setup)
        if bool(input.get("ws")) == bool(input.get("command")):
            return Objection("invalid", "Give either a command or ws.", code="invalid_input")
        if input.get("ws"):
            return self._judged_feed(input)
        return nul_objection(input["command"] + (input.get("filter") or ""))

    async def run(
        self,
        ctx: CallContext,
        *,
        command: Annotated[str, Field(min_length=1, max_length=100_000)] | None = None,
        ws: Feed | None = None,
        description: Annotated[str, Field(max_length=500)] = "",
        timeout_ms: Annotated[int, Field(ge=1, le=3_600_000)] = 300_000,
        persistent: bool = False,
        filter: Annotated[str, Field(min_length=1, max_length=1000)] | None = None,
    ) -> Outcome:
        if ws is not None:
            process, what = await self._listening(ws), ws.url
        else:
            process, what = await self._started(ctx, command or "", filter), command or ""
        seconds = None if persistent else timeout_ms / 1000
        watched = WatchedProcess(process, self._setup.clock, seconds=seconds)
        async with ended_with_call(watched):
            task_id = await self._setup.background.adopt(
                watched, kind="monitor", description=(description or what)[:200]
            )
        watched.announce_to(lambda text: self._announce(task_id, text))
        until = "until it is stopped" if persistent else f"for {timeout_ms / 1000:g} s"
        data = {"task_id": task_id, "timeout_ms": timeout_ms, "persistent": persistent}
        return Done(f"Watching as {task_id} {until}. Lines arrive as notifications.", data=data)

    def view(self, call: CallState) -> View:
        view = command_view(call, title="Monitor")
        view = replace(view, activity=f"Watching: {view.activity or _url_of(call.input)}")
        if call.input.get("ws"):
            view = replace(view, use=Line((Text("ws", "dim"), Text(f" {_url_of(call.input)}"))))
        if not isinstance(call.outcome, Done):
            return view
        return replace(view, summary=f"watching as {call.outcome.data['task_id']}")

    def _judged_feed(self, input: Input) -> Objection:
        """A person decides about every WebSocket, whatever rules and modes say."""
        if self._web_sockets is None:
            return Objection("invalid", _NO_WS, code="unsupported")
        if input.get("filter"):
            message = "A filter works on what a command prints, not on a WebSocket."
            return Objection("invalid", message, code="unsupported")
        try:
            host = parse_url(input["ws"]["url"], schemes=_SCHEMES).host
        except ToolFailure as refused:
            return Objection("invalid", refused.message, code=refused.code, hint=refused.hint)
        return Objection("ask", f"A WebSocket to {host} would be opened.", firm=True)

    async def _listening(self, feed: Feed) -> Process:
        if self._web_sockets is None:
            raise ToolFailure("unsupported", _NO_WS)
        return ListeningProcess(await self._web_sockets.open(feed.url, feed.protocols or ()))

    async def _started(self, ctx: CallContext, command: str, filter: str | None) -> Process:
        if filter is not None:
            await self._check_filter(ctx, filter)
        await anyio.to_thread.run_sync(self._folder.prepare)
        argv = BASH if filter is None else ("bash", "-c", _FILTERED, "bash", filter, *BASH)
        return await self._setup.sandbox.start(
            self._setup.command(
                ctx.workspace,
                argv,
                env=self._folder.run().env,
                stdin=command.encode(),
                writable=(self._folder.path,),
                merge_stderr=False,
            )
        )

    async def _check_filter(self, ctx: CallContext, filter: str) -> None:
        """Let grep read the pattern; nothing is matched against it."""
        command = self._setup.reading_command(ctx.workspace, ("grep", "-E", "-e", filter))
        process = await self._setup.sandbox.start(command)
        async with ended_with_call(process):
            end = await process.wait()
        if end.code not in {0, 1}:
            said = plain(process.errors()).strip()
            raise ToolFailure("validation_failed", f"The filter is no extended regular expression: {said}")

    def _announce(self, task_id: str, text: str) -> None:
        if self._sink is not None:
            self._sink.observe(TaskChanged(task_id=task_id, kind="monitor", status="running", text=text))


def _url_of(input: Input) -> str:
    """The URL of a call that may be unfinished."""
    feed = input.get("ws")
    url = feed.get("url") if isinstance(feed, Mapping) else None
    return url if isinstance(url, str) else ""


def _host_of(feed: Mapping[str, Any]) -> str:
    try:
        return parse_url(str(feed.get("url", "")), schemes=_SCHEMES).host
    except ToolFailure:
        return ""


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    return Monitor(setup_of(services, options), services.sink, services.web_sockets)
