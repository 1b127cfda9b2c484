"""What an agent did, taken from the log of its session (pure)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolwright.contracts.errors import ErrorCode
from toolwright.contracts.events import CallEnded, CallEndState, ModelAnswered, Record, RunEndKind
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.models import NO_USAGE, Usage
from toolwright.tool_calls.json_text import Broken, parsed

Tree = Mapping[str, str]
"""The files of a workspace: a digest of each, by its path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedCall:
    """One call that the model made."""

    call_id: str
    offered: str
    """The name that the model wrote."""
    tool: str = ""
    """The canonical one; empty for a call that never ended."""
    input: Mapping[str, Any] | None = None
    """None where it was no JSON object."""
    state: CallEndState | None = None
    code: ErrorCode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What came of one attempt."""

    end: RunEndKind | Literal["idle"] = "done"
    message: str = ""
    """Why it ended, where that is not a plain end."""
    text: str = ""
    """The last answer."""
    calls: tuple[ObservedCall, ...] = ()
    """In the order in which the model made them."""
    rounds: int = 0
    usage: Usage = NO_USAGE
    cost: float = 0.0
    before: Tree = field(default_factory=dict)
    after: Tree = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    """What is in the files whose text matters."""

    @property
    def tokens(self) -> int:
        """All tokens of all answers, cached ones included."""
        used = self.usage
        return used.input_tokens + used.output_tokens + used.cache_read_tokens + used.cache_write_tokens

    @property
    def changes(self) -> Mapping[str, Literal["created", "changed", "deleted"]]:
        """The files that are not as they were, by path."""
        found: dict[str, Literal["created", "changed", "deleted"]] = {}
        for path in sorted(self.before.keys() | self.after.keys()):
            if path not in self.before:
                found[path] = "created"
            elif path not in self.after:
                found[path] = "deleted"
            elif self.before[path] != self.after[path]:
                found[path] = "changed"
        return found


def calls_of(records: Iterable[Record]) -> tuple[ObservedCall, ...]:
    """Return the calls of a session. Those of an answer that was cut off never ran and do not count."""
    asked: dict[str, CallBlock] = {}
    ended: dict[str, CallEnded] = {}
    for record in records:
        event = record.event
        if isinstance(event, ModelAnswered) and not event.cut:
            asked |= {block.call_id: block for block in event.blocks if isinstance(block, CallBlock)}
        elif isinstance(event, CallEnded):
            ended[event.call_id] = event
    return tuple(_call(block, ended.get(block.call_id)) for block in asked.values())


def _call(block: CallBlock, end: CallEnded | None) -> ObservedCall:
    wrote = parsed(block.input)
    input: Mapping[str, Any] | None = None if isinstance(wrote, Broken) else wrote
    if end is None:
        return ObservedCall(call_id=block.call_id, offered=block.name, input=input)
    return ObservedCall(
        call_id=block.call_id,
        offered=block.name,
        tool=end.tool,
        input=input if end.input is None else end.input,
        state=end.state,
        code=end.code,
    )
