"""Agents as tools, and their instructions as prompts."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp_types import GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import ErrorCode, NoUserChannel, SettingsError, ToolFailure
from toolwright.contracts.events import CallStarted, SessionCreated
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest
from toolwright.contracts.tool import (
    CallContext,
    CallState,
    Done,
    Failed,
    Input,
    Objection,
    Outcome,
    Progress,
    ToolSpec,
    Traits,
)
from toolwright.contracts.view import View
from toolwright.surfaces.mcp.exchange import current
from toolwright.surfaces.session import OpenEngine, RunResult, Session
from toolwright.tools.define import generic_view

if TYPE_CHECKING:
    from toolwright.settings import Loaded
    from toolwright.wiring.works import Works

PREFIX: Final = "agent_"
_LONGEST_TITLE: Final = 80
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_INPUT: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "prompt": {
            "type": "string",
            "minLength": 1,
            "maxLength": 200_000,
            "description": "What to do. The agent knows nothing else of what was said so far.",
        },
    },
    "required": ["prompt"],
    "additionalProperties": False,
}
_OUTPUT: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "session_id": {"type": "string"},
        "end": {"type": "string"},
        "text": {"type": "string"},
        "rounds": {"type": "integer"},
        "calls": {"type": "integer"},
    },
    "required": ["session_id", "end", "text", "rounds", "calls"],
}

_CODES: Final[Mapping[str, ErrorCode]] = {"limit": "limit_reached", "interrupted": "interrupted"}


class AgentRuns:
    """Runs agents, each task in a session of its own."""

    def __init__(
        self, loaded: "Loaded", works: "Callable[[], Awaitable[Works]]", *, workspace: str = ""
    ) -> None:
        """``works`` opens the engine once an agent is needed; ``workspace`` is whose sessions they are."""
        self._loaded = loaded
        self._works = works
        self._workspace = workspace

    def known(self) -> Sequence[AgentDefinition]:
        """Return the agents that there are right now. Blocking."""
        from toolwright.wiring.agents import agents_to_show

        return agents_to_show(self._loaded).agents()

    async def run(
        self, definition: AgentDefinition, prompt: str, report: Callable[[Progress], None]
    ) -> RunResult:
        """Do a task and return what came of it. May raise SettingsError where no model is set up."""
        works = await self._works()
        works.lookup(definition.model)
        engine = OpenEngine(works, self._loaded, _approve, asyncio.get_running_loop())
        title = " ".join(prompt.split())[:_LONGEST_TITLE]
        created = await works.sessions.create(
            definition, project=self._loaded.project, title=title, about=self._about
        )
        session = Session(engine, created)
        try:
            async with aclosing(session.stream(prompt)) as records:
                async for record in records:
                    if isinstance(record.event, CallStarted):
                        report(Progress(text=f"{definition.name}: {record.event.tool}"))
            return await session.result()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await session.interrupt("Whoever asked for it has left.")
            raise

    def _about(self, created: SessionCreated) -> SessionCreated:
        return replace(created, workspace=self._workspace) if self._workspace else created


async def _approve(request: ApprovalRequest) -> ApprovalAnswer:
    exchange = current()
    if exchange is None:
        return request.denied("The client that asked for this agent has left.")
    try:
        return await exchange.ask_now(request)
    except NoUserChannel as reason:
        return request.denied(f"This needs approval, but {reason}.")


class AgentTool:
    """One agent that a client gives a task to."""

    def __init__(self, runs: AgentRuns, definition: AgentDefinition) -> None:
        self._runs = runs
        self._definition = definition
        task = f"Give a task to the agent {definition.name!r} and wait for its answer."
        self.spec = ToolSpec(
            name=PREFIX + _UNFIT.sub("_", definition.name),
            description=" ".join([task, *definition.description.split()]),
            input_schema=_INPUT,
            output_schema=_OUTPUT,
            category="agent_task",
            source="custom",
            timeout=None,
        )

    def traits(self, input: Input) -> Traits:
        """To start an agent changes nothing; what it does is asked for call by call."""
        del input
        name = self._definition.name
        return Traits(concurrency_safe=True, pre_approved=True, touches=(), subject=name, open_world=True)

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        del input, ctx
        return None

    async def call(self, input: Input, ctx: CallContext) -> Outcome:
        try:
            result = await self._runs.run(self._definition, input["prompt"], ctx.report)
        except SettingsError as problem:
            raise ToolFailure("tool_unavailable", f"The agent cannot be started: {problem}") from problem
        data = {
            "session_id": result.session_id,
            "end": result.end,
            "text": result.text,
            "rounds": result.rounds,
            "calls": result.calls,
        }
        if result.ok:
            return Done(result.text or "The agent came to an end and said nothing.", data=data)
        said = f"\nIts last words: {result.text}" if result.text else ""
        code: ErrorCode = _CODES.get(result.end, "internal_error")
        return Failed(code, f"The agent did not finish ({result.end}): {result.message}{said}", data=data)

    def view(self, call: CallState) -> View:
        return generic_view(self.spec, call)


class AgentPrompts:
    """The instructions of agents, for a client that wants to follow them itself."""

    def __init__(self, runs: AgentRuns) -> None:
        self._runs = runs

    async def prompts(self) -> Sequence[Prompt]:
        return [_prompt(agent) for agent in await asyncio.to_thread(self._runs.known) if agent.system]

    async def get(self, name: str, arguments: Mapping[str, str]) -> GetPromptResult | None:
        agents = await asyncio.to_thread(self._runs.known)
        found = next((agent for agent in agents if agent.name == name and agent.system), None)
        if found is None:
            return None
        task = arguments.get("task", "")
        text = f"{found.system}\n\nThe task:\n{task}" if task else found.system
        message = PromptMessage(role="user", content=TextContent(text=text))
        return GetPromptResult(description=found.description or None, messages=[message])


def _prompt(agent: AgentDefinition) -> Prompt:
    about = agent.description or f"The instructions of the agent {agent.name}."
    task = PromptArgument(name="task", description="What to do with these instructions.", required=False)
    return Prompt(name=agent.name, description=about, arguments=[task])
