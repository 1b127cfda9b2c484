"""The engine as a Python object: a box of tools whose calls go through every step.

::

    box = Toolbox([add, "read", "grep"], allow=["add"])
    result = await box.call("add", {"a": 1, "b": 2})
"""

import logging
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import anyio.to_thread

from toolwright.contracts.errors import DefinitionError, SettingsError
from toolwright.contracts.ids import new_id
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest, Mode
from toolwright.contracts.tool import CallResult, Tool, ToolCall
from toolwright.surfaces.approving import Approve, as_answer

if TYPE_CHECKING:
    from toolwright.contracts.events import Event
    from toolwright.contracts.hooks import Hook
    from toolwright.contracts.models import ModelProvider
    from toolwright.contracts.skills import Skill
    from toolwright.contracts.tool import Offered
    from toolwright.tool_calls.batch import BatchResult
    from toolwright.wiring import House

log = logging.getLogger(__name__)


class Toolbox:
    """Tools of your own and built-in ones, callable like a model would call them.

    ``tools`` holds tools, or names of built-in tools. Nothing is allowed that a rule, a promise of the tool
    or ``approve`` does not allow. ``workspace`` is the folder that built-in tools work in, by default the
    current one; tools of your own alone get an empty one. ``skills`` are folders of skills, or skills that
    you have read: each is a tool, and those that ask a model ask ``model``. The box is built at the first
    call.
    """

    def __init__(
        self,
        tools: Iterable[Tool | str],
        *,
        workspace: str | None = None,
        allow: Sequence[str] = (),
        ask: Sequence[str] = (),
        deny: Sequence[str] = (),
        mode: Mode = "default",
        approve: Approve | None = None,
        observe: "Callable[[Event], None] | None" = None,
        hooks: "Sequence[Hook]" = (),
        toolset: str = "default",
        settings: Mapping[str, Any] | None = None,
        skills: "Iterable[str | os.PathLike[str] | Skill]" = (),
        model: "ModelProvider | str" = "",
    ) -> None:
        given = tuple(tools)
        self._skills = tuple(skills)
        self._model = model
        self._tools = tuple(tool for tool in given if not isinstance(tool, str))
        self._builtins = tuple(name for name in given if isinstance(name, str))
        self._workspace = workspace if workspace is not None or not self._builtins else "."
        self._approver = None if approve is None else _Person(approve)
        self._sink = None if observe is None else _Observer(observe)
        self._hooks = tuple(hooks)
        self._settings = with_rules(
            settings or {}, allow=allow, ask=ask, deny=deny, mode=mode, toolset=toolset
        )
        self._bypass = mode == "bypassPermissions"
        self._built: House | None = None
        self._remove_folder: weakref.finalize[..., Toolbox] | None = None

    @property
    def offered(self) -> "Offered":
        """What a model would be offered, frozen."""
        return self._house.offered

    @property
    def payload(self) -> bytes:
        """The definitions as JSON, ready for a model."""
        return self._house.offer.payload

    async def call(self, name: str, input: Mapping[str, Any] | str | None = None) -> CallResult:
        """Run one call. ``input`` is a mapping, or JSON text as a model wrote it."""
        return await self._house.call(ToolCall(new_id("call"), name, {} if input is None else input))

    async def batch(self, calls: Iterable[tuple[str, Mapping[str, Any] | str]]) -> "BatchResult":
        """Run a block of calls; what may run side by side does. Results stand in the order of the calls."""
        return await self._house.batch([ToolCall(new_id("call"), name, input) for name, input in calls])

    async def resume(self, request: ApprovalRequest, answer: ApprovalAnswer) -> CallResult:
        """Go on with a call that ended waiting, now that somebody has answered its request."""
        return await self._house.resume(request, answer)

    def interrupt(self, why: str = "Interrupted by the user") -> None:
        """Stop every call in flight."""
        self._house.pipeline.interrupt(why)

    async def close(self) -> None:
        """End what calls have started. The box may be used again afterwards."""
        house, self._built = self._built, None
        if house is not None:
            await house.close()
        if self._remove_folder is not None:
            await anyio.to_thread.run_sync(self._remove_folder)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    @property
    def _house(self) -> "House":
        if self._built is None:
            self._built = self._build()
        return self._built

    def _build(self) -> "House":
        from toolwright.settings import load
        from toolwright.wiring import Wanted, build
        from toolwright.wiring.skills import LoneAsker, as_tools

        folder = os.path.realpath(tempfile.mkdtemp(prefix="toolwright-"))
        # A box that nobody closes takes its folder with it when it goes.
        self._remove_folder = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        session_dir = os.path.join(folder, "session")
        workspace = os.path.realpath(self._workspace or os.path.join(folder, "workspace"))
        if self._workspace is None:
            os.mkdir(workspace)
        loaded = load(workspace, environ=dict(os.environ), cli=self._settings, read_files=False)
        asker = LoneAsker(loaded, self._model)
        wanted = Wanted(
            session_dir=session_dir,
            skills=as_tools(self._skills),
            helper=asker,
            tools=self._tools,
            builtins=self._builtins,
            session=new_id("box"),
            approver=self._approver,
            sink=self._sink,
            hooks=self._hooks,
            bypass_enabled=self._bypass,
        )
        house = build(loaded, wanted)
        house.ports.stack.push_async_callback(asker.close)
        for notice in house.notices:
            log.warning(notice)
        if self._bypass and house.in_force.policy.mode != "bypassPermissions":
            raise SettingsError("; ".join(house.notices))
        missing = [name for name in self._builtins if house.registry.find(name) is None]
        if missing:
            raise DefinitionError(_missing(missing[0], house))
        return house


def _missing(name: str, house: "House") -> str:
    for tool in house.left_out:
        if tool.name == name:
            return f"the built-in tool {name!r} is not to be had here: {tool.reason}"
    return f"there is no built-in tool {name!r}; `toolwright tools list` shows all"


def with_rules(
    settings: Mapping[str, Any],
    *,
    allow: Sequence[str],
    ask: Sequence[str],
    deny: Sequence[str],
    mode: Mode,
    toolset: str,
) -> dict[str, Any]:
    """Return settings with rules, mode and toolset that were given as words of their own."""
    written = dict(settings.get("permissions", {}))
    for name, rules in (("allow", allow), ("ask", ask), ("deny", deny)):
        if rules:
            written[name] = (*written.get(name, ()), *rules)
    if mode != "default":
        written["mode"] = mode
    out: dict[str, Any] = {**settings, "permissions": written}
    if toolset != "default":
        out["tools"] = {**out.get("tools", {}), "toolset": toolset}
    return out


class _Person:
    """An approver around a plain callable."""

    def __init__(self, approve: Approve) -> None:
        self._approve = approve

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        return await as_answer(self._approve, request)


class _Observer:
    """An event sink around a plain callable."""

    def __init__(self, observe: "Callable[[Event], None]") -> None:
        self._observe = observe

    def observe(self, event: "Event") -> None:
        self._observe(event)
