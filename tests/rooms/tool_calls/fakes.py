"""Fakes of what the steps of a call are given. Each implements its port; none patches anything."""

import posixpath
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio.lowlevel

from toolwright.contracts.content import text_of
from toolwright.contracts.errors import NoUserChannel, ToolFailure
from toolwright.contracts.events import Event
from toolwright.contracts.hooks import NO_VERDICT, HookEvent, HookInput, HookVerdict
from toolwright.contracts.mounts import Mount
from toolwright.contracts.permissions import (
    ApprovalAnswer,
    ApprovalRequest,
    Decision,
    Reason,
    RuleChange,
)
from toolwright.contracts.ports import FileInfo, FileVersion, OpenFile, ReadState, Workspace
from toolwright.contracts.tool import (
    NO_PROMISES,
    Access,
    CallContext,
    CallResult,
    CallState,
    Done,
    Failed,
    Input,
    Objection,
    Offered,
    OfferedTool,
    Outcome,
    Schema,
    ToolSpec,
    Traits,
)
from toolwright.contracts.view import Text, View
from toolwright.tool_calls.in_force import InForce
from toolwright.tool_calls.live import Turn
from toolwright.tool_calls.parts import ApplyChanges, HookRunner, Judge, Parts
from toolwright.tool_calls.permissions.reviewing import Reviewer
from toolwright.tool_calls.permissions.subject import Policy, Subject
from toolwright.tool_calls.redaction import Redact
from toolwright.tool_calls.results import Bounded
from toolwright.tool_calls.texts import error_text

ANY_INPUT: Schema = {"type": "object", "properties": {"text": {"type": "string"}}}
Work = Callable[[Input, CallContext], Awaitable[Outcome]]


class FakeTool:
    """A tool whose every member is given."""

    def __init__(
        self,
        name: str = "echo",
        *,
        work: Work | None = None,
        traits: Traits | Callable[[Input], Traits] = NO_PROMISES,
        check: Callable[[Input, CallContext], Awaitable[Objection | None]] | None = None,
        view: Callable[[CallState], View] | None = None,
        schema: Schema = ANY_INPUT,
        **spec: Any,
    ) -> None:
        self.spec = ToolSpec(name=name, description=f"The tool {name}.", input_schema=schema, **spec)
        self._work = work
        self._traits = traits
        self._check = check
        self._view = view
        self.calls: list[Input] = []
        self.contexts: list[CallContext] = []

    def traits(self, input: Input) -> Traits:
        return self._traits(input) if callable(self._traits) else self._traits

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        return await self._check(input, ctx) if self._check is not None else None

    async def call(self, input: Input, ctx: CallContext) -> Outcome:
        self.calls.append(input)
        self.contexts.append(ctx)
        if self._work is None:
            return Done(f"{self.spec.name} done")
        return await self._work(input, ctx)

    def view(self, call: CallState) -> View:
        if self._view is not None:
            return self._view(call)
        return View(title=f"{call.offered_name} {call.phase}", use=Text(call.offered_name))


def offered(*tools: FakeTool, loaded: bool = True) -> Offered:
    """Offer tools under their own names and aliases."""
    shown = tuple(
        OfferedTool(tool, tool.spec.name, tool.spec.name, tool.spec.description, loaded) for tool in tools
    )
    names = {name: tool for tool in shown for name in (tool.name, *tool.tool.spec.aliases)}
    return Offered(shown, names)


def turn_of(*tools: FakeTool, depth: int = 0) -> Turn:
    return Turn(offered=offered(*tools), session_id="ses_1", turn_id="turn_1", depth=depth)


@dataclass(frozen=True, kw_only=True)
class FakeWorkspace:
    """Paths as texts: nothing is on a disk. ``links`` says where a path leads."""

    cwd: str = "/work"
    roots: tuple[str, ...] = ("/work",)
    links: Mapping[str, str] = field(default_factory=dict)
    granted: tuple[tuple[str, Access], ...] = ()
    hidden: Callable[[str], bool] | None = None
    mounts: tuple[Mount, ...] = ()

    def on_disk(self, path: str) -> str:
        return path

    @property
    def read_state(self) -> ReadState:
        raise NotImplementedError

    def absolute(self, path: str) -> str:
        if "\0" in path:
            raise ToolFailure("path_outside_workspace", "a name with NUL is never accepted")
        return posixpath.normpath(posixpath.join(self.cwd, path))

    def resolved(self, path: str) -> str:
        whole = self.absolute(path)
        return self.links.get(whole, whole)

    def contains(self, path: str, access: Access = "read") -> bool:
        return any(path == root or path.startswith(f"{root}/") for root in self.roots)

    def with_cwd(self, cwd: str) -> Workspace:
        return replace(self, cwd=cwd)

    def granting(self, paths: Sequence[tuple[str, Access]]) -> Workspace:
        return replace(self, granted=(*self.granted, *paths))

    def hiding(self, hidden: Callable[[str], bool]) -> Workspace:
        return replace(self, hidden=hidden)

    def is_hidden(self, path: str) -> bool:
        return self.hidden is not None and self.hidden(path)

    def open(self, path: str) -> OpenFile:
        raise NotImplementedError

    def info(self, path: str) -> FileInfo | None:
        raise NotImplementedError

    def directory(self, path: str) -> AbstractContextManager[int]:
        raise NotImplementedError

    def entries(self, path: str) -> Iterator[FileInfo]:
        raise NotImplementedError

    def write(
        self, path: str, data: bytes, *, expected: FileVersion | None = None, mode: int | None = None
    ) -> FileInfo:
        raise NotImplementedError

    def delete(self, path: str) -> None:
        raise NotImplementedError


