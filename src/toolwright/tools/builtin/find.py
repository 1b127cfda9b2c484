"""Find files and folders by name, type, age and size."""

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import anyio.to_thread

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Clock, FileInfo, Workspace
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Touch, Traits
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.near_names import require_folder
from toolwright.tools.services import Services
from toolwright.workspaces.finding import EXCLUDED
from toolwright.workspaces.globs import BadGlob, compiled
from toolwright.workspaces.names import printable

SECONDS = 20.0
_SKIPPED = tuple(f"/{name}" for name in EXCLUDED)
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_AGES = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The conditions that all must hold. Sizes are lowest and highest, both included."""

    name: re.Pattern[str] | None
    kind: str | None
    after: float | None
    sizes: tuple[int, int] | None

    def accepts(self, info: FileInfo) -> bool:
        name = info.path.rsplit("/", 1)[-1]
        if self.name is not None and not self.name.fullmatch(name):
            return False
        if self.kind is not None and info.kind != self.kind:
            return False
        if self.after is not None and info.mtime_ns / 1e9 <= self.after:
            return False
        return self.sizes is None or (info.kind == "file" and self.sizes[0] <= info.size <= self.sizes[1])


class Find(ToolClass):
    spec = described(
        __file__,
        name="find",
        aliases=("Find",),
        source="builtin",
        category="core_io",
        defer=True,
        result_limit=30_000,
        search_hint="find files folders by size age type name",
    )

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def traits(self, input: Input) -> Traits:
        folder = Touch("path", input.get("path") or ".")
        return Traits(read_only=True, concurrency_safe=True, touches=(folder,))

    async def run(
        self,
        ctx: CallContext,
        *,
        path: str = ".",
        name: str | None = None,
        type: Literal["file", "directory", "symlink"] | None = None,
        newer_than: str | None = None,
        size: str | None = None,
        limit: Annotated[int, Field(ge=1, le=5000)] = 200,
    ) -> Outcome:
        wanted = Wanted(
            _name(name),
            type,
            None if newer_than is None else moment(newer_than, now=self._clock.now()),
            None if size is None else size_range(size),
        )
        folder = ctx.workspace.absolute(path)
        return await anyio.to_thread.run_sync(lambda: _found(ctx.workspace, folder, wanted, limit))

    def view(self, call: CallState) -> View:
        activity = f"Finding {call.input.get('name') or 'files'}"
        view = replace(generic_view(self.spec, call), activity=activity, folds=True)
        if not isinstance(call.outcome, Done):
            return view
        return replace(view, summary=f"{call.outcome.data['total']} found")


def moment(text: str, *, now: float) -> float:
    """Read an ISO date or an age such as ``12h`` as seconds since the epoch."""
    if age := re.fullmatch(r"(\d{1,6})\s*([smhdw])", text.strip()):
        return now - int(age.group(1)) * _AGES[age.group(2)]
    try:
        date = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ToolFailure(
            "invalid_input",
            f"newer_than {text!r} is neither a date nor an age.",
            hint="Write a date like 2026-01-31 or an age like 12h or 7d.",
        ) from None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def size_range(text: str) -> tuple[int, int]:
    """Read ``+10M``, ``-4k`` or ``100`` as the lowest and highest size that fit."""
    match = re.fullmatch(r"([+-]?)(\d{1,15})([kmgKMG]?)[bB]?", text.strip())
    if match is None:
        raise ToolFailure(
            "invalid_input",
            f"size {text!r} is not understood.",
            hint="Write +10M for larger, -4k for smaller, 100 for exactly 100 bytes.",
        )
    sign, digits, unit = match.groups()
    number = int(digits) * _UNITS[unit.lower()]
    if sign == "+":
        return number + 1, 2**63
    return (0, number - 1) if sign == "-" else (number, number)


def _name(glob: str | None) -> re.Pattern[str] | None:
    if glob is None:
        return None
    if "/" in glob:
        raise ToolFailure("invalid_input", "name is compared with the last part of a path and holds no '/'.")
    try:
        return compiled((glob,))
    except BadGlob as problem:
        raise ToolFailure("invalid_input", str(problem), hint="Correct the pattern.") from None


def _found(workspace: Workspace, folder: str, wanted: Wanted, limit: int) -> Outcome:
    require_folder(workspace, folder)
    deadline = time.monotonic() + SECONDS
    found: list[str] = []
    cut = False
    for entry in _walk(workspace, folder):
        if wanted.accepts(entry):
            found.append(printable(entry.path) + ("/" if entry.kind == "directory" else ""))
        if time.monotonic() > deadline:
            cut = True
            break
    found.sort()
    lines = found[:limit] or ["Nothing matches."]
    if len(found) > limit:
        lines.append(f"({limit} of {len(found)}; add conditions or raise limit)")
    if cut:
        lines.append("(ended after 20 s; there may be more: start in a smaller folder)")
    data = {"paths": found[:limit], "total": len(found), "truncated": cut or len(found) > limit}
    return Done("\n".join(lines), data=data)


def _walk(workspace: Workspace, folder: str) -> Iterator[FileInfo]:
    pending = [folder]
    while pending:
        try:
            entries = list(workspace.entries(pending.pop()))
        except ToolFailure:
            continue  # gone or closed to us while walking: not part of the answer
        for entry in entries:
            if entry.path.endswith(_SKIPPED):
                continue
            yield entry
            if entry.kind == "directory":
                pending.append(entry.path)


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Build the tool."""
    return Find(services.clock)
