"""What several handlers said about one event becomes one verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from toolwright.contracts.hooks import NO_VERDICT, HookEvent, HookOutput, HookVerdict

Word = Literal["allow", "deny", "ask", "defer"]

STRENGTH: tuple[Word, ...] = ("deny", "defer", "ask", "allow")
"""The first of these that any handler said is the decision."""
REFUSABLE: frozenset[HookEvent] = frozenset({"PreToolUse", "PreToolExecute", "TaskCreated", "TaskCompleted"})
"""Events in which a block prevents something. A permission request is answered in JSON only."""


@dataclass(frozen=True, slots=True)
class Said:
    """One handler's answer."""

    label: str
    output: HookOutput


def merged(event: HookEvent, answers: Sequence[Said]) -> HookVerdict:
    """Return the verdict over all answers, which come in configuration order."""
    if not answers:
        return NO_VERDICT
    deciding = _deciding(event, answers)
    input_from = _last([said for said in answers if said.output.updated_input is not None])
    output_from = _last([said for said in answers if said.output.has_updated_output])
    stopping = next((said for said in answers if _stops(event, said.output)), None)
    return HookVerdict(
        decision=_word(event, deciding.output) if deciding else None,
        reason=deciding.output.reason if deciding else "",
        label=deciding.label if deciding else "",
        updated_input=input_from.output.updated_input if input_from else None,
        contexts=tuple(text for said in answers for text in _contexts(event, said)),
        updated_output=output_from.output.updated_output if output_from else None,
        has_updated_output=output_from is not None,
        changes=tuple(change for said in answers for change in said.output.changes),
        interrupt=any(said.output.interrupt for said in answers),
        stop=stopping is not None,
        stop_reason=_stop_reason(stopping),
        messages=tuple(said.output.system_message for said in answers if said.output.system_message),
        warnings=_warnings(answers),
        problems=tuple(f"{said.label}: {said.output.problem}" for said in answers if said.output.problem),
        retry=any(said.output.retry for said in answers),
    )


def _word(event: HookEvent, output: HookOutput) -> Word | None:
    if output.blocked and event in REFUSABLE:
        return "deny"
    return output.decision


def _deciding(event: HookEvent, answers: Sequence[Said]) -> Said | None:
    for word in STRENGTH:
        for said in answers:
            if _word(event, said.output) == word:
                return said
    return None


def _last(answers: Sequence[Said]) -> Said | None:
    return answers[-1] if answers else None


def _contexts(event: HookEvent, said: Said) -> tuple[str, ...]:
    """A block after the fact can only be feedback."""
    output = said.output
    feedback = output.reason if output.blocked and event == "PostToolUse" else ""
    return tuple(text for text in (feedback, output.context) if text)


def _stops(event: HookEvent, output: HookOutput) -> bool:
    return output.stop or (output.blocked and event == "PostToolBatch")


def _stop_reason(stopping: Said | None) -> str:
    if stopping is None:
        return ""
    return stopping.output.stop_reason or stopping.output.reason or f"Stopped by hook {stopping.label}."


def _warnings(answers: Sequence[Said]) -> tuple[str, ...]:
    warnings = []
    for what, changers in (
        ("input", [said.label for said in answers if said.output.updated_input is not None]),
        ("output", [said.label for said in answers if said.output.has_updated_output]),
    ):
        if len(changers) > 1:
            lost = ", ".join(changers[:-1])
            warnings.append(f"Several hooks changed the {what}; {changers[-1]} counts, not {lost}.")
    return tuple(warnings)