class FakeClock:
    """Time that moves only when told."""

    def __init__(self) -> None:
        self.time = 1000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds
        await anyio.lowlevel.checkpoint()


class ListSink:
    """Keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def observe(self, event: Event) -> None:
        self.events.append(event)

    def named(self, *kinds: type) -> list[Event]:
        return [event for event in self.events if isinstance(event, kinds)]

    @property
    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.events]


class ScriptedApprover:
    """Answers questions by a function; remembers them. Notices two questions at once."""

    def __init__(
        self, answer: Callable[[ApprovalRequest], ApprovalAnswer | Awaitable[ApprovalAnswer | None] | None]
    ) -> None:
        self._answer = answer
        self.requests: list[ApprovalRequest] = []
        self.open = 0
        self.open_most = 0

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        self.requests.append(request)
        self.open += 1
        self.open_most = max(self.open, self.open_most)
        try:
            answer = self._answer(request)
            return await answer if isinstance(answer, Awaitable) else answer
        finally:
            self.open -= 1


def yes(request: ApprovalRequest, **more: Any) -> ApprovalAnswer:
    return ApprovalAnswer(
        request_id=request.request_id, fingerprint=request.fingerprint, behavior="allow", **more
    )


def no(request: ApprovalRequest, **more: Any) -> ApprovalAnswer:
    return ApprovalAnswer(
        request_id=request.request_id, fingerprint=request.fingerprint, behavior="deny", **more
    )


def nobody(request: ApprovalRequest) -> ApprovalAnswer | None:
    raise NoUserChannel


class ScriptedHooks:
    """One function for each event."""

    def __init__(self, **handlers: Callable[[HookInput], HookVerdict]) -> None:
        self._handlers = handlers
        self.inputs: list[HookInput] = []

    def has(self, event: HookEvent) -> bool:
        return event in self._handlers

    async def run(self, input: HookInput) -> HookVerdict:
        self.inputs.append(input)
        handler = self._handlers.get(input.event)
        return handler(input) if handler is not None else NO_VERDICT


class PlainResults:
    """Bounds nothing."""

    async def bounded(
        self, outcome: Done | Failed, spec: ToolSpec, *, call_id: str, tool_name: str = ""
    ) -> Bounded:
        content = error_text(outcome) if isinstance(outcome, Failed) else outcome.content
        return Bounded(content, None, spec.result_limit is not None)

    async def bounded_turn(self, results: Sequence[CallResult]) -> tuple[CallResult, ...]:
        return tuple(results)


ALLOWED = Decision("allow", Reason("default"))
ASKED = Decision("ask", Reason("default", "no rule allows this"))


def judge(
    decide: Decision | Callable[[Policy, Subject], Decision] = ALLOWED,
    denied: Callable[[Policy, Subject], Decision | None] | None = None,
) -> Judge:
    """A judge that says one thing, or what a function says."""

    def decided(policy: Policy, subject: Subject) -> Decision:
        return decide(policy, subject) if callable(decide) else decide

    return Judge(denied=denied or (lambda policy, subject: None), decide=decided)


def parts(
    *,
    rules: Judge | None = None,
    approver: ScriptedApprover | None = None,
    hooks: HookRunner | None = None,
    sink: ListSink | None = None,
    workspace: FakeWorkspace | None = None,
    policy: Policy | None = None,
    apply_changes: ApplyChanges | None = None,
    reviewer: Reviewer | None = None,
    redact: Redact | None = None,
    ask_timeout: float | None = None,
) -> Parts:
    """Everything a pipeline needs, allowing all calls unless told otherwise."""
    place = workspace or FakeWorkspace()
    in_force = InForce(policy=policy or Policy(cwd=place.cwd, roots=place.roots), workspace=place)
    return Parts(
        in_force=in_force,
        judge=rules or judge(),
        results=PlainResults(),
        approver=approver or ScriptedApprover(nobody),
        clock=FakeClock(),
        hooks=hooks,
        sink=sink,
        apply_changes=apply_changes,
        reviewer=reviewer,
        redact=redact,
        ask_timeout=ask_timeout,
    )


def said(result: CallResult) -> str:
    """The text the model reads."""
    return text_of(result.content)


def code(result: CallResult) -> str:
    """The code of a failure, or the kind of another outcome."""
    return result.outcome.code if isinstance(result.outcome, Failed) else type(result.outcome).__name__


def with_mode(changes: Sequence[RuleChange], policy: Policy) -> Policy:
    """Apply only changes of mode."""
    for change in changes:
        policy = replace(policy, mode=change.mode) if change.mode is not None else policy
    return policy
