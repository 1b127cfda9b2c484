"""Runs the handlers an event concerns, all at once, and returns one verdict."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import anyio

from toolwright.contracts.errors import EngineFault
from toolwright.contracts.events import HookFinished
from toolwright.contracts.hooks import NO_VERDICT, Hook, HookEvent, HookInput, HookOutput, HookVerdict
from toolwright.contracts.ports import EventSink
from toolwright.tool_calls.hooks.matching import ConditionMatches, name_test
from toolwright.tool_calls.hooks.merge import Said, merged

LONGEST_TEXT = 10_000
_GATES: frozenset[HookEvent] = frozenset({"PreToolUse", "PreToolExecute"})
_logger = logging.getLogger(__name__)

Shorten = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class _Ready:
    hook: Hook
    concerns: Callable[[Iterable[str]], bool]


class Hooks:
    """All hooks of a session, in configuration order."""

    def __init__(
        self,
        hooks: Sequence[Hook],
        *,
        condition_matches: ConditionMatches,
        sink: EventSink | None = None,
        fail_closed: bool = False,
        shorten: Shorten | None = None,
        start_soon: Callable[..., object] | None = None,
        wake: Callable[[str], None] | None = None,
    ) -> None:
        """``shorten`` stores a text that is too long and returns what stands for it; ``start_soon`` is
        that of a task group in which background hooks live; ``wake`` gives the model a text later."""
        self._by_event: dict[HookEvent, list[_Ready]] = {}
        for hook in hooks:
            self._by_event.setdefault(hook.event, []).append(_Ready(hook, name_test(hook.matcher)))
        self._condition_matches = condition_matches
        self._sink = sink
        self._fail_closed = fail_closed
        self._shorten = shorten or _cut
        self._start_soon = start_soon
        self._wake = wake
        self._spent: set[int] = set()

    def has(self, event: HookEvent) -> bool:
        """Whether anything listens at all; cheap enough to ask in every step."""
        return event in self._by_event

    async def run(self, input: HookInput) -> HookVerdict:
        """Return what all matching handlers said. A failing handler never raises here."""
        waited_for: list[Hook] = []
        for hook in self._chosen(input):
            if hook.background and self._start_soon is not None:
                self._start_soon(self._answer_later, hook, input)
            else:
                waited_for.append(hook)
        if not waited_for:
            return NO_VERDICT
        if len(waited_for) == 1:
            return merged(input.event, [await self._answer(waited_for[0], input)])
        verdict = merged(input.event, await self._answers(waited_for, input))
        for warning in verdict.warnings:
            _logger.warning(warning)
        return verdict

    def _chosen(self, input: HookInput) -> list[Hook]:
        names = (*input.tool_names, input.tool)
        chosen: list[Hook] = []
        seen: set[str] = set()
        for ready in self._by_event.get(input.event, ()):
            hook = ready.hook
            if id(hook) in self._spent or hook.identity in seen:
                continue
            if input.tool and not ready.concerns(names):
                continue
            if not self._condition_holds(hook, input):
                continue
            if hook.identity:
                seen.add(hook.identity)
            if hook.once:
                self._spent.add(id(hook))
            chosen.append(hook)
        return chosen

    def _condition_holds(self, hook: Hook, input: HookInput) -> bool:
        """Whether the ``if`` rule of a hook lets it run. A condition that cannot be judged lets it run:
        it is a filter that saves work and never a gate. Judging asks the tool, which may raise anything."""
        if not hook.condition:
            return True
        try:
            return self._condition_matches(hook.condition, input)
        except EngineFault:
            raise
        except Exception:
            _logger.exception("the condition of hook %s could not be judged", hook.label)
            return True

    async def _answers(self, hooks: Sequence[Hook], input: HookInput) -> list[Said]:
        answers: list[Said | None] = [None] * len(hooks)

        async def answer(index: int) -> None:
            answers[index] = await self._answer(hooks[index], input)

        async with anyio.create_task_group() as group:
            for index in range(len(hooks)):
                group.start_soon(answer, index)
        return [said for said in answers if said is not None]

    async def _answer_later(self, hook: Hook, input: HookInput) -> None:
        started = perf_counter()
        output = await self._limited(await _called(hook, input))
        self._report(hook, input, output, perf_counter() - started)
        if hook.wakes and output.blocked and self._wake is not None:
            self._wake(f"Hook {hook.label}: {output.reason}")

    async def _answer(self, hook: Hook, input: HookInput) -> Said:
        started = perf_counter()
        output = await self._limited(self._judged(hook, await _called(hook, input)))
        self._report(hook, input, output, perf_counter() - started)
        return Said(hook.label, output)

    def _judged(self, hook: Hook, output: HookOutput) -> HookOutput:
        """A gate that is broken may have to count as closed; what runs in the background is no gate."""
        if hook.background:
            return HookOutput(problem=output.problem, system_message=output.system_message)
        if output.problem and hook.event in _GATES and (hook.in_process or self._fail_closed):
            return replace(output, blocked=True, reason=output.reason or f"the hook failed: {output.problem}")
        return output

    async def _limited(self, output: HookOutput) -> HookOutput:
        if all(len(text) <= LONGEST_TEXT for text in _texts(output)):
            return output
        reason, context, stop_reason, message = [await self._short(text) for text in _texts(output)]
        return replace(
            output, reason=reason, context=context, stop_reason=stop_reason, system_message=message
        )

    async def _short(self, text: str) -> str:
        return text if len(text) <= LONGEST_TEXT else await self._shorten(text)

    def _report(self, hook: Hook, input: HookInput, output: HookOutput, duration: float) -> None:
        if self._sink is None:
            return
        call_id = input.payload.get("tool_use_id", "")
        self._sink.observe(
            HookFinished(
                call_id=call_id if isinstance(call_id, str) else "",
                tool=input.tool,
                event=input.event,
                label=hook.label,
                decision="deny" if output.blocked else output.decision,
                duration=duration,
                problem=output.problem,
                message=output.system_message,
            )
        )


async def _called(hook: Hook, input: HookInput) -> HookOutput:
    """Call a handler within its time; whatever goes wrong in it becomes its problem."""
    answer: object = None
    try:
        with anyio.move_on_after(hook.timeout) as scope:
            answer = await hook.handler(input)
    except EngineFault:
        raise
    except Exception as error:
        _logger.exception("hook %s failed", hook.label)
        return HookOutput(problem=f"failed with {type(error).__name__}: {error}")
    if scope.cancelled_caught:
        return HookOutput(problem=f"gave no answer within {hook.timeout:g} s")
    if answer is None:
        return HookOutput()
    if not isinstance(answer, HookOutput):
        return HookOutput(problem=f"answered with {type(answer).__name__}, not with a hook output")
    return answer


def _texts(output: HookOutput) -> tuple[str, str, str, str]:
    return (output.reason, output.context, output.stop_reason, output.system_message)


async def _cut(text: str) -> str:
    return f"{text[:LONGEST_TEXT]}\n[… {len(text) - LONGEST_TEXT} characters omitted …]"
