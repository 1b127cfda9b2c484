"""A tool of a catalog: the texts and the schema of its entry over the tool that does the work."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from toolwright.contracts.definitions import ToolEntry
from toolwright.contracts.errors import DefinitionError, ToolFailure
from toolwright.contracts.ports import Workspace
from toolwright.contracts.tool import (
    CallContext,
    CallState,
    Done,
    Input,
    Objection,
    Outcome,
    Tool,
    ToolSpec,
    Touch,
    Traits,
)
from toolwright.contracts.view import View
from toolwright.tools.generic_view import generic_view
from toolwright.tools.outcomes import json_text
from toolwright.tools.platform.functions import FUNCTIONS, PlatformFunctions
from toolwright.tools.platform.reporting import as_reported
from toolwright.tools.services import Services

ServerTools = Callable[[], Sequence[Tool]]
"""The tools of all servers that are connected now."""
_NEEDS_CLIENT: Final = frozenset({"ask_user"})
_SKILLS: Final = "skills do not run here yet"
_DEPRECATED: Final = "Deprecated: "


class EntryTool:
    """A catalog's view of another tool."""

    def __init__(self, entry: ToolEntry, target: Tool) -> None:
        self.entry = entry
        self._target = target
        self.spec = spec_of(entry, target.spec)

    def traits(self, input: Input) -> Traits:
        """Promises of the tool behind it."""
        return self._target.traits(self._whole(input))

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        """The opinion of the tool behind it. What lies outside the workspace does not exist for reading."""
        whole = self._whole(input)
        for touched in self._target.traits(whole).touches or ():
            if (
                touched.kind == "path"
                and touched.access == "read"
                and not _is_there(ctx.workspace, touched.name)
            ):
                return Objection(
                    "invalid",
                    f"{touched.name} does not exist here.",
                    code="file_not_found",
                    hint=f"What can be read lies in {', '.join(ctx.workspace.roots)}.",
                )
        return await self._target.check(whole, ctx)

    async def call(self, input: Input, ctx: CallContext) -> Outcome:
        """Let the tool behind it do the work; an error object that it returns is a failure."""
        return as_reported(await self._target.call(self._whole(input), ctx))

    def view(self, call: CallState) -> View:
        """As the tool behind it draws its calls."""
        if call.partial:
            return generic_view(self.spec, call)
        return self._target.view(replace(call, input=self._whole(call.input)))

    def _whole(self, input: Input) -> Input:
        """The input with the defaults of the schema, and what the entry decides."""
        return {**_defaults(self.entry.input_schema), **input, **self.entry.fixed}


class Extractor:
    """A tool without work: its validated input is what somebody wanted."""

    def __init__(self, entry: ToolEntry) -> None:
        self.entry = entry
        self.spec = replace(
            spec_of(entry, ToolSpec(name=entry.name, description="", input_schema={})), idempotent=True
        )

    def traits(self, input: Input) -> Traits:
        """It touches nothing."""
        del input
        return Traits(read_only=True, concurrency_safe=True, pre_approved=True, touches=())

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        """No objection."""
        del input, ctx
        return None

    async def call(self, input: Input, ctx: CallContext) -> Outcome:
        """Say that the input was taken."""
        del input, ctx
        data = {"status": "ok"}
        return Done(json_text(data), data=data)

    def view(self, call: CallState) -> View:
        """The input, drawn as any."""
        return generic_view(self.spec, call)


class ServerAction:
    """The action of a server, found when it is called: servers come and go."""

    def __init__(self, entry: ToolEntry, server_tools: ServerTools) -> None:
        self._server, _, self._action = entry.ref.partition("/")
        self._server_tools = server_tools
        self.spec = ToolSpec(name=entry.name, description=entry.description, input_schema=entry.input_schema)

    def traits(self, input: Input) -> Traits:
        """Promises of the action; none while its server is away."""
        found = self._found()
        host = Touch("key", f"mcp/{self._server}", "write")
        return found.traits(input) if found is not None else Traits(open_world=True, touches=(host,))

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        """The opinion of the action."""
        found = self._found()
        return None if found is None else await found.check(input, ctx)

    async def call(self, input: Input, ctx: CallContext) -> Outcome:
        """Call the action. Raises ToolFailure while its server is away."""
        found = self._found()
        if found is None:
            raise ToolFailure(
                "mcp_disconnected",
                f"The server {self._server!r} with the action {self._action!r} is not connected.",
                hint="Ask the user to connect it, or go on without it.",
            )
        return await found.call(input, ctx)

    def view(self, call: CallState) -> View:
        """As any call is drawn."""
        found = self._found()
        return generic_view(self.spec, call) if found is None else found.view(call)

    def _found(self) -> Tool | None:
        return next(
            (
                tool
                for tool in self._server_tools()
                if (origin := tool.spec.mcp) and (origin.server, origin.tool) == (self._server, self._action)
            ),
            None,
        )


def spec_of(entry: ToolEntry, target: ToolSpec) -> ToolSpec:
    """Return what is known of a tool of a catalog: the entry's texts, the promises of what does the work."""
    description = entry.description
    if entry.deprecated:
        description = f"{description}\n\n{_DEPRECATED}{entry.deprecated}"
    return replace(
        target,
        name=entry.name,
        description=description,
        input_schema=entry.input_schema,
        fits=None,
        output_schema=None,
        aliases=(),
        input_aliases={},
        clamped=frozenset(),
        display_name="",
        source="skill" if entry.kind == "skill" else "catalog",
        mcp=None,
        feature=None,
        prompt_section="",
        defer=False,
        always_load=False,
        version=entry.version,
        needs_person=bool(entry.confirm),
    )


def entry_tools(
    entries: Iterable[ToolEntry],
    services: Services,
    *,
    server_tools: ServerTools = tuple,
    has_client: bool = True,
    functions: PlatformFunctions = FUNCTIONS,
) -> list[Tool]:
    """Build the tools of entries. What cannot be built here is there and says why when it is called."""
    tools: list[Tool] = []
    for entry in entries:
        if entry.ref in _NEEDS_CLIENT and entry.kind == "platform" and not has_client:
            continue
        tools.append(_built(entry, services, server_tools, functions))
    return tools


def _built(
    entry: ToolEntry, services: Services, server_tools: ServerTools, functions: PlatformFunctions
) -> Tool:
    match entry.kind:
        case "extractor":
            return Extractor(entry)
        case "mcp":
            return EntryTool(entry, ServerAction(entry, server_tools))
        case "skill":
            return _unavailable(entry, _SKILLS)
        case "platform":
            return _platform(entry, services, functions)


def _platform(entry: ToolEntry, services: Services, functions: PlatformFunctions) -> Tool:
    try:
        target = functions.built(entry, services)
    except (ImportError, DefinitionError) as problem:
        return _unavailable(entry, str(problem))
    if target is None:
        return _unavailable(entry, f"there is no platform function {entry.ref!r}")
    return EntryTool(entry, target)


def _unavailable(entry: ToolEntry, why: str) -> Tool:
    tool = Extractor(entry)
    tool.spec = replace(tool.spec, unavailable=why, idempotent=False)
    return tool


def _is_there(workspace: Workspace, path: str) -> bool:
    """Whether a path lies where may be read; a link must not lead elsewhere."""
    try:
        return workspace.contains(workspace.resolved(path))
    except ToolFailure:
        return workspace.contains(path)


def _defaults(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    return {
        name: part["default"]
        for name, part in properties.items()
        if isinstance(part, Mapping) and "default" in part
    }
