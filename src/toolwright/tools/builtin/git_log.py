"""Read the history of a repository."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Touch, Traits
from toolwright.contracts.view import Column, Table, View
from toolwright.tools.commands.git import answered, checked_ref, repository_of
from toolwright.tools.commands.setup import CommandSetup, setup_of
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.outcomes import json_text
from toolwright.tools.services import Services

_FIELDS: Final = ("hash", "author", "date", "subject")
_FORMAT: Final = "--format=%H%x00%an%x00%aI%x00%s"
_SHORT: Final = 8
_NO_COMMITS: Final = "does not have any commits yet"


class GitLog(ToolClass):
    spec = described(
        __file__,
        name="git_log",
        aliases=("GitLog",),
        source="builtin",
        category="core_io",
        result_limit=30_000,
        search_hint="git history commits log author changes",
    )

    def __init__(self, setup: CommandSetup) -> None:
        self._setup = setup

    def traits(self, input: Input) -> Traits:
        place = Touch("path", input.get("path") or ".")
        return Traits(read_only=True, concurrency_safe=True, touches=(place,))

    async def run(
        self,
        ctx: CallContext,
        *,
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
        path: Annotated[str, Field(min_length=1)] | None = None,
        ref: Annotated[str, Field(min_length=1, max_length=250)] | None = None,
    ) -> Outcome:
        starts = (checked_ref(ref),) if ref else ()
        paths = () if path is None else (ctx.workspace.absolute(path),)
        repository = await repository_of(ctx.workspace)
        options = ("--no-show-signature", "--no-ext-diff", "--no-textconv", "-z", f"-n{limit}", _FORMAT)
        arguments = ("log", *options, "--end-of-options", *starts, "--", *paths)
        try:
            commits = _commits(await answered(self._setup, repository, arguments))
        except ToolFailure as failure:
            if _NO_COMMITS not in failure.message:
                raise
            commits = []
        return Done(json_text(commits), data=commits, view=_table(commits))

    def view(self, call: CallState) -> View:
        view = replace(generic_view(self.spec, call), activity="Reading the history")
        if not isinstance(call.outcome, Done):
            return view
        count = len(call.outcome.data)
        return replace(view, summary=f"{count} commit{'' if count == 1 else 's'}")


def _commits(output: bytes) -> list[dict[str, str]]:
    values = output.decode("utf-8", "replace").removesuffix("\0").split("\0")
    width = len(_FIELDS)
    whole = len(values) - len(values) % width
    return [dict(zip(_FIELDS, values[at : at + width], strict=True)) for at in range(0, whole, width)]


def _table(commits: list[dict[str, str]]) -> Table:
    rows = tuple((c["hash"][:_SHORT], c["date"], c["author"], c["subject"]) for c in commits)
    return Table((Column("commit"), Column("date"), Column("author"), Column("subject")), rows)


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    return GitLog(setup_of(services, options))
