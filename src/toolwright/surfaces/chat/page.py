"""What a conversation prints for good, and prints anew when the terminal has changed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from toolwright.contracts.view import Style, Text
from toolwright.surfaces.chat.painter import Painter
from toolwright.surfaces.chat.questions import Question
from toolwright.surfaces.chat.state import ChatState, Printed
from toolwright.surfaces.rendering.session_notes import Note

_WHOLE = 60
"""Lines of a question that are printed at once on the smallest screen."""
_LEAST_BELOW_A_QUESTION = 10
"""Lines that stay free for the answers when only the beginning of a question is printed."""
_SHOWN_OF_THE_PAST = 40


class Paper(Protocol):
    """Where a conversation is drawn."""

    @property
    def width(self) -> int: ...

    @property
    def rows(self) -> int: ...

    @property
    def typed(self) -> str:
        """What the person is writing."""
        ...

    def changed(self) -> None:
        """Draw anew what may change."""

    def print(self, text: str) -> None:
        """Put lines above all that may change."""

    def print_anew(self, text: str) -> None:
        """Begin the screen with these lines."""

    def write(self, text: str) -> None:
        """Put words where the person writes."""

    def bell(self) -> None:
        """Call the person."""

    def leave(self) -> None:
        """End the conversation."""


class Page:
    """The lines of a conversation, from the first one to the place where a person types."""

    def __init__(self, state: ChatState, painter: Painter) -> None:
        self.painter = painter
        self.paper: Paper
        """Known once it is made."""
        self._state = state
        self._before: object = None
        """What stands above the next part."""

    @property
    def width(self) -> int:
        return self.paper.width

    def say(self, text: str, style: Style = "dim") -> None:
        """Print words of our own."""
        self.print(Text(text, style))

    def note(self, text: str) -> None:
        """Print something that a person should know, such as a warning of the program."""
        self.print(Note(text, "warn"))

    def print(self, *parts: Printed) -> None:
        """Print parts for good, below all that was printed before."""
        text = self.painter.parts(parts, self.width, before=self._before, details=self._state.details)
        self._state.printed.extend(parts)
        self._before = parts[-1] if parts else self._before
        self.paper.print(text)

    def print_past(self, past: Sequence[Printed]) -> None:
        """Print the end of what happened before."""
        left_out = len(past) - _SHOWN_OF_THE_PAST
        if left_out > 0:
            self.say(f"… {left_out} more before this; /export writes all of it.")
        self.print(*past[-_SHOWN_OF_THE_PAST:])

    def print_anew(self) -> None:
        """Draw everything that fits on the screen anew."""
        rows = self.paper.rows
        parts = list(self._state.printed)[-rows:]
        text = self.painter.parts(parts, self.width, before=None, details=self._state.details)
        if self._state.question is not None:
            text += self._question_text(self._state.question)
        self.paper.print_anew("".join(text.splitlines(keepends=True)[-rows:]))

    # --- questions ------------------------------------------------------------------------------

    def print_question(self, question: Question) -> None:
        """Print a question that is new; a very long one only in part, and then it cannot be allowed yet."""
        lines = self.painter.question(question.request, self.width)
        is_whole = len(lines) <= max(_WHOLE, 2 * self.paper.rows)
        self._state.question = replace(question, whole=is_whole)
        self.paper.print(self._question_text(self._state.question))
        self.paper.bell()

    def print_whole_question(self) -> None:
        """Print all of the question; from then on it can be allowed."""
        if self._state.question is not None:
            self._state.question = replace(self._state.question, whole=True)
            self.paper.print(self._question_text(self._state.question))

    def _question_text(self, question: Question) -> str:
        self._before = question
        lines = self.painter.question(question.request, self.width)
        room = max(self.paper.rows - _LEAST_BELOW_A_QUESTION, 3)
        if not question.whole and len(lines) > room:
            hidden = Text(f"… {len(lines) - room} more lines: s shows all of it", "warn")
            lines = [*lines[:room], self.painter.text(hidden, self.width)]
        return "".join(["\n", *lines])
