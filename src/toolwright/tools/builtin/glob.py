"""Find files by name."""

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import anyio.to_thread

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Touch, Traits
from toolwright.contracts.view import Collapsible, Items, Path, Text, View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.near_names import require_folder
from toolwright.tools.services import Services
from toolwright.workspaces.finding import FoundFiles, find_files
from toolwright.workspaces.globs import BadGlob, compiled
from toolwright.workspaces.names import printable
from toolwright.workspaces.ripgrep import find_ripgrep

DEFAULT_LIMIT = 100


class Glob(ToolClass):
    spec = described(
        __file__,
        name="glob",
        aliases=("Glob", "FindFiles"),
        source="builtin",
        category="core_io",
        always_load=True,
        result_limit=50_000,
        search_hint="find files by name pattern wildcard path",
    )

    def __init__(self, *, program: str | None, respect_ignore: bool) -> None:
        self._program = program
        self._respect_ignore = respect_ignore

    def traits(self, input: Input) -> Traits:
        folder = Touch("path", input.get("path") or ".")
        return Traits(read_only=True, concurrency_safe=True, touches=(folder,))

    async def run(
        self,
        ctx: CallContext,
        *,
        pattern: Annotated[str, Field(min_length=1, max_length=4096)],
        path: str = ".",
        limit: Annotated[int, Field(ge=1, le=1000)] = DEFAULT_LIMIT,
    ) -> Outcome:
        started = time.monotonic()
        folder = ctx.workspace.absolute(path)
        expression = _expression(pattern)
        await anyio.to_thread.run_sync(require_folder, ctx.workspace, folder)
        found = await find_files(
            ctx.workspace, folder, expression, program=self._program, respect_ignore=self._respect_ignore
        )
        shown = [printable(path) for path in found.paths[:limit]]
        data = {
            "files": shown,
            "total": len(found.paths),
            "truncated": len(found.paths) > limit or found.cut is not None,
            "duration_ms": round((time.monotonic() - started) * 1000),
        }
        return Done(self._text(found, shown), data=data)

    def view(self, call: CallState) -> View:
        activity = f"Finding {call.input.get('pattern', '')}"
        view = replace(generic_view(self.spec, call), activity=activity, folds=True)
        if not isinstance(call.outcome, Done):
            return view
        data = call.outcome.data
        summary = f"{data['total']} file{'' if data['total'] == 1 else 's'}"
        paths = Items(tuple(Path(path) for path in data["files"]))
        result = Collapsible(Text(summary), paths, open=True) if data["files"] else Text(summary, "dim")
        return replace(view, result=result, summary=summary)

    def _text(self, found: FoundFiles, shown: list[str]) -> str:
        lines = list(shown)
        if not found.paths:
            left_out = " Files that .gitignore names are left out." if self._respect_ignore else ""
            lines.append(f"No files match.{left_out}")
        if len(found.paths) > len(shown):
            lines.append(f"({len(shown)} of {len(found.paths)} files; narrow the pattern or raise limit)")
        if found.cut:
            lines.append("(the search was ended after 20 s; there may be more: search a smaller folder)")
        return "\n".join(lines)


def _expression(pattern: str) -> re.Pattern[str]:
    try:
        return compiled((pattern,))
    except BadGlob as problem:
        outside = pattern.startswith("/") or ".." in pattern
        hint = "Give the folder as path, and a pattern that is relative to it."
        raise ToolFailure(
            "invalid_input", str(problem), hint=hint if outside else "Correct the pattern."
        ) from None


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Build the tool; the setting ``files.respect_gitignore`` decides about ignored files."""
    files = services.settings.get("files", {})
    respect_ignore = bool(options.get("respect_gitignore", files.get("respect_gitignore", True)))
    return Glob(program=find_ripgrep(), respect_ignore=respect_ignore)
