"""What is on the screen of a conversation, folded from the records of its session and from keys (pure)."""

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Literal

from toolwright.contracts.events import PermissionsChanged, PreambleChanged, Record
from toolwright.contracts.permissions import ApprovalRequest, Mode
from toolwright.contracts.view import Node, Text
from toolwright.surfaces.chat.leaving import Leaving, Situation
from toolwright.surfaces.chat.picking import Picker
from toolwright.surfaces.chat.questions import Question
from toolwright.surfaces.rendering.calls import Verbosity
from toolwright.surfaces.rendering.transcript import CallOver, Item, Transcript, in_the_queue

At = Literal["draft", "question", "reason", "picker"]
"""Where keys go."""
_MOST_PRINTED = 200
Printed = Item | Node
"""A part of the session, or words of the program itself."""


@dataclass(slots=True)
class ChatState:
    """Everything that the screen shows. Records and keys change it; nothing here waits or draws."""

    transcript: Transcript = field(default_factory=Transcript)
    details: Verbosity = "normal"
    question: Question | None = None
    """The question that is put now, be it that the keys go to it or not yet."""
    has_keys: bool = False
    """The keys go to the question."""
    set_aside: bool = False
    """The person wants to write before answering."""
    picker: Picker | None = None
    leaving: Leaving = field(default_factory=Leaving)
    hint: str = ""
    """A line for the person, until the next key."""
    doing: str = ""
    """What this program does besides, in a few words."""
    mode: Mode = "default"
    window: int = 0
    """Tokens that the model's window holds; 0 while that is not known."""
    offered: tuple[str, ...] = ()
    """Names of the tools that the model was offered."""
    last_call: CallOver | None = None
    printed: deque[Printed] = field(default_factory=lambda: deque(maxlen=_MOST_PRINTED))
    """What was drawn for good, the end of it."""
    _answered: set[str] = field(default_factory=set)

    # --- what happens ---------------------------------------------------------------------------

    def see(self, record: Record) -> tuple[Printed, ...]:
        """Take one record; return what can be drawn for good."""
        thought = self.transcript.thought
        items = self.transcript.apply(record)
        event = record.event
        if isinstance(event, PreambleChanged):
            self.offered = event.tools
        if isinstance(event, PermissionsChanged):
            modes = [change.mode for change in event.changes if change.kind == "setMode" and change.mode]
            self.mode = modes[-1] if modes else self.mode
        for item in items:
            if isinstance(item, CallOver):
                self.last_call = item
        if self.details == "full" and thought and not self.transcript.thought:
            return (Text(thought.strip("\n"), "dim"), *items)
        return items

    def start_over(self) -> None:
        """Forget one session, for another one."""
        self.transcript = Transcript()
        self.question, self.picker = None, None
        self.has_keys = self.set_aside = False
        self.offered, self.last_call = (), None
        self.hint = self.doing = ""
        self._answered.clear()

    # --- questions ------------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """How many questions there are for the person."""
        return len(self._open_questions())

    def _open_questions(self) -> list[Question]:
        asked = [one.request for one in self.transcript.questions.values() if one.request is not None]
        return [Question(request) for request in asked if request.request_id not in self._answered]

    def turn_to_questions(self, now: float, *, has_draft: bool, touched: bool) -> Question | None:
        """See that the first open question is put. Return it when it is a new one, to be drawn.

        A question takes the keys by itself only when the person is writing nothing and has just ``touched``
        none, so that no key is an answer that was meant for something else.
        """
        first = next(iter(self._open_questions()), None)
        present, new = self.question, None
        if first is None:
            self.question, self.has_keys, self.set_aside = None, False, False
            return None
        if present is None or not _is_same(present.request, first.request):
            self.question = new = Question(first.request, since=now)
            self.has_keys = self.has_keys and not touched
        else:
            self.question = replace(present, request=first.request)
        if not (self.has_keys or self.set_aside or has_draft or touched or self.picker is not None):
            self.take_keys(now)
        return new

    def take_keys(self, now: float) -> None:
        """Let the keys go to the question, after a moment to read it."""
        if self.question is not None:
            self.question = replace(self.question, since=now)
            self.has_keys, self.set_aside = True, False

    def give_keys(self) -> None:
        """Let the keys go to the draft, though a question waits."""
        self.has_keys, self.set_aside = False, True

    def answered(self) -> None:
        """Note that the person has answered; the log will say so in a moment."""
        if self.question is not None:
            self._answered.add(self.question.request.request_id)
            self.question = None

    # --- what is going on -----------------------------------------------------------------------

    @property
    def at(self) -> At:
        """Where keys go."""
        if self.picker is not None:
            return "picker"
        if self.question is None or not self.has_keys:
            return "draft"
        return "reason" if self.question.explaining else "question"

    @property
    def is_working(self) -> bool:
        """Whether there is something to interrupt."""
        transcript = self.transcript
        return bool(transcript.at_work or transcript.questions or transcript.interrupting or self.doing)

    @property
    def queued(self) -> list[str]:
        """The ids of what a person said and the model has not read, oldest first."""
        return [accepted.input_id for accepted in in_the_queue(self.transcript)]

    def situation(self, now: float, *, draft: str) -> Situation:
        """Return what Ctrl-C and Ctrl-D meet."""
        return Situation(
            working=self.is_working,
            interrupting=self.transcript.interrupting,
            has_draft=bool(draft),
            now=now,
        )


def _is_same(shown: ApprovalRequest, request: ApprovalRequest) -> bool:
    """Whether a question says what one says that was shown: it is put anew when a run goes on."""
    return shown == replace(request, request_id=shown.request_id)
