"""An egress that never leaves the process: answers by URL, and remembers what was asked."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from toolwright.backends.egress.gate import Judge
from toolwright.backends.egress.guarded import check_request
from toolwright.backends.egress.redirects import Hop, follow
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import Egress, WebRequest, WebResponse

Answer = WebResponse | ToolFailure | Callable[[WebRequest], WebResponse]


class MemoryEgress:
    """``Egress`` from a table. Judges by name and follows redirects as the guarded one does."""

    def __init__(self, judge: Judge, answers: Mapping[str, Answer]) -> None:
        self._judge = judge
        self._answers = dict(answers)
        self.requests: list[WebRequest] = []
        """Every request that would have gone out, one for each hop."""
        self.closed = False

    async def send(self, request: WebRequest) -> WebResponse:
        check_request(request)
        return await follow(self._judge, request, partial(self._exchange, request))

    async def close(self) -> None:
        self.closed = True

    async def _exchange(self, request: WebRequest, hop: Hop) -> WebResponse:
        sent = replace(request, url=hop.url.url, method=hop.method, headers=hop.headers, body=hop.body)
        self.requests.append(sent)
        answer = self._answers.get(sent.url)
        if answer is None:
            raise ToolFailure("network_error", f"Nothing answers at {sent.url}", retryable=True)
        if isinstance(answer, ToolFailure):
            raise answer
        found = answer if isinstance(answer, WebResponse) else answer(sent)
        found = replace(found, url=sent.url)
        if len(found.body) > request.max_bytes:
            return replace(found, body=found.body[: request.max_bytes], truncated=True)
        return found


if TYPE_CHECKING:

    def _conforms(egress: MemoryEgress) -> Egress:
        return egress
