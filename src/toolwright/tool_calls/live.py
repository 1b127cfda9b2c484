"""A call on its way through the steps, and the turn it belongs to."""

from collections.abc import Callable

from toolwright.contracts.errors import EngineFault
from toolwright.contracts.tool import (
    NO_PROMISES,
    CallContext,
    Cancellation,
    Failed,
    Input,
    Objection,
    Offered,
    OfferedTool,
    Progress,
    Tool,
    ToolCall,
    ToolSpec,
    Traits,
)
from toolwright.contracts.values import value
from toolwright.contracts.view import View
from toolwright.tool_calls import texts
from toolwright.tool_calls.permissions.subject import Subject
from toolwright.tool_calls.progress import ProgressFeed
from toolwright.tool_calls.scopes import cancel_scope


@value(frozen=True, slots=True, kw_only=True)
class Turn:
    """What all calls of one message of the model share."""

    offered: Offered
    session_id: str = ""
    turn_id: str = ""
    agent_id: str | None = None
    depth: int = 0
    """How many agents stand between this one and the main thread, where it is 0."""


_NO_SPEC = ToolSpec(name="", description="", input_schema={})
"""Stands for the data of a tool that was not found."""


_UNREAD: Input = {}


class LiveCall:
    """One call: what is known of it, how far it is, and how to stop it."""

    __slots__ = (
        "approved",
        "approved_by",
        "began",
        "cancel",
        "context",
        "counted",
        "edited",
        "failure",
        "feed",
        "found",
        "given",
        "halts",
        "id",
        "input",
        "lap_at",
        "laps",
        "notes",
        "objection",
        "repairs",
        "scope",
        "shifted",
        "spec",
        "started_at",
        "stop",
        "stopped",
        "subject",
        "traits",
        "turn",
        "unrepaired",
        "view",
        "waited",
        "written",
    )

    def __init__(self, call: ToolCall, turn: Turn, *, started_at: float) -> None:
        self.written = call
        self.id = call.id
        self.given: str | Input = call.input
        """What its tool is given: a part of what was written, where that named another tool."""
        self.turn = turn
        self.started_at = started_at
        self.found: OfferedTool | None = None
        self.spec: ToolSpec = _NO_SPEC
        self.input: Input = _UNREAD
        self.repairs: tuple[str, ...] = ()
        self.unrepaired: Input | None = None
        self.traits: Traits = NO_PROMISES
        self.shifted = False
        """The input was changed by a hook or a person, and the call reaches other things than before."""
        self.counted = False
        """It stands in the account of the run."""
        self.failure: Failed | None = None
        """Why the call ended in steps 0 to 2, before anybody was asked anything."""
        self.objection: Objection | None = None
        self.subject: Subject | None = None
        self.approved: str | None = None
        """Fingerprint of what a person approved."""
        self.approved_by = ""
        """Who or what approved the call, for hooks."""
        self.edited = False
        """A person changed the input while approving it."""
        self.context: CallContext | None = None
        self.cancel = Cancellation()
        self.scope = cancel_scope()
        self.stopped: Failed | None = None
        """What the call ends in when its scope was cancelled from here."""
        self.feed: ProgressFeed | None = None
        self.began = False
        """Step 5 has begun: the tool may have done something."""
        self.waited = 0.0
        self.notes: list[str] = []
        self.stop: str | None = None
        """Why the run shall end after the batch."""
        self.halts = False
        """A hook ended the run: calls that have not started do not start."""
        self.view: View | None = None
        self.laps: dict[str, float] | None = None
        """Seconds by step; None when nobody wants to know."""
        self.lap_at = started_at

    def becomes(self, call: ToolCall) -> None:
        """Stand from now on for a call that says the same."""
        self.written, self.id = call, call.id

    @property
    def tool(self) -> Tool:
        if self.found is None:
            raise EngineFault(f"call {self.id} went on without a tool")
        return self.found.tool

    @property
    def tool_name(self) -> str:
        """The canonical name, or the one that was asked for when no tool has it."""
        return self.spec.name or self.written.name

    @property
    def offered_name(self) -> str:
        return self.found.name if self.found is not None else self.written.name

    @property
    def was_read(self) -> bool:
        """Whether the input was understood."""
        return self.input is not _UNREAD

    @property
    def running(self) -> bool:
        """Whether the tool is at work right now."""
        return self.feed is not None

    def report(self, progress: Progress) -> None:
        """Take news of the running tool; what comes later is dropped."""
        feed = self.feed
        if feed is not None:
            feed.report(progress)

    def lap(self, step: str, now: Callable[[], float], *, without: float = 0.0) -> None:
        """Book the time since the last lap on ``step``."""
        if self.laps is None:
            return
        at = now()
        self.laps[step] = self.laps.get(step, 0.0) + max(at - self.lap_at - without, 0.0)
        self.lap_at = at

    def end(self, failed: Failed) -> None:
        """Stop the call; it ends in ``failed`` unless it returns in spite of being stopped."""
        if self.stopped is None:
            self.stopped = failed
            self.cancel.request(failed.code)
            self.scope.cancel()

    def interrupt(self, why: str) -> None:
        """Stop the call because somebody outside asked; a tool at work may have reserved to finish."""
        if not self.running:
            self.end(texts.not_started(why))
            return
        if self.spec.interrupt == "cancel":
            self.cancel.request(why)
            self.end(texts.interrupted(why, self.partial_output))

    @property
    def changes_nothing(self) -> bool:
        """Whether the call may be made again without harm. A stranger's word for it does not count."""
        mcp = self.spec.mcp
        return self.traits.read_only and (mcp is None or mcp.trusted)

    @property
    def partial_output(self) -> str:
        return self.feed.output if self.feed is not None else ""

    def expire(self, seconds: float) -> None:
        """Stop the call because its time is over."""
        self.end(texts.timed_out(seconds, self.partial_output))
