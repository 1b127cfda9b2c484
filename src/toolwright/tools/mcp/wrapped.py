"""A tool of a server under the same contract as all tools. What its server promises of it are hints."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from toolwright.contracts.content import Content, TextBlock
from toolwright.contracts.errors import DefinitionError, ToolFailure
from toolwright.contracts.mcp import CallAnswer, ListedTool, McpFault, McpProgress, ServerDefinition
from toolwright.contracts.tool import (
    CallContext,
    CallState,
    Done,
    Failed,
    Input,
    McpOrigin,
    Objection,
    Outcome,
    Progress,
    Schema,
    ToolSpec,
    Traits,
)
from toolwright.contracts.view import View
from toolwright.tools.generic_view import generic_view
from toolwright.tools.mcp import decisions
from toolwright.tools.mcp.calling import NotReady
from toolwright.tools.mcp.decisions import Told
from toolwright.tools.mcp.guests import Guest
from toolwright.tools.mcp.keeper import Keeper
from toolwright.tools.mcp.parts import Reader
from toolwright.tools.mcp.pinning import HeldBack, digest, pin_of
from toolwright.tools.mcp.schemas import normal
from toolwright.tools.mcp.texts import DESCRIPTION, cleaned, cleaned_words, one_line
from toolwright.tools.outcomes import json_text
from toolwright.tools.untrusted import wrapped

log = logging.getLogger(__name__)
_VENDOR: Final = "anthropic/"
"""Marks of tools that are in use elsewhere are understood here too."""
_MOST_RESULT: Final = 500_000
_TOKEN: Final = 4
"""Characters that count as one token."""
_MOST_SHOWN: Final = 100

Check = Callable[[Schema], None]
"""Raises DefinitionError for a schema that could not be used to validate calls."""
Fit = Callable[[Any], str]
"""Says what is wrong with a value, nothing when it fits."""
Fitting = Callable[[Schema], Fit]
"""Makes such of a schema. Raises DefinitionError for one that cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapping:
    """What wrapped tools need beyond their server."""

    reader: Reader
    check_schema: Check
    fitting: Fitting
    max_output_tokens: int = 25_000
    introduce: Callable[[], str] = str
    """What is said of the server with its first result; empty when it was said before."""

    def introduced_by(self, introduce: Callable[[], str]) -> "Wrapping":
        """The same for a server that has something to say of itself."""
        return replace(self, introduce=introduce)


class McpTool:
    """One tool. What a call of it does, its server does."""

    def __init__(
        self,
        name: str,
        listed: ListedTool,
        keeper: Keeper,
        *,
        guest: Guest,
        wrapping: Wrapping,
    ) -> None:
        """``listed`` is the definition that was accepted. May raise DefinitionError: it cannot be offered."""
        self.spec = spec_of(listed, keeper.server, name, wrapping)
        self._keeper = keeper
        self._guest = guest
        self._wrapping = wrapping
        self._tool = listed.name
        self._traits = traits_of(listed, keeper.server)
        self._fit: Fit | None = None
        self._shown: dict[str, str] = {}
        """By call: the changed definition that a person was asked about."""

    def traits(self, input: Input) -> Traits:
        del input
        return self._traits

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        """A tool that is not any more what was accepted runs only once a person has seen the change."""
        del input
        held = self._held_back
        if held is None:
            return None
        self._remember(ctx.call_id, digest(pin_of(held.now)))
        server = self._keeper.server.name
        message = f"The MCP server {server} changed this tool since it was accepted.\n{held.difference}"
        return Objection("ask", message, firm=True)

    @property
    def _held_back(self) -> HeldBack | None:
        """What became of the tool since it was accepted, right now."""
        held = self._keeper.tools.held_back
        return next((one for one in held if one.now.name == self._tool), None)

    def _remember(self, call_id: str, shown: str) -> None:
        while len(self._shown) >= _MOST_SHOWN:
            del self._shown[next(iter(self._shown))]
        self._shown[call_id] = shown

    async def call(self, input: Input, ctx: CallContext) -> Outcome:
        held, shown = self._held_back, self._shown.pop(ctx.call_id, "")
        if held is not None:
            if shown != digest(pin_of(held.now)):
                return _changed_meanwhile(self._keeper.server.name)
            await self._keeper.accept(self._tool)  # whoever approved this call has seen the change

        def report(progress: McpProgress) -> None:
            ctx.report(progress_of(progress))

        try:
            answer = await self._keeper.use(
                self._guest,
                lambda connection, heard: connection.call_tool(self._tool, input, on_progress=heard),
                on_progress=report,
                call_id=ctx.call_id,
            )
        except NotReady as absence:
            return _failed(absence.told)
        except McpFault as fault:
            return _failed(decisions.told_fault(self._keeper.server.name, fault))
        return await self._outcome(answer)

    def view(self, call: CallState) -> View:
        return generic_view(self.spec, call)

    async def _outcome(self, answer: CallAnswer) -> Outcome:
        content = await self._content(answer)
        if answer.is_error:
            said = content if isinstance(content, str) else ""
            message = one_line(said, 200) or "The tool failed and gave no reason."
            return Failed("mcp_error", message, content=content or None, data=answer.structured)
        introduced = self._wrapping.introduce()
        return Done(
            content,
            data=answer.structured,
            details=self._details(answer),
            notes=(introduced,) if introduced else (),
        )

    async def _content(self, answer: CallAnswer) -> Content:
        parts = answer.parts
        if answer.structured is not None and not any(part.kind == "text" for part in parts):
            text = json_text(answer.structured)
            rest = await self._wrapping.reader.content(parts)
            if isinstance(rest, str):
                return f"{text}\n{rest}" if rest else text
            return (TextBlock(text), *rest)
        return await self._wrapping.reader.content(parts)

    def _details(self, answer: CallAnswer) -> Mapping[str, Any]:
        details: dict[str, Any] = {}
        if answer.meta:
            details["mcp_meta"] = dict(answer.meta)
        problem = self._misfit(answer.structured)
        if problem:
            log.warning(
                "MCP tool %s answered what its own schema does not allow: %s", self.spec.name, problem
            )
            details["output_misfit"] = problem
        return details

    def _misfit(self, structured: Any) -> str:
        schema = self.spec.output_schema
        if schema is None:
            return ""
        if structured is None:
            return "it has an output schema and answered nothing structured"
        try:
            if self._fit is None:
                self._fit = self._wrapping.fitting(schema)
            return one_line(self._fit(structured), 300)
        except DefinitionError as problem:
            return one_line(f"its output schema cannot be used: {problem}", 300)


