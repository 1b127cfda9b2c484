"""Everything that is known of a session, folded from its log (pure)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from toolwright.contracts.children import Returned
from toolwright.contracts.definitions import RunLimits
from toolwright.contracts.errors import EngineFault
from toolwright.contracts.events import (
    AgentChanged,
    CallAnswered,
    CallEnded,
    CallWaiting,
    ChildCallAnswered,
    ChildCallsLeft,
    ChildClosed,
    ChildEnded,
    ChildStarted,
    Compacted,
    Event,
    HandedBack,
    InputAccepted,
    InputDropped,
    InputTaken,
    InterruptRequested,
    LeftCall,
    ModelAsked,
    ModelFailed,
    PermissionsChanged,
    Record,
    RunEnded,
    RunStarted,
    SessionCreated,
    SessionEnded,
    SessionTitled,
    SkillTakenUp,
    ToolsListed,
    ToolsLoaded,
    ToolsUnloaded,
)
from toolwright.contracts.permissions import RuleChange
from toolwright.contracts.storage import SessionCard, SessionStatus
from toolwright.turns.accounts import NOTHING_SPENT, Spent, added
from toolwright.turns.conversation import Conversation, used_by_child


@dataclass(slots=True)
class Child:
    """A child session, as its parent's log tells of it."""

    started: ChildStarted
    """The last time."""
    ended: ChildEnded | None = None
    """None while it runs, or waits for somebody."""
    used: Spent = NOTHING_SPENT
    """What its parent's account has of it."""
    starts: int = 1
    ends: dict[str, ChildEnded] = field(default_factory=dict)
    """How it ended, by the calls that had it run."""
    stopping: str = ""
    """Why it shall stop, because its parent was told to."""
    asks: CallWaiting | None = None
    """The question of it, or of a child of its own, that is put in its parent's session."""
    answer: CallAnswered | None = None
    """What was answered to its last question."""
    left: dict[str, LeftCall] = field(default_factory=dict)
    """Calls that it has left to the client and that have no result yet, by id."""
    delivered: dict[str, ChildCallAnswered] = field(default_factory=dict)
    """What came of such calls since it was started last, by id."""
    closed: bool = False
    """It was put away."""

    @property
    def key(self) -> str:
        """What stands for the call that had it run last; its own id where a person did."""
        return self.started.call_id or self.started.child_id

    @property
    def runs(self) -> bool:
        """Whether it has not ended: it works, or waits for somebody."""
        return self.ended is None

    @property
    def waits(self) -> bool:
        """Whether it waits for a person or for the client."""
        return self.runs and (self.asks is not None or bool(self.left))


