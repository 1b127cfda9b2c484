"""One question to the person at the terminal: what can be answered, and what each key means (pure)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest, RuleChange
from toolwright.surfaces.approving import answered
from toolwright.surfaces.rendering.approvals import offer_text

Act = Literal["allow", "remember", "deny", "explain", "show"]
READING_TIME = 0.3
"""Seconds for which a new question takes no key: whoever was typing did not mean it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to answer."""

    act: Act
    text: str
    letter: str = ""
    change: RuleChange | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and how far the person is with it."""

    request: ApprovalRequest
    since: float = 0.0
    whole: bool = True
    """All of it has been on the screen."""
    at: int = 0
    explaining: bool = False
    """The person is writing what to do instead."""

    def is_open(self, now: float) -> bool:
        """Whether keys count by now."""
        return now - self.since >= READING_TIME

    @property
    def choices(self) -> tuple[Choice, ...]:
        """What can be answered, in the order of the numbers."""
        return tuple(_choices(self.request, whole=self.whole))


ShowAll = Literal["show all"]
Pressed = Question | ApprovalAnswer | ShowAll
"""What a key led to: the question further on, an answer, or the wish to see all of it first."""


def _choices(request: ApprovalRequest, *, whole: bool) -> Iterator[Choice]:
    yield Choice("allow", "Yes, this once", "y")
    if not request.one_time_only:
        for number, change in enumerate(request.suggestions):
            yield Choice("remember", f"Yes, and {offer_text(change)}", "a" if number == 0 else "", change)
    yield Choice("deny", "No, and stop", "n")
    yield Choice("explain", "No, and say what to do instead", "m")
    if not whole:
        yield Choice("show", "Show all of it", "s")


def pressed(question: Question, key: str) -> Pressed:
    """Return what a key means. Keys that mean nothing leave the question as it is."""
    choices = question.choices
    if key in {"up", "down"}:
        step = 1 if key == "down" else -1
        return replace(question, at=(question.at + step) % len(choices))
    if key == "enter":
        return chosen(question, choices[question.at])
    if key == "tab":
        return replace(question, explaining=True)
    place = int(key) - 1 if key.isascii() and key.isdigit() else None
    for number, choice in enumerate(choices):
        if number == place or (key and key.lower() == choice.letter):
            return chosen(replace(question, at=number), choice)
    return question


def chosen(question: Question, choice: Choice) -> Pressed:
    """Return what a choice leads to. Nothing is allowed of which a part was not on the screen yet."""
    request = question.request
    if choice.act == "explain":
        return replace(question, explaining=True)
    if choice.act == "deny":
        return answered(request, allow=False)
    if choice.act == "show" or not question.whole:
        return "show all"
    answer = answered(request, allow=True)
    return answer if choice.change is None else replace(answer, changes=(choice.change,))


def explained(question: Question, reason: str) -> ApprovalAnswer:
    """Return the answer "no", with what the model shall read."""
    return answered(question.request, allow=False, message=reason.strip())