# --- making them ------------------------------------------------------------------------------------


def spec_of(listed: ListedTool, server: ServerDefinition, name: str, wrapping: Wrapping) -> ToolSpec:
    """Return the spec of a tool under its canonical name. May raise DefinitionError: it cannot be offered."""
    try:
        shown = normal(listed.input_schema)
    except ValueError as problem:
        raise DefinitionError(str(problem)) from problem
    wrapping.check_schema(listed.input_schema)
    meta = listed.meta
    said = cleaned(listed.description, DESCRIPTION)
    return ToolSpec(
        name=name,
        description=_described(server.name, shown.sentence, said),
        input_schema=shown.schema,
        fits=listed.input_schema,
        output_schema=cleaned_words(listed.output_schema),
        display_name=one_line(listed.title, 80),
        category="mcp",
        source="mcp",
        mcp=McpOrigin(server.name, listed.name, trusted=server.trusted),
        version=digest(pin_of(listed))[:16],
        search_hint=one_line(str(meta.get(f"{_VENDOR}searchHint", "")), 200),
        defer=True,
        always_load=server.always_load or meta.get(f"{_VENDOR}alwaysLoad") is True,
        result_limit=_result_limit(meta.get(f"{_VENDOR}maxResultSizeChars"), wrapping.max_output_tokens),
        timeout=None,
        needs_person=meta.get(f"{_VENDOR}requiresUserInteraction") is True,
    )


def _described(server: str, sentence: str, said: str) -> str:
    """The words of a tool, marked as those of its server."""
    words = " ".join(part for part in (sentence, said) if part)
    return f"[MCP server {server}] {words or 'It says nothing about this tool.'}"


def _result_limit(wanted: Any, tokens: int) -> int:
    if isinstance(wanted, int) and not isinstance(wanted, bool) and wanted > 0:
        return min(wanted, _MOST_RESULT)
    return tokens * _TOKEN


def traits_of(listed: ListedTool, server: ServerDefinition) -> Traits:
    """Return what a tool is taken to promise. Only a trusted server's word spares anybody a question."""
    hints = listed.annotations
    reads = hints.get("readOnlyHint") is True
    destructive = hints.get("destructiveHint")
    return Traits(
        read_only=reads,
        destructive=destructive if isinstance(destructive, bool) else not reads,
        concurrency_safe=reads or server.parallel,
        open_world=hints.get("openWorldHint") is not False,
        pre_approved=reads and server.trusted,
    )


def progress_of(progress: McpProgress) -> Progress:
    """Return what a server says of its progress, as a call reports it."""
    total = progress.total
    fraction = min(max(progress.done / total, 0.0), 1.0) if total is not None and total > 0 else None
    plain = f"{progress.done:g} of {total:g}" if fraction is not None else f"{progress.done:g}"
    return Progress(text=progress.text or plain, fraction=fraction)


def introduction(server: str, instructions: str) -> str:
    """Return what a server says of itself, marked as the words of a stranger; empty when it says nothing."""
    return wrapped(instructions, f"MCP server {server}, about its tools") if instructions else ""


def _changed_meanwhile(server: str) -> Failed:
    return Failed(
        "conflict",
        f"MCP server {server} changed this tool while the call was under way, so it was not made.",
        hint="Make the call again; a person is asked about the change.",
    )


def _failed(told: Told) -> Failed:
    return Failed(
        told.code, told.message, hint=told.hint, retryable=told.retryable, retry_after=told.retry_after
    )


def failure_of(told: Told) -> ToolFailure:
    """Return the failure of a tool of ours that could not reach a server."""
    return ToolFailure(
        told.code, told.message, hint=told.hint, retryable=told.retryable, retry_after=told.retry_after
    )
