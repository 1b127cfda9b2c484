"""Search the contents of files."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

import anyio.to_thread

from toolwright.contracts.content import text_of
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Touch, Traits
from toolwright.contracts.view import Collapsible, Output, Text, View
from toolwright.tools.content_search import searched
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.file_views import counted
from toolwright.tools.services import Services
from toolwright.workspaces.finding import EXCLUDED, existing, verified
from toolwright.workspaces.names import printable
from toolwright.workspaces.ripgrep import find_ripgrep
from toolwright.workspaces.searching import FileHits, Found, Search, SearchMode, lines_text, page

DEFAULT_HEAD = 250

Lines = Annotated[int, Field(ge=0, le=1000)]


class Grep(ToolClass):
    spec = described(
        __file__,
        name="grep",
        aliases=("Grep", "search_file_content"),
        source="builtin",
        category="core_io",
        always_load=True,
        result_limit=20_000,
        search_hint="search file contents text regular expression ripgrep",
    )

    def __init__(self, *, program: str | None, respect_ignore: bool) -> None:
        self._program = program
        self._respect_ignore = respect_ignore

    def traits(self, input: Input) -> Traits:
        place = Touch("path", input.get("path") or ".")
        return Traits(read_only=True, concurrency_safe=True, touches=(place,))

    async def run(
        self,
        ctx: CallContext,
        *,
        pattern: Annotated[str, Field(min_length=1, max_length=10_000)],
        path: str = ".",
        glob: str | None = None,
        type: str | None = None,
        output_mode: Literal["files_with_matches", "content", "count"] = "files_with_matches",
        ignore_case: Annotated[bool, Field(name="-i")] = False,
        line_numbers: Annotated[bool, Field(name="-n")] = True,
        only_matching: Annotated[bool, Field(name="-o")] = False,
        after: Annotated[Lines, Field(name="-A")] = 0,
        before: Annotated[Lines, Field(name="-B")] = 0,
        around: Annotated[Lines, Field(name="-C")] = 0,
        context: Lines = 0,
        multiline: bool = False,
        head_limit: Annotated[int, Field(ge=0)] = DEFAULT_HEAD,
        offset: Annotated[int, Field(ge=0)] = 0,
    ) -> Outcome:
        both = around or context
        search = Search(
            pattern=pattern,
            mode=output_mode,
            ignore_case=ignore_case,
            only_matching=only_matching,
            before=before or both,
            after=after or both,
            multiline=multiline,
            glob=glob,
            type=type,
            excluded=EXCLUDED,
            respect_ignore=self._respect_ignore,
        )
        place = ctx.workspace.absolute(path)
        found = await searched(ctx.workspace, place, search, program=self._program)
        window = _Window(offset, head_limit)
        if output_mode == "content":
            return await anyio.to_thread.run_sync(lambda: _lines(ctx, found, window, numbers=line_numbers))
        return await anyio.to_thread.run_sync(lambda: _names(ctx, found, window, output_mode))

    def view(self, call: CallState) -> View:
        activity = f"Searching {call.input.get('pattern', '')}"
        view = replace(generic_view(self.spec, call), activity=activity, folds=True)
        if not isinstance(call.outcome, Done):
            return view
        summary = _summary(call.outcome.data)
        body = Output(text_of(call.outcome.content))
        result = (
            Collapsible(Text(summary), body, open=True)
            if call.outcome.data["total"]
            else Text(summary, "dim")
        )
        return replace(view, result=result, summary=summary)


class _Window:
    """Which entries of a long answer are shown."""

    def __init__(self, offset: int, limit: int) -> None:
        self.offset = offset
        self.limit = limit

    def of(self, files: list[FileHits]) -> list[FileHits]:
        end = None if self.limit == 0 else self.offset + self.limit
        return files[self.offset : end]

    def note(self, shown: int, total: int, noun: str) -> str:
        if self.offset and self.offset >= total:
            return f"(offset {self.offset} is past the end: there are {total} {noun})"
        if self.offset + shown < total:
            following = self.offset + shown
            return f"({shown} of {total} {noun} shown; go on with offset: {following})"
        return ""


def _lines(ctx: CallContext, found: Found, window: _Window, *, numbers: bool) -> Outcome:
    entries = page(found.files, window.offset, window.limit)
    kept = verified(ctx.workspace, entries)
    total = sum(len(file.hits) for file in found.files)
    matches = sum(file.count for file in found.files)
    text = lines_text(kept, name=printable, numbers=numbers)
    data = _data("content", found, window, total=total)
    data |= {
        "content": text,
        "matches": matches,
        "files": list(dict.fromkeys(printable(f.path) for f, _ in kept)),
    }
    return Done(_with_notes(text, found, window.note(len(entries), total, "lines")), data=data)


def _names(ctx: CallContext, found: Found, window: _Window, mode: SearchMode) -> Outcome:
    shown = existing(ctx.workspace, window.of(found.files))
    total = len(found.files)
    matches = sum(file.count for file in found.files)
    counting = mode == "count"
    names = [printable(file.path) for file in shown]
    lines = [f"{name}:{file.count}" if counting else name for name, file in zip(names, shown, strict=True)]
    if lines and counting:
        lines.append(f"{counted(matches, 'matching line')} in {counted(total, 'file')}")
    data = _data(mode, found, window, total=total)
    data |= {"content": "", "matches": matches, "files": names}
    return Done(_with_notes("\n".join(lines), found, window.note(len(shown), total, "files")), data=data)


def _data(mode: SearchMode, found: Found, window: _Window, *, total: int) -> dict[str, Any]:
    return {"mode": mode, "total": total, "offset": window.offset, "in_files": len(found.files)}


def _with_notes(text: str, found: Found, note: str) -> str:
    parts = [text or ("" if note else "No matches."), note, found.notice]
    if found.cut == "time":
        parts.append("(the search was ended after 20 s; there may be more: search a smaller folder)")
    if found.cut == "size":
        parts.append("(more than 64 MiB of matches; narrow the pattern)")
    return "\n".join(part for part in parts if part)


def _summary(data: Mapping[str, Any]) -> str:
    files = data["in_files"]
    noun = "file" if files == 1 else "files"
    if not files:
        return "no matches"
    if data["mode"] == "files_with_matches":
        return f"matches in {files} {noun}"
    return f"{data['matches']} match{'' if data['matches'] == 1 else 'es'} in {files} {noun}"


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Build the tool; the setting ``files.respect_gitignore`` decides about ignored files, and the option
    ``lines_only`` makes the form that only shows lines."""
    files = services.settings.get("files", {})
    respect_ignore = bool(options.get("respect_gitignore", files.get("respect_gitignore", True)))
    grep = Grep(program=find_ripgrep(), respect_ignore=respect_ignore)
    if not options.get("lines_only"):
        return grep
    from toolwright.tools.short_forms.grep import GrepLines

    return GrepLines(grep)
