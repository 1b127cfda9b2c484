"""Asking a model whether an agent did well. Its verdict is forced into a schema and read strictly."""

import hashlib
import json
import random
import time
from importlib.resources import files

import anyio

from toolwright.contracts.content import TextBlock
from toolwright.contracts.evals import EvalCase
from toolwright.contracts.messages import Message
from toolwright.contracts.models import Answer, ModelFault, ModelRequest, Preamble, ToolDefinition
from toolwright.surfaces.evals.found import Check
from toolwright.surfaces.evals.observing import Observed
from toolwright.tool_calls.json_text import Broken, clipped, parsed
from toolwright.tool_calls.validation import InputValidator
from toolwright.turns.parts import Model
from toolwright.turns.retrying import Retries, next_try

_CHANCE = random.SystemRandom().random
_MOST_TOKENS = 2_000
_MOST_TEXT = 20_000
_MOST_CALLS = 100
_SCHEMA = {
    "type": "object",
    "properties": {
        "reason": {
            "type": "string",
            "description": "What in the evidence decides it, in at most three sentences.",
        },
        "passed": {"type": "boolean", "description": "Whether what must hold does hold."},
    },
    "required": ["reason", "passed"],
    "additionalProperties": False,
}
_VERDICT = ToolDefinition("verdict", "Say whether what must hold does hold. Call this once.", _SCHEMA)


async def judged(
    question: str, case: EvalCase, observed: Observed, model: Model, *, retries: Retries
) -> Check:
    """Return a model's verdict. May raise ModelFault when there is none to be had."""
    request = _request(question, case, observed, model)
    began, attempt = time.monotonic(), 0
    while True:
        attempt += 1
        try:
            return _verdict(question, await _answer(model, request))
        except ModelFault as fault:
            elapsed = time.monotonic() - began
            again = next_try(retries, fault, attempt=attempt, elapsed=elapsed, chance=_CHANCE())
            if again is None:
                raise
            await anyio.sleep(again.wait)


def _request(question: str, case: EvalCase, observed: Observed, model: Model) -> ModelRequest:
    system = files(__package__).joinpath("judge.md").read_text("utf-8")
    fingerprint = hashlib.sha256(system.encode()).hexdigest()[:16]
    return ModelRequest(
        model=model.name,
        preamble=Preamble((system,), (_VERDICT,), fingerprint),
        messages=[Message("user", (TextBlock(evidence(question, case, observed)),))],
        max_tokens=min(_MOST_TOKENS, model.profile.max_output),
        tool_choice="required",
        session_id=f"judge_of_{case.id}",
    )


def evidence(question: str, case: EvalCase, observed: Observed) -> str:
    """Return what a judge reads (pure). As JSON, so that nothing in it can pass for something else."""
    calls = [
        {"tool": call.tool or call.offered, "input": call.input, "ended": call.state or "not at all"}
        for call in observed.calls[:_MOST_CALLS]
    ]
    whole = {
        "question": question,
        "task": clipped_end(f"{case.context}\n\n{case.message}".strip()),
        "calls": [clipped_end(json.dumps(call, ensure_ascii=False)) for call in calls],
        "calls_left_out": len(observed.calls) - len(calls),
        "files": dict(observed.changes),
        "answer": clipped_end(observed.text),
    }
    return json.dumps(whole, ensure_ascii=False, indent=2)


def clipped_end(text: str) -> str:
    """The beginning of a text that is too long to be read whole."""
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}… ({len(text):,} characters in all)"


async def _answer(model: Model, request: ModelRequest) -> Answer:
    answer: Answer | None = None
    async with model.provider.stream(request) as events:
        async for event in events:
            if isinstance(event, Answer):
                answer = event
    if answer is None:
        raise ModelFault("cut", f"The stream of {model.written} ended without an answer.")
    return answer


def _verdict(question: str, answer: Answer) -> Check:
    """Read a verdict. Raises ModelFault for anything else: what is unclear is asked again, never guessed."""
    calls = answer.calls
    if len(calls) != 1 or calls[0].name != _VERDICT.name:
        words = clipped(answer.text) or f"{len(calls)} calls"
        raise ModelFault("garbage", f"The judge gave no verdict, but: {words}")
    said = parsed(calls[0].input)
    if isinstance(said, Broken):
        raise ModelFault("garbage", f"The verdict of the judge is no JSON object: {said.problem}")
    problems = InputValidator(_SCHEMA).problems(said, bounded=True)
    if problems:
        raise ModelFault("garbage", f"The verdict of the judge cannot be read: {'; '.join(problems)}")
    reason = said["reason"].strip() or "no reason was given"
    return Check(f"the judge: {clipped(question, 120)}", "" if said["passed"] else f"it says: {reason}")
