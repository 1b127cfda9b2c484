"""The tools of a simulated engine, and the world that they change: it is not undone when a process dies."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import anyio

from toolwright import ClientTool
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import CallContext, Tool
from toolwright.tools.define import tool

ONCE = frozenset({"post", "spend", "alone"})
"""Tools that must not run twice."""
FREE = ("look", "peek", "post", "put", "alone", "stubborn")
"""What may be called without asking; ``spend`` asks."""
_PLAIN = {"type": "object", "properties": {"n": {"type": "integer"}}}


@dataclass(frozen=True, slots=True)
class Effect:
    """A tool was at work, for a call that had this key."""

    tool: str
    session_id: str
    call_id: str
    key: str


@dataclass(slots=True)
class Effects:
    """All that tools did, over all lives. The process at work says who may act and what chance there is."""

    done: list[Effect] = field(default_factory=list)
    returned: list[Effect] = field(default_factory=list)
    """What came to its end, in the present life."""
    reported: list[Effect] = field(default_factory=list)
    """What came to its end in lives that ended in an orderly way: its results are known."""
    problems: list[str] = field(default_factory=list)
    chance: Random = field(default_factory=Random)
    slowness: float = 1.0
    may_act: Callable[[], bool] = lambda: True
    is_begun: Callable[[str, str], bool] = lambda session_id, key: True
    """Whether the start of a call is durable."""

    async def work(self, name: str, ctx: CallContext) -> str:
        """Do something that takes a while, has its effect at one moment in it, and may fail."""
        await anyio.sleep(self.chance.random() ** 2 * self.slowness)
        if not self.may_act():
            return "from beyond the grave"
        if name in ONCE and not self.is_begun(ctx.session_id, ctx.idempotency_key):
            self.problems.append(f"{name} of {ctx.call_id} began before its start was durable")
        effect = Effect(name, ctx.session_id, ctx.call_id, ctx.idempotency_key)
        self.done.append(effect)
        await anyio.sleep(self.chance.random() ** 2 * self.slowness)
        luck = self.chance.random()
        if luck < 0.05:
            raise ToolFailure("command_failed", f"{name} failed")
        if luck < 0.07:
            raise RuntimeError("a bug in a tool")
        self.returned.append(effect)
        return f"{name} of {ctx.call_id} is done"


class Tools:
    """One tool of each kind, made once: harmless, repeatable, neither, alone, asking, the client's own."""

    def __init__(self) -> None:
        self.effects = Effects()
        """Where calls have their effects; another world for each simulation."""
        self.all = _all(lambda name, ctx: self.effects.work(name, ctx))


def _all(work: Callable[[str, CallContext], Awaitable[str]]) -> list[Tool]:
    def made(name: str, **promises: Any) -> Tool:
        async def function(ctx: CallContext, n: int = 0) -> str:
            """Do it."""
            return await work(name, ctx)

        function.__name__ = name
        return tool(**promises)(function)

    safe: dict[str, Any] = {"concurrency_safe": True, "touches": ()}
    return [
        made("look", read_only=True, **safe),
        made("peek", read_only=True, **safe),
        made("post", **safe),
        made("put", idempotent=True, **safe),
        made("alone"),
        made("spend", **safe),
        made("stubborn", read_only=True, interrupt="block", **safe),
        ClientTool("weigh", "Weigh it.", _PLAIN),
    ]
