"""What keys do to a conversation."""

import time
from dataclasses import replace
from functools import partial

from toolwright.contracts.permissions import ApprovalAnswer, Mode
from toolwright.surfaces.chat import slash
from toolwright.surfaces.chat.commands import carried_out
from toolwright.surfaces.chat.conversation import Conversation
from toolwright.surfaces.chat.leaving import Situation, Step, ctrl_c, ctrl_d
from toolwright.surfaces.chat.questions import explained, pressed
from toolwright.surfaces.chat.screen import ChatScreen
from toolwright.surfaces.chat.state import At
from toolwright.surfaces.rendering.session_items import drawn

_MODES: tuple[Mode, ...] = ("default", "acceptEdits", "plan")


class ConversationHands:
    """The hands of the person who talks."""

    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        self.screen: ChatScreen
        """Where the person types; known once it is made."""

    @property
    def at(self) -> At:
        """Where keys go."""
        return self._talk.state.at

    def touched(self) -> None:
        """Any key was pressed."""
        self._talk.last_key = time.monotonic()
        self._talk.state.hint = ""

    # --- the draft ------------------------------------------------------------------------------

    def submit(self) -> None:
        """Take what is typed: words for the model, or a command."""
        draft = self.screen.draft
        text = draft.text.strip("\n").rstrip()
        if not text:
            self.turn_to_question()
            return
        asked = slash.read(text)
        if isinstance(asked, slash.Unknown):
            self._talk.state.hint = slash.unknown_text(asked)
            self._talk.moves()
            return
        draft.reset(append_to_history=asked != slash.Asked("quit"))
        self._talk.last_key = float("-inf")  # who has sent is not writing any more
        if asked is None:
            self._talk.order(partial(self._talk.send, text))
        else:
            self._talk.order(partial(carried_out, self._talk, asked))

    def take_back(self) -> bool:
        """Take the last words out of the queue; False when none are there."""
        if not self._talk.state.queued:
            return False
        self._talk.order(self._talk.take_back)
        return True

    def next_mode(self) -> None:
        """Go to the next permission mode."""
        present = self._talk.state.mode
        place = _MODES.index(present) + 1 if present in _MODES else 0
        self._talk.order(partial(self._talk.enter_mode, _MODES[place % len(_MODES)]))

    # --- questions and lists --------------------------------------------------------------------

    def turn_to_question(self) -> bool:
        """Let the keys go to the question that waits; False when none does."""
        if self._talk.state.question is None:
            return False
        self._talk.state.take_keys(time.monotonic())
        self._talk.moves()
        return True

    def press(self, key: str) -> None:
        """Take a key of the question."""
        talk, question = self._talk, self._talk.state.question
        if question is None or not question.is_open(time.monotonic()):
            return
        led_to = pressed(question, key)
        if isinstance(led_to, ApprovalAnswer):
            talk.answered(led_to)
        elif led_to == "show all":
            talk.page.print_whole_question()
        else:
            talk.state.question = led_to
            talk.moves()

    def reply(self) -> None:
        """Take the reason that is typed."""
        question = self._talk.state.question
        if question is not None:
            self._talk.answered(explained(question, self.screen.reply.text))

    def move(self, step: int) -> None:
        """Move the mark of the list."""
        state = self._talk.state
        if state.picker is not None:
            state.picker = state.picker.moved(step)
            self._talk.moves()

    def typed(self, text: str) -> None:
        """Narrow the list down to what is typed."""
        state = self._talk.state
        if state.picker is not None:
            state.picker = state.picker.narrowed(text)
            self._talk.moves()

    def choose(self) -> None:
        """Take the marked row of the list."""
        picker = self._talk.state.picker
        row = picker.chosen if picker is not None else None
        if row is not None:
            self._talk.state.picker = None
            self._talk.choose(row)
            self._talk.moves()

    def escape(self) -> None:
        """Go back; in a draft it interrupts."""
        state = self._talk.state
        if state.picker is not None:
            state.picker = None
        elif state.at == "reason" and state.question is not None:
            state.question = replace(state.question, explaining=False)
        elif state.at == "question":
            state.give_keys()
        elif state.is_working and not state.transcript.interrupting:
            self._talk.at_once(self._talk.interrupt)
        self._talk.moves()

    # --- leaving --------------------------------------------------------------------------------

    def ctrl_c(self) -> None:
        """Interrupt, clear, or leave at the second press."""
        if self._talk.state.picker is not None:
            self.escape()
            return
        self._step(ctrl_c(self._talk.state.leaving, self._situation()))

    def ctrl_d(self) -> bool:
        """Leave; False when it deletes a character instead."""
        return self._step(ctrl_d(self._talk.state.leaving, self._situation()))

    def _step(self, step: Step) -> bool:
        self._talk.state.leaving = step.leaving
        match step.meaning:
            case "interrupt":
                self._talk.at_once(self._talk.interrupt)
            case "clear":
                self.screen.draft.reset(append_to_history=True)
            case "leave":
                self.screen.leave()
            case "delete":
                return False
            case "warn":
                pass  # the last line says it
        self._talk.moves()
        return True

    def _situation(self) -> Situation:
        return self._talk.state.situation(time.monotonic(), draft=self.screen.draft.text)

    # --- looking --------------------------------------------------------------------------------

    def show_last_call(self) -> None:
        """Show the last call in full."""
        last = self._talk.state.last_call
        if last is None:
            self._talk.state.hint = "no call has ended yet."
            self._talk.moves()
        else:
            self._talk.page.print(drawn(last, "full"))

    def redraw(self) -> None:
        """Draw everything anew."""
        self._talk.page.print_anew()
