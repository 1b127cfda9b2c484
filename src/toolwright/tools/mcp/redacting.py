"""A connection whose server cannot give away what it was shown: every text of it is looked through first.

A server knows the credential it is sent. Whatever it says, in results, lists, errors, news or questions,
passes here before anybody reads it, logs it or keeps it.
"""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from toolwright.contracts.mcp import (
    CallAnswer,
    Elicitation,
    ElicitationAnswer,
    Headers,
    ListedPrompt,
    ListedResource,
    McpConnection,
    McpConnector,
    McpFault,
    McpHost,
    McpNews,
    McpPart,
    McpProgress,
    PromptAnswer,
    Refused,
    SamplingAnswer,
    SamplingRequest,
    ServerDefinition,
    ServerFacts,
    ToolListing,
)
from toolwright.contracts.tool import Input

Value = TypeVar("Value")
Clean = Callable[[Any], Any]
"""Returns a value with all that is secret taken out of its texts."""
_HELD_BACK = "[redacted: this held a credential]"


class RedactingConnector:
    """``McpConnector`` whose connections are looked through."""

    def __init__(self, inner: McpConnector, clean: Clean) -> None:
        self._inner = inner
        self._clean = clean

    async def connect(
        self,
        server: ServerDefinition,
        host: McpHost,
        *,
        headers: Headers | None = None,
        refused: Refused | None = None,
    ) -> McpConnection:
        with _Faults(self._clean):
            seen = _Host(host, self._clean)
            inner = await self._inner.connect(server, seen, headers=headers, refused=refused)
        return _Connection(inner, self._clean)


class _Connection:
    def __init__(self, inner: McpConnection, clean: Clean) -> None:
        self._inner = inner
        self._clean = clean

    @property
    def facts(self) -> ServerFacts:
        facts: ServerFacts = self._clean(self._inner.facts)
        return facts

    async def list_tools(self) -> ToolListing:
        with _Faults(self._clean):
            listing: ToolListing = self._clean(await self._inner.list_tools())
            return listing

    async def call_tool(
        self, name: str, input: Input, *, on_progress: Callable[[McpProgress], None] | None = None
    ) -> CallAnswer:
        def heard(progress: McpProgress) -> None:
            if on_progress is not None:
                on_progress(self._clean(progress))

        with _Faults(self._clean):
            answer = await self._inner.call_tool(name, input, on_progress=heard)
        cleaned: CallAnswer = self._clean(replace(answer, parts=self._parts(answer.parts)))
        return cleaned

    async def list_resources(self) -> Sequence[ListedResource]:
        with _Faults(self._clean):
            return tuple(self._clean(tuple(await self._inner.list_resources())))

    async def read_resource(self, uri: str) -> Sequence[McpPart]:
        with _Faults(self._clean):
            return tuple(self._clean(self._parts(await self._inner.read_resource(uri))))

    async def subscribe(self, uri: str) -> None:
        with _Faults(self._clean):
            await self._inner.subscribe(uri)

    async def unsubscribe(self, uri: str) -> None:
        with _Faults(self._clean):
            await self._inner.unsubscribe(uri)

    async def list_prompts(self) -> Sequence[ListedPrompt]:
        with _Faults(self._clean):
            return tuple(self._clean(tuple(await self._inner.list_prompts())))

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> PromptAnswer:
        with _Faults(self._clean):
            answer = await self._inner.get_prompt(name, arguments)
        messages = tuple(
            replace(message, part=_seen_through(message.part, self._clean)) for message in answer.messages
        )
        cleaned: PromptAnswer = self._clean(replace(answer, messages=messages))
        return cleaned

    async def roots_changed(self) -> None:
        with _Faults(self._clean):
            await self._inner.roots_changed()

    async def ping(self) -> None:
        with _Faults(self._clean):
            await self._inner.ping()

    async def close(self) -> None:
        await self._inner.close()

    def _parts(self, parts: Sequence[McpPart]) -> tuple[McpPart, ...]:
        return tuple(_seen_through(part, self._clean) for part in parts)


class _Host:
    """``McpHost`` that is told and asked nothing a credential stands in."""

    def __init__(self, inner: McpHost, clean: Clean) -> None:
        self._inner = inner
        self._clean = clean

    @property
    def can_elicit(self) -> bool:
        return self._inner.can_elicit

    @property
    def can_sample(self) -> bool:
        return self._inner.can_sample

    def told(self, news: McpNews) -> None:
        self._inner.told(self._clean(news))

    def roots(self) -> Sequence[str]:
        return self._inner.roots()

    async def elicit(self, asked: Elicitation) -> ElicitationAnswer:
        return await self._inner.elicit(self._clean(asked))

    async def sample(self, asked: SamplingRequest) -> SamplingAnswer:
        messages = tuple(
            replace(message, part=_seen_through(message.part, self._clean)) for message in asked.messages
        )
        return await self._inner.sample(self._clean(replace(asked, messages=messages)))


class _Faults:
    """Raises faults again with their texts looked through; what they came from would say it all again."""

    def __init__(self, clean: Clean) -> None:
        self._clean = clean

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, McpFault):
            raise McpFault(
                problem.code,
                self._clean(problem.message),
                error_code=problem.error_code,
                status=problem.status,
                challenge=self._clean(problem.challenge),
                retry_after=problem.retry_after,
            ) from None


def _seen_through(part: McpPart, clean: Clean) -> McpPart:
    """A block whose bytes hold no credential either: one that does is replaced by words."""
    if not part.data:
        return part
    try:
        raw = base64.b64decode(part.data, validate=False)
    except (binascii.Error, ValueError):
        raw = b""  # whoever reads the block says what is wrong with it
    text = raw.decode("latin-1")
    if clean(part.data) == part.data and clean(text) == text:
        return part
    return replace(part, kind="text", data="", media_type="", text=_HELD_BACK)


if TYPE_CHECKING:

    def _connects(connector: RedactingConnector) -> McpConnector:
        return connector

    def _is_connection(connection: _Connection) -> McpConnection:
        return connection

    def _is_host(host: _Host) -> McpHost:
        return host
