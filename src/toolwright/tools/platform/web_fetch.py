"""Fetch one page and return its text."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

from toolwright.contracts.content import text_of
from toolwright.contracts.tool import (
    CallContext,
    CallState,
    Done,
    Input,
    Objection,
    Outcome,
    Tool,
    ToolSpec,
    Traits,
)
from toolwright.contracts.view import View
from toolwright.tools.builtin import web_fetch
from toolwright.tools.define import ToolClass
from toolwright.tools.fields import Field
from toolwright.tools.generic_view import generic_view
from toolwright.tools.services import Services

_MOST: Final = 100_000


class FetchPage(ToolClass):
    """The built-in fetch, always as text, no longer than asked for."""

    spec = ToolSpec(
        name="web_fetch",
        description="Fetch a page.",
        input_schema={},
        source="catalog",
        category="network",
        result_limit=110_000,
    )

    def __init__(self, fetch: Tool) -> None:
        self._fetch = fetch

    def traits(self, input: Input) -> Traits:
        return self._fetch.traits({"url": input["url"]})

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        return await self._fetch.check({"url": input["url"]}, ctx)

    async def run(
        self,
        ctx: CallContext,
        *,
        url: Annotated[str, Field(min_length=1, max_length=4_000)],
        max_chars: Annotated[int, Field(ge=100, le=_MOST)] = 20_000,
    ) -> Outcome:
        outcome = await self._fetch.call({"url": url}, ctx)
        if not isinstance(outcome, Done):
            return outcome
        text = text_of(outcome.content)
        if isinstance(outcome.content, str) and len(text) > max_chars:
            more = f"[{len(text) - max_chars:,} characters more; raise max_chars to see them.]"
            text = f"{text[:max_chars]}\n{more}"
            return replace(outcome, content=text, data=text)
        return replace(outcome, data=text)

    def view(self, call: CallState) -> View:
        return generic_view(self.spec, call)


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool."""
    return FetchPage(web_fetch.build(services, options))
