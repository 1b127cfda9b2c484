"""What of an outcome the model reads: the only place that knows size limits of results.

A result that is too large is stored whole and replaced by a preview that says how to go on.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from anyio.to_thread import run_sync

from toolwright.contracts.content import Block, Content, ImageBlock, TextBlock, text_of
from toolwright.contracts.ports import Blob, BlobStore
from toolwright.contracts.tool import CallResult, Done, Failed, Offered, StoredResult, ToolSpec
from toolwright.tool_calls.outcomes import with_facts
from toolwright.tool_calls.result_json import json_preview
from toolwright.tool_calls.result_text import (
    Part,
    Preview,
    Unit,
    cleaned,
    excerpt,
    head,
    line_count,
    size,
    stored_block,
    text_preview,
)
from toolwright.tool_calls.texts import error_text

MOST_BLOCKS = 20
_BLOCK_OVERHEAD = 500
"""More than the marker lines of a stored result take; smaller texts gain nothing by being stored."""
_SMALLEST_PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultLimits:
    """Sizes, in characters or (with ``unit="bytes"``) in UTF-8 bytes."""

    max_chars: int = 50_000
    """Ceiling over what each tool asks for itself."""
    preview_chars: int = 2_000
    error_chars: int = 10_000
    turn_budget_chars: int = 200_000
    turn_budget_tokens: int | None = None
    """Another way to say the turn's budget: four characters count as one token."""
    unit: Unit = "chars"

    @property
    def turn_budget(self) -> int:
        if self.turn_budget_tokens is None:
            return self.turn_budget_chars
        return min(self.turn_budget_chars, self.turn_budget_tokens * 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """Names under which the model was offered the tools that can read what was stored."""

    read: str = ""
    search: str = ""

    @property
    def how_to_go_on(self) -> str:
        ways = [f"Read parts of it with {self.read} (offset, limit)"] if self.read else []
        if self.search:
            ways.append(f"search it with {self.search}")
        if not ways:
            return "It is kept in this file."
        sentence = " or ".join(ways)
        return f"{sentence[0].upper()}{sentence[1:]}."


def readers_offered(offered: Offered) -> Readers:
    """Return the names of the tools that this model may read stored results with."""
    names = {tool.tool.spec.name: tool.name for tool in offered.tools if tool.loaded}
    return Readers(read=names.get("read", ""), search=names.get("grep", ""))


class Bounded(NamedTuple):
    """Content that fits, where the whole is kept if it did not, and whether it may be stored later."""

    content: Content
    stored: StoredResult | None
    spills: bool


class _Stored(NamedTuple):
    text: str
    stored: StoredResult | None


class Results:
    """Bounds what the model reads: one result at a time, then all results of a batch together."""

    def __init__(
        self,
        blobs: BlobStore,
        limits: ResultLimits,
        redact: Callable[[str], str],
        *,
        readers: Readers | None = None,
    ) -> None:
        self._blobs = blobs
        self._limits = limits
        self._redact = redact
        self._readers = readers or Readers(read="read", search="grep")

    def reading_with(self, readers: Readers) -> "Results":
        """Return the same limits for a model that knows the reading tools by these names."""
        return Results(self._blobs, self._limits, self._redact, readers=readers)

    # --- one result ---------------------------------------------------------------------------

    async def bounded(
        self, outcome: Done | Failed, spec: ToolSpec, *, call_id: str, tool_name: str = ""
    ) -> Bounded:
        """Return what the model reads of ``outcome``: cleaned, redacted and no longer than allowed.

        Never raises for a store that fails: the model then gets an excerpt and is told so.
        """
        spills = spec.result_limit is not None
        if isinstance(outcome, Failed):
            return Bounded(await self._error(outcome, tool_name or spec.name), None, spills)
        content = outcome.content
        content = self._clean(content) if isinstance(content, str) else await self._clean_blocks(content)
        text = content if isinstance(content, str) else text_of(content)
        if not text or text.isspace():
            return Bounded(_or_nothing_said(content, tool_name or spec.name), None, spills)
        if spec.result_limit is None or self._fits(text, min(spec.result_limit, self._limits.max_chars)):
            return Bounded(content, None, spills)
        kept = await self._store(text, call_id, spec.preview)
        return Bounded(_with_text(content, kept.text), kept.stored, spills)

    async def hook_text(self, text: str, *, name: str, limit: int = 10_000) -> str:
        """Return a text that did not come from a tool, stored and previewed if it is too long."""
        clean = self._clean(text)
        if self._fits(clean, limit):
            return clean
        return (await self._store(clean, name, "head")).text

    def _clean(self, text: str) -> str:
        return self._redact(cleaned(text))

    def _fits(self, text: str, limit: int) -> bool:
        return size(text, self._limits.unit) <= limit

    async def _error(self, failed: Failed, tool_name: str) -> Content:
        content = error_text(failed)
        content = self._clean(content) if isinstance(content, str) else await self._clean_blocks(content)
        text = text_of(content)
        if not text or text.isspace():
            return _or_nothing_said(content, tool_name)
        if self._fits(text, self._limits.error_chars):
            return content
        return _with_text(content, self._excerpt(text))

    async def _clean_blocks(self, blocks: Sequence[Block]) -> Content:
        from toolwright.tool_calls.result_images import fitted

        done: list[Block] = []
        for block in blocks:
            if isinstance(block, TextBlock):
                done.append(TextBlock(self._clean(block.text)))
            elif isinstance(block, ImageBlock):
                done.append(await run_sync(fitted, block))
            else:
                done.append(block)
        return tuple(done) if len(done) <= MOST_BLOCKS else _merged(done)

    async def _store(self, text: str, name: str, part: Part) -> _Stored:
        data, suffix, preview = await run_sync(self._prepared, text, part)
        try:
            blob = await self._blobs.put(name, data, suffix=suffix)
        except OSError as error:
            lost = f"The rest is lost: it could not be stored ({error.strerror or type(error).__name__})."
            return _Stored(f"{self._excerpt(text)}\n{lost}", None)
        stored = _record(blob, text)
        how = f"The output is too large to show in full. {self._readers.how_to_go_on}"
        block = stored_block(
            stored.path, chars=stored.chars, lines=stored.lines, how_to_read=how, preview=preview
        )
        return _Stored(block, stored)

    def _prepared(self, text: str, part: Part) -> tuple[bytes, str, Preview]:
        """Blocking work on a large text."""
        room, unit = self._limits.preview_chars, self._limits.unit
        data = text.encode("utf-8", "replace")
        preview = json_preview(text, room)
        if preview is not None:
            return data, ".json", preview
        return data, ".txt", text_preview(text, room, part, unit)

    def _excerpt(self, text: str) -> str:
        return excerpt(text, self._limits.error_chars // 2, self._limits.unit)

    # --- all results of a batch ---------------------------------------------------------------

    async def bounded_turn(self, results: Sequence[CallResult]) -> tuple[CallResult, ...]:
        """Return the results of one batch, in their order, fitted into the turn's budget.

        The largest are stored first; only then are results that are never stored cut to a page.
        The choice depends on nothing but the results, so it can be recorded and replayed.
        """
        sizes = [self._size(result) for result in results]
        over = sum(sizes) - self._limits.turn_budget
        if over <= 0:
            return tuple(results)
        bounded = list(results)
        largest_first = sorted(range(len(bounded)), key=lambda index: (-sizes[index], index))
        over = await self._spill(bounded, [i for i in largest_first if self._may_spill(bounded[i])], over)
        self._page(
            bounded, [i for i in largest_first if not bounded[i].spills and not bounded[i].is_error], over
        )
        return tuple(bounded)

    def _size(self, result: CallResult) -> int:
        return size(text_of(result.content), self._limits.unit)

    def _may_spill(self, result: CallResult) -> bool:
        return (
            result.spills
            and not result.is_error
            and result.stored is None
            and self._size(result) > self._limits.preview_chars + _BLOCK_OVERHEAD
        )

    async def _spill(self, results: list[CallResult], order: Iterable[int], over: int) -> int:
        for index in order:
            if over <= 0:
                break
            result = results[index]
            kept = await self._store(text_of(result.content), result.call_id, "head")
            facts = {"stored_path": kept.stored.path} if kept.stored is not None else {}
            results[index] = replace(
                result,
                outcome=with_facts(result.outcome, facts),
                content=_with_text(result.content, kept.text),
                stored=kept.stored,
            )
            over -= self._size(result) - self._size(results[index])
        return over

    def _page(self, results: list[CallResult], order: Iterable[int], over: int) -> None:
        for index in order:
            if over <= 0:
                break
            result = results[index]
            text = text_of(result.content)
            room = max(self._size(result) - over - _BLOCK_OVERHEAD, _SMALLEST_PAGE)
            page = head(text, room, self._limits.unit)
            if len(page) == len(text):
                continue
            results[index] = replace(
                result, content=_with_text(result.content, page + _page_notice(result, len(text) - len(page)))
            )
            over -= self._size(result) - self._size(results[index])


def _page_notice(result: CallResult, left_out: int) -> str:
    return (
        f"\n[… {left_out} more characters of this result were left out because all results of this turn "
        f"together are too large. Call {result.offered_name} again for the part after this.]"
    )


def _record(blob: Blob, text: str) -> StoredResult:
    return StoredResult(path=blob.path, chars=len(text), lines=line_count(text), sha256=blob.sha256)


def _or_nothing_said(content: Content, tool_name: str) -> Content:
    """Blank text is worth nothing to a model, but an image without words is."""
    pictures = () if isinstance(content, str) else _without_text(content)
    return pictures or f"({tool_name} finished with no output)"


def _without_text(blocks: Iterable[Block]) -> tuple[Block, ...]:
    return tuple(block for block in blocks if not isinstance(block, TextBlock))


def _with_text(content: Content, text: str) -> Content:
    """Return ``content`` with all its text replaced by ``text``; images stay behind it."""
    if isinstance(content, str):
        return text
    return (TextBlock(text), *_without_text(content))


def _merged(blocks: Sequence[Block]) -> Content:
    """Join neighbouring texts; when that is not enough, join them all."""
    merged: list[Block] = []
    for block in blocks:
        last = merged[-1] if merged else None
        if isinstance(block, TextBlock) and isinstance(last, TextBlock):
            merged[-1] = TextBlock(f"{last.text}\n{block.text}")
        else:
            merged.append(block)
    return tuple(merged) if len(merged) <= MOST_BLOCKS else _with_text(tuple(merged), text_of(tuple(merged)))
