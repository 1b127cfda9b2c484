"""The agents that a session may start, and what each of them would work with."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from toolwright.catalog.folders import KnownAgents
from toolwright.contracts.children import ChildTask
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import RuleError, SettingsError, ToolFailure
from toolwright.sessions.children import ChildLimits
from toolwright.sessions.rights import Rights
from toolwright.sessions.state import SessionState
from toolwright.settings import Loaded
from toolwright.tools.deferring import OWN
from toolwright.turns.parts import ModelLookup
from toolwright.wiring.house import MAIN_AGENT
from toolwright.wiring.rights import Member

if TYPE_CHECKING:
    from toolwright.sessions.children import Staff


class HouseStaff:
    """Implements ``Staff`` for one session. ``rights_of`` is told once its house is built."""

    def __init__(
        self,
        loaded: Loaded,
        known: KnownAgents,
        state: SessionState,
        *,
        may_start: Callable[[str], bool],
        lookup: ModelLookup,
        model: str,
    ) -> None:
        children = loaded.settings.children
        limits = ChildLimits(**children.model_dump())
        most = state.agent.most_running
        self._limits = limits if most is None else replace(limits, max_running=most)
        own = {agent.name: agent for agent in state.agent.roster}
        named = {agent.name: agent for agent in known.definitions} | own
        self._agents = tuple(
            agent
            for name, agent in sorted(named.items())
            if may_start(name) and (name != MAIN_AGENT.name or name in own)
        )
        self._state = state
        self._lookup = lookup
        self._model = model
        self.rights_of: Callable[[Member], Rights] | None = None

    @property
    def limits(self) -> ChildLimits:
        return self._limits

    @property
    def agents(self) -> Sequence[AgentDefinition]:
        return self._agents

    def hired(self, task: ChildTask) -> AgentDefinition:
        definition = next((agent for agent in self._agents if agent.name == task.agent), None)
        if definition is None:
            known = ", ".join(agent.name for agent in self._agents)
            hint = f"Known: {known}." if known else "This session may start none."
            raise ToolFailure("validation_failed", f"There is no agent {task.agent!r}.", hint=hint)
        mine = self._state.agent
        model = task.model or definition.model or self._state.conversation.model or mine.model or self._model
        self._check_model(model)
        hired = replace(
            definition,
            model=model,
            toolset=definition.toolset or mine.toolset,
            effort=definition.effort or mine.effort,
            max_tokens=definition.max_tokens or mine.max_tokens,
            entries=mine.entries if definition.entries is None else definition.entries,
            charter=definition.charter or mine.charter,
            side_by_side=definition.side_by_side or mine.side_by_side,
        )
        self._check_tools(hired, background=task.background)
        return hired

    def _check_model(self, model: str) -> None:
        try:
            self._lookup(model)
        except SettingsError as problem:
            raise ToolFailure("validation_failed", str(problem)) from problem

    def _check_tools(self, hired: AgentDefinition, *, background: bool) -> None:
        if self.rights_of is None or hired.own_rights:
            return
        depth = self._state.created.depth + 1
        try:
            rights = self.rights_of(Member(agent=hired, depth=depth, background=background))
        except (RuleError, SettingsError) as problem:
            raise ToolFailure("validation_failed", f"{hired.name} cannot work: {problem}") from problem
        if hired.tools and rights.tools <= OWN:  # what finds tools is of no use without any
            raise ToolFailure(
                "validation_failed",
                f"None of the tools of {hired.name} is there for it: {', '.join(hired.tools)}.",
                hint="Start another agent, or do the work yourself.",
            )


if TYPE_CHECKING:

    def _fits(staff: HouseStaff) -> Staff:
        return staff
