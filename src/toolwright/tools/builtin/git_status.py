"""Read what is changed in a repository."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Touch, Traits
from toolwright.contracts.view import View
from toolwright.tools.commands.git import answered, repository_of
from toolwright.tools.commands.setup import CommandSetup, setup_of
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.outcomes import json_text
from toolwright.tools.services import Services

_FIELDS_BEFORE_PATH: Final = {"1": 8, "2": 9, "u": 10}
"""Fields of an entry by its kind: changed, renamed, in conflict."""
_DETACHED: Final = "(detached)"


class GitStatus(ToolClass):
    spec = described(
        __file__,
        name="git_status",
        aliases=("GitStatus",),
        source="builtin",
        category="core_io",
        result_limit=30_000,
        search_hint="git status branch staged changed untracked files",
    )

    def __init__(self, setup: CommandSetup) -> None:
        self._setup = setup

    def traits(self, input: Input) -> Traits:
        place = Touch("path", input.get("path") or ".")
        return Traits(read_only=True, concurrency_safe=True, touches=(place,))

    async def run(
        self, ctx: CallContext, *, path: Annotated[str, Field(min_length=1)] | None = None
    ) -> Outcome:
        paths = () if path is None else (ctx.workspace.absolute(path),)
        repository = await repository_of(ctx.workspace)
        options = ("--porcelain=v2", "--branch", "-z", "--ignore-submodules=all", "--untracked-files=normal")
        status = parsed(await answered(self._setup, repository, ("status", *options, "--", *paths)))
        return Done(json_text(status), data=status)

    def view(self, call: CallState) -> View:
        view = replace(generic_view(self.spec, call), activity="Reading the state of the repository")
        return replace(view, summary=_summary(call.outcome.data)) if isinstance(call.outcome, Done) else view


def parsed(output: bytes) -> dict[str, Any]:
    """Read ``git status --porcelain=v2 -z``. Pure."""
    status: dict[str, Any] = {"branch": None, "staged": [], "unstaged": [], "untracked": []}
    entries = iter(output.decode("utf-8", "replace").split("\0"))
    for entry in entries:
        kind, _, rest = entry.partition(" ")
        if kind == "#":
            name, _, value = rest.partition(" ")
            if name == "branch.head" and value != _DETACHED:
                status["branch"] = value
        elif kind == "?":
            status["untracked"].append(rest)
        elif kind in _FIELDS_BEFORE_PATH:
            _add_change(status, kind, rest, entries)
    return status


def _add_change(status: dict[str, Any], kind: str, rest: str, entries: Iterator[str]) -> None:
    fields = rest.split(" ", _FIELDS_BEFORE_PATH[kind] - 1)
    staged, unstaged, path = fields[0][0], fields[0][1], fields[-1]
    if kind == "2":
        next(entries, "")  # the name before renaming follows as an entry of its own
    if kind == "u" or unstaged != ".":
        status["unstaged"].append(path)
    if kind != "u" and staged != ".":
        status["staged"].append(path)


def _summary(status: Mapping[str, Any]) -> str:
    counts = [f"{len(status[name])} {name}" for name in ("staged", "unstaged", "untracked") if status[name]]
    return f"{status['branch'] or 'no branch'}: {', '.join(counts) or 'clean'}"


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    return GitStatus(setup_of(services, options))
