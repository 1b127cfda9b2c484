"""The library's own dispatcher, which also tells its end and forgives one broken definition of many."""

import logging
from collections.abc import Mapping
from typing import Any, Final

import anyio
from anyio.abc import TaskStatus
from mcp.shared.dispatcher import CallOptions, OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import ListToolsResult, RequestId
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from toolwright.tools.mcp.sdk.ending import Ending
from toolwright.tools.mcp.sdk.streams import Metered, Streams
from toolwright.tools.mcp.texts import one_line

log = logging.getLogger(__name__)
_LIST: Final = "tools/list"


class WatchedDispatcher(JSONRPCDispatcher):
    """Over the streams of one transport."""

    def __init__(self, streams: Streams, ending: Ending) -> None:
        super().__init__(Metered(streams.read), streams.write, on_stream_exception=self._garbage)
        self._ending = ending
        self.version = LATEST_HANDSHAKE_VERSION
        """Set once it is agreed on."""
        self.forgiving = False
        """Whether tools whose definition is none are taken out of lists before anybody stumbles over them."""
        self.left_out: list[str] = []
        """Those tools, in words; emptied by whoever reads it."""

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        try:
            await super().run(on_request, on_notify, on_notify_intercept, task_status=task_status)
        finally:
            self._ending.end()

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,
        *,
        _related_request_id: RequestId | None = None,
    ) -> dict[str, Any]:
        raw = await super().send_raw_request(method, params, opts, _related_request_id=_related_request_id)
        return self._sound(raw) if self.forgiving and method == _LIST else raw

    def _sound(self, raw: dict[str, Any]) -> dict[str, Any]:
        """A page of tools without those whose definition is none."""
        tools = raw.get("tools")
        if not isinstance(tools, list):
            return raw
        kept = []
        for tool in tools:
            problem = self._problem({**raw, "tools": [tool]})
            if problem is None:
                kept.append(tool)
            else:
                name = tool.get("name") if isinstance(tool, dict) else None
                self.left_out.append(f"{one_line(str(name), 80)}: {problem}")
        return {**raw, "tools": kept}

    def _problem(self, raw: dict[str, Any]) -> str | None:
        try:
            validate_server_result(_LIST, self.version, raw)
            ListToolsResult.model_validate(raw, by_name=False)
        except KeyError:
            return None
        except ValidationError as problem:
            first = problem.errors(include_input=False, include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"][2:])
            return one_line(f"{where}: {first['msg']}", 200)
        return None

    @staticmethod
    async def _garbage(problem: Exception) -> None:
        log.debug("a server sent what is no message: %s", type(problem).__name__)
