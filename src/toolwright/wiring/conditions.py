"""The ``if`` of a hook: does a permission rule, written as text, speak of this call?"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from toolwright import shell
from toolwright.contracts.hooks import HookInput
from toolwright.contracts.permissions import RuleSet
from toolwright.contracts.tool import Offered, ToolCall
from toolwright.tool_calls.in_force import InForce
from toolwright.tool_calls.live import LiveCall, Turn
from toolwright.tool_calls.observable import subject_of
from toolwright.tool_calls.permissions.decide import denied
from toolwright.tool_calls.permissions.rules import parse_rule
from toolwright.tools.registry import Registry


class Conditions:
    """Judges conditions by the same code as deny rules, so both mean the same by the same text.

    A command that cannot be read meets every condition about commands: a condition saves work, and the
    hook behind it may be a gate.
    """

    def __init__(self, tools: Callable[[], Registry], in_force: InForce, names: Mapping[str, str]) -> None:
        """``tools`` says which there are by now: servers bring theirs later."""
        self._tools = tools
        self._in_force = in_force
        self._names = names

    def __call__(self, text: str, input: HookInput) -> bool:
        tool = self._tools().find(input.tool)
        if tool is None:
            return False
        policy = self._in_force.policy
        rule = parse_rule(text, behavior="deny", source="session", names=self._names, base=policy.cwd)
        given = input.payload.get("tool_input", {})
        traits = tool.traits(given)
        live = LiveCall(ToolCall("", input.tool, given), _NO_TURN, started_at=0.0)
        live.spec, live.input, live.traits = tool.spec, given, traits
        subject = subject_of(live, policy, self._in_force.workspace)
        if denied(replace(policy, rules=RuleSet(deny=(rule,))), subject) is not None:
            return True
        return traits.command is not None and not shell.analyse(traits.command).parsable


_NO_TURN = Turn(offered=Offered((), {}))