class SessionState:
    """Begins with ``SessionCreated``; ``apply`` takes the events of the log in their order."""

    def __init__(self, created: SessionCreated, at: float) -> None:
        self.created = created
        self.agent = created.agent
        """As it is now."""
        self.listed: set[str] = set()
        """Tools that the model was told of by their names, as far as it still remembers that."""
        self.defers = False
        """Tools are told of by name since some request, and from then on."""
        self.loaded: list[str] = []
        """Tools that were known by name and are loaded now, in the order of that."""
        self.named: set[str] = set()
        """Those of them that the session began with."""
        self.carried: set[str] = set()
        """Those of them whose definitions stood in results that the conversation was shortened by."""
        self.unused: list[str] = []
        """Those of them that were not called when the conversation was shortened, until they are unloaded."""
        self._called: set[str] = set()
        self.skills_in_sight: set[tuple[str, str]] = set()
        """Skills whose instructions the model can read above, by digest and arguments."""
        self.skill_rules: tuple[str, ...] = ()
        """What skills allow until a person speaks again."""
        self._skill_calls: dict[str, SkillTakenUp] = {}
        self.created_at = at
        self.updated_at = at
        self.head = 1
        """Number of the last entry of the log."""
        self.conversation = Conversation()
        self.conversation.counts_on = created.parent_id is not None
        self.title = created.title
        self.cwd = created.cwd
        """Where calls work now; empty while that is the folder of the session."""
        self.permission_changes: list[RuleChange] = []
        self.children: dict[str, Child] = {}
        self.handed_back: Returned | None = None
        """What a child returned, until it is given more to do."""
        self.returning = False
        """The run under way ends with what was handed back."""
        self.run: RunStarted | None = None
        """The run that has begun and not ended."""
        self.last_end: RunEnded | None = None
        self.rested_at = 0
        """Number of the entry that ended the last run."""
        self.asked = ""
        """The model that was asked last."""
        self.retrying = False
        """A model that failed is about to be asked again."""
        self.interrupted: str | None = None
        """Why the run shall stop, until it has."""
        self.ended: SessionEnded | None = None

    def apply(self, event: Event, at: float) -> None:
        """Take one event of the log."""
        self.updated_at = at
        self.head += 1
        take = self._TAKEN_BY.get(type(event))
        if take is not None:
            take(self, event)
        self.conversation.apply(event, at)

    @property
    def session_id(self) -> str:
        return self.created.session_id

    @property
    def reserved(self) -> list[RunLimits]:
        """What is set aside for children that run."""
        return [child.started.reserved for child in self.children.values() if child.runs]

    @property
    def running_children(self) -> dict[str, Child]:
        """Children that have not ended, by id."""
        return {child_id: child for child_id, child in self.children.items() if child.runs}

    def child_of_call(self, call_id: str) -> str:
        """Return the id of the child that a call has started; empty when it started none."""
        for child_id, child in self.children.items():
            if call_id == child.key or call_id in child.ends:
                return child_id
        return ""

    @property
    def questions(self) -> list[CallWaiting]:
        """What a person or a client still has to answer: for calls, then for children nobody waits for."""
        block = self.conversation.block
        own = block.questions if block is not None else []
        asked = {waiting.request.request_id for waiting in own if waiting.request is not None}
        of_children = (child.asks for child in self.children.values() if child.runs)
        return own + [
            asks for asks in of_children if asks and asks.request and asks.request.request_id not in asked
        ]

    @property
    def status(self) -> SessionStatus:
        if self.ended is not None:
            return "ended"
        if self.has_work:
            return "running"
        return "waiting" if self.conversation.block is not None else "idle"

    @property
    def has_work(self) -> bool:
        """Whether a run would have something to do."""
        if self.ended is not None:
            return False
        talk = self.conversation
        if self.run is not None or self.interrupted is not None:
            return True
        if talk.block is not None:
            return talk.block.can_go_on
        return any(not waiting.quiet for waiting in talk.queue.values())

    @property
    def may_be_tried_again(self) -> bool:
        """Whether the last run failed and left something that the model has not answered."""
        if self.ended is not None or self.run is not None or self.last_end is None:
            return False
        return self.last_end.end == "failed" and self.conversation.owes_answer

    def card(self, head: int) -> SessionCard:
        """What lists of sessions show."""
        created = self.created
        return SessionCard(
            session_id=created.session_id,
            created_at=self.created_at,
            updated_at=self.updated_at,
            project=created.project,
            title=self.title,
            agent=created.agent.name,
            model=self.conversation.model or created.agent.model or self.asked,
            status=self.status,
            parent_id=created.parent_id,
            tokens=self.conversation.total.tokens,
            cost=self.conversation.total.cost,
            head=head,
        )

    # --- what changes it ---

    def _created(self, event: SessionCreated) -> None:
        raise EngineFault(f"session {event.session_id} was created twice")

    def _run_begins(self, event: RunStarted) -> None:
        self.run = event

    def _run_over(self, event: RunEnded) -> None:
        self.run, self.last_end, self.interrupted = None, event, None
        self.retrying = False
        self.returning, self.rested_at = False, self.head

    def _interrupt(self, event: InterruptRequested) -> None:
        """What runs stops, and with it every child; where nothing runs, only they do."""
        if event.child_id:
            self.children[event.child_id].stopping = event.reason
            return
        talk = self.conversation
        if self.run is not None or talk.block is not None or talk.queue:
            self.interrupted = event.reason
        for child in () if event.alone else self.running_children.values():
            child.stopping = event.reason
        for input_id, waiting in talk.queue.items():
            if waiting.source != "user":
                talk.queue[input_id] = replace(waiting, quiet=True)

    def _ask(self, event: ModelAsked) -> None:
        self.asked, self.retrying = event.model, False

    def _model_failed(self, event: ModelFailed) -> None:
        self.retrying = event.retry_in is not None or bool(event.next_model)

    def _permit(self, event: PermissionsChanged) -> None:
        self.permission_changes += event.changes

    def _tools_listed(self, event: ToolsListed) -> None:
        self.defers = True
        self.listed = (self.listed | set(event.names)) - set(event.gone)

    def _tools_loaded(self, event: ToolsLoaded) -> None:
        self.loaded += [name for name in event.names if name not in self.loaded]
        if not self.defers:  # the session begins with them
            self.named.update(event.names)

    def _tools_unloaded(self, event: ToolsUnloaded) -> None:
        self.loaded = [name for name in self.loaded if name not in event.names]
        self.carried.difference_update(event.names)
        self.unused = [name for name in self.unused if name not in event.names]

    def _shortened(self, event: Compacted) -> None:
        del event
        self.listed.clear()
        self.carried.update(name for name in self.loaded if name not in self.named)
        self.unused = [name for name in self.loaded if name in self.carried and name not in self._called]
        self.skills_in_sight.clear()

    def _skill(self, event: SkillTakenUp) -> None:
        self._skill_calls[event.call_id] = event
        self.skill_rules = tuple(dict.fromkeys((*self.skill_rules, *event.rules)))

    def _another_agent(self, event: AgentChanged) -> None:
        self.agent = event.agent

    def _call_over(self, event: CallEnded) -> None:
        self._called.add(event.tool)
        if event.new_cwd:
            self.cwd = event.new_cwd
        skill = self._skill_calls.pop(event.call_id, None)
        if skill is not None and event.state == "done":
            self.skills_in_sight.add((skill.digest, skill.arguments))

    def _child_begins(self, event: ChildStarted) -> None:
        known = self.children.get(event.child_id)
        if known is None:
            self.children[event.child_id] = Child(event)
        else:
            known.started, known.ended, known.stopping = event, None, ""
            known.starts += 1
            known.delivered.clear()

    def _child_over(self, event: ChildEnded) -> None:
        child = self.children.get(event.child_id)
        if child is not None:
            child.ended, child.asks, child.answer = event, None, None
            child.left.clear()
            child.ends[child.key] = event
            child.used = added(child.used, used_by_child(event))

    def _waits(self, event: CallWaiting) -> None:
        if event.kind == "child":
            child = self.children.get(self.child_of_call(event.call_id))
            if child is not None:
                child.asks = event if event.request is not None else None

    def _answered(self, event: CallAnswered) -> None:
        child = self.children.get(self.child_of_call(event.call_id))
        if child is not None and event.answer is not None:
            child.asks, child.answer = None, event

    def _call_left(self, event: ChildCallsLeft) -> None:
        self.children[event.child_id].left |= {call.call_id: call for call in event.calls}

    def _call_made(self, event: ChildCallAnswered) -> None:
        child = self.children[event.child_id]
        child.left.pop(event.call_id, None)
        child.delivered[event.call_id] = event

    def _child_closed(self, event: ChildClosed) -> None:
        self.children[event.child_id].closed = True

    def _handed(self, event: HandedBack) -> None:
        self.handed_back, self.returning = event.returned, True

    def _taken(self, event: InputTaken) -> None:
        self.handed_back = None
        taken = self.conversation.queue.get(event.input_id)
        if taken is not None and taken.source == "user":
            self.skill_rules = ()

    def _titled(self, event: SessionTitled) -> None:
        self.title = event.title

    def _over(self, event: SessionEnded) -> None:
        self.ended = event

    _TAKEN_BY: ClassVar[Mapping[type, Callable[..., None]]] = {
        SessionCreated: _created,
        RunStarted: _run_begins,
        RunEnded: _run_over,
        InterruptRequested: _interrupt,
        ModelAsked: _ask,
        PermissionsChanged: _permit,
        AgentChanged: _another_agent,
        ToolsListed: _tools_listed,
        ToolsLoaded: _tools_loaded,
        ToolsUnloaded: _tools_unloaded,
        SkillTakenUp: _skill,
        Compacted: _shortened,
        CallEnded: _call_over,
        CallWaiting: _waits,
        CallAnswered: _answered,
        ChildStarted: _child_begins,
        ChildEnded: _child_over,
        ChildCallsLeft: _call_left,
        ChildCallAnswered: _call_made,
        ChildClosed: _child_closed,
        ModelFailed: _model_failed,
        HandedBack: _handed,
        InputTaken: _taken,
        SessionTitled: _titled,
        SessionEnded: _over,
    }


CARD_EVENTS: frozenset[type] = frozenset({
    SessionCreated, InputAccepted, InputDropped, CallAnswered, RunStarted, RunEnded, SessionTitled,
    SessionEnded,
})  # fmt: skip
"""What changes the card of a session."""


def folded(records: Iterable[Record]) -> SessionState:
    """Return the state that a log leads to. May raise EngineFault for a log without a beginning."""
    state: SessionState | None = None
    for record in records:
        event = record.event
        if state is None:
            if not isinstance(event, SessionCreated):
                raise EngineFault(f"the log of {record.session_id} does not begin with its creation")
            state = SessionState(event, record.at)
        else:
            state.apply(event, record.at)
    if state is None:
        raise EngineFault("the log is empty")
    return state
