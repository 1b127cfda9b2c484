"""What the tools about agents have in common: who they are for, and how an agent is written down."""

from collections.abc import Iterable
from dataclasses import replace

from toolwright.contracts.children import ChildRuns, ChildView
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import ToolSpec

WITHOUT_SESSION = "agents belong to a session, and a call on its own has none"
_LONGEST_LINE = 300


def for_session(spec: ToolSpec, children: ChildRuns | None) -> ToolSpec:
    """Return the spec of a tool about agents, unavailable where there is no session."""
    return spec if children is not None else replace(spec, unavailable=WITHOUT_SESSION)


def required(children: ChildRuns | None) -> ChildRuns:
    """Return the children of the session. Raises ToolFailure where there is none."""
    if children is None:
        raise ToolFailure("tool_unavailable", f"This cannot work here: {WITHOUT_SESSION}.")
    return children


def known_line(agent: AgentDefinition) -> str:
    """Return an agent that can be started as one line."""
    about = " ".join(agent.description.split())
    about = about if len(about) <= _LONGEST_LINE else f"{about[: _LONGEST_LINE - 1]}…"
    return f"- {agent.name}: {about}" if about else f"- {agent.name}"


def child_line(view: ChildView) -> str:
    """Return an agent that was started as one line."""
    called = f"{view.name!r}, " if view.name else ""
    about = f": {view.description}" if view.description else ""
    work = f"{view.calls:,} call{'' if view.calls == 1 else 's'}"
    why = f" ({view.message})" if view.message else ""
    state = "waiting for a person" if view.status == "waiting" else view.status
    return f"- {view.child_id} ({called}{view.agent}{about}): {state}, {work}{why}"


def child_data(view: ChildView) -> dict[str, object]:
    """Return an agent that was started for programs."""
    return {
        "agent_id": view.child_id,
        "name": view.name,
        "agent_type": view.agent,
        "description": view.description,
        "status": view.status,
        "background": view.background,
        "message": view.message,
        "tool_uses": view.calls,
        "tokens": view.usage.context_tokens,
    }


def has_ended(view: ChildView) -> bool:
    """Whether an agent works no more."""
    return view.status not in {"running", "waiting"}


def counted(views: Iterable[object]) -> str:
    """Return how many agents there are, in words."""
    count = len(list(views))
    return f"{count} agent{'' if count == 1 else 's'}"
