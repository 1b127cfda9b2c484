"""Many answers, one verdict."""

from collections.abc import Sequence
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.contracts.hooks import NO_VERDICT, HookEvent, HookOutput, HookVerdict
from toolwright.contracts.permissions import RuleChange
from toolwright.tool_calls.hooks.merge import STRENGTH, Said, Word, merged


def answers(*outputs: HookOutput) -> list[Said]:
    return [Said(f"h{number}", output) for number, output in enumerate(outputs, start=1)]


def test_nothing_said_is_no_verdict() -> None:
    assert merged("PreToolUse", []) == NO_VERDICT
    assert merged("PreToolUse", answers(HookOutput(), HookOutput())) == NO_VERDICT


@pytest.mark.parametrize(
    ("words", "decision", "label"),
    [
        (["allow"], "allow", "h1"),
        (["allow", "ask"], "ask", "h2"),
        (["ask", "defer"], "defer", "h2"),
        (["defer", "deny", "allow"], "deny", "h2"),
        (["deny", "deny"], "deny", "h1"),
        ([None, "allow"], "allow", "h2"),
    ],
)
def test_the_strongest_word_counts_and_its_first_speaker_is_named(
    words: list[Word | None], decision: Word, label: str
) -> None:
    said = [Said(f"h{n}", HookOutput(decision=word, reason=f"r{n}")) for n, word in enumerate(words, start=1)]

    assert merged("PreToolUse", said) == HookVerdict(
        decision=decision, label=label, reason=label.replace("h", "r")
    )


@pytest.mark.parametrize(
    ("event", "verdict"),
    [
        ("PreToolUse", HookVerdict(decision="deny", reason="no", label="h1")),
        ("PreToolExecute", HookVerdict(decision="deny", reason="no", label="h1")),
        ("TaskCreated", HookVerdict(decision="deny", reason="no", label="h1")),
        ("TaskCompleted", HookVerdict(decision="deny", reason="no", label="h1")),
        ("PostToolUse", HookVerdict(contexts=("no",))),
        ("PostToolBatch", HookVerdict(stop=True, stop_reason="no")),
        ("PermissionRequest", NO_VERDICT),
        ("PostToolUseFailure", NO_VERDICT),
        ("PermissionDenied", NO_VERDICT),
        ("ToolValidationFailed", NO_VERDICT),
    ],
)
def test_what_a_block_means_for_each_event(event: HookEvent, verdict: HookVerdict) -> None:
    assert merged(event, answers(HookOutput(blocked=True, reason="no"))) == verdict


def test_a_block_beats_what_the_same_handler_decided() -> None:
    assert merged("PreToolUse", answers(HookOutput(decision="allow", blocked=True))).decision == "deny"


def test_contexts_messages_changes_and_problems_keep_their_order() -> None:
    one, two = RuleChange("setMode", mode="plan"), RuleChange("addRules", rules=("Read",))

    verdict = merged(
        "PermissionRequest",
        answers(
            HookOutput(context="c1", system_message="m1", changes=(one,), problem="p1"),
            HookOutput(context="c2", system_message="m2", changes=(two,), interrupt=True, retry=True),
        ),
    )

    assert verdict == HookVerdict(
        contexts=("c1", "c2"),
        messages=("m1", "m2"),
        changes=(one, two),
        problems=("h1: p1",),
        interrupt=True,
        retry=True,
    )


def test_the_last_changed_input_counts_and_the_others_are_named() -> None:
    verdict = merged(
        "PreToolUse",
        answers(
            HookOutput(updated_input={"a": 1}),
            HookOutput(updated_input={"a": 2}),
            HookOutput(updated_input={}),
        ),
    )

    assert verdict == HookVerdict(
        updated_input={}, warnings=("Several hooks changed the input; h3 counts, not h1, h2.",)
    )


def test_an_output_may_be_changed_to_nothing() -> None:
    verdict = merged("PostToolUse", answers(HookOutput(updated_output=None, has_updated_output=True)))

    assert verdict == HookVerdict(has_updated_output=True)


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (HookOutput(stop=True, stop_reason="enough", reason="r"), "enough"),
        (HookOutput(stop=True, reason="r"), "r"),
        (HookOutput(stop=True), "Stopped by hook h1."),
    ],
)
def test_a_stop_beats_everything_and_has_a_reason(output: HookOutput, reason: str) -> None:
    verdict = merged("PreToolUse", answers(output, HookOutput(decision="allow")))

    assert (verdict.stop, verdict.stop_reason, verdict.decision) == (True, reason, "allow")


@given(words=st.lists(st.sampled_from([None, *get_args(Word)]), max_size=6))
def test_no_answer_of_another_handler_weakens_a_decision(words: Sequence[Word | None]) -> None:
    decision = merged("PreToolUse", answers(*(HookOutput(decision=word) for word in words))).decision

    spoken = [STRENGTH.index(word) for word in words if word]
    assert decision == (STRENGTH[min(spoken)] if spoken else None)
