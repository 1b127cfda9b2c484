"""What sessions of a simulation work with: the real pipeline, rules and limits; no disk, no thread."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from tests.simulation.clock import SimClock
from tests.simulation.model import SimModel
from tests.simulation.tools import FREE, Tools

from toolwright.contracts.definitions import NO_LIMITS, AgentDefinition, RunLimits
from toolwright.contracts.events import PermissionsChanged
from toolwright.contracts.models import Preamble, ToolDefinition
from toolwright.contracts.permissions import RuleChange
from toolwright.contracts.tool import Offered
from toolwright.sessions.journal import OBSERVED, Journal
from toolwright.settings import Loaded, load
from toolwright.testing import MemoryBlobs
from toolwright.tool_calls.batch import Scheduling
from toolwright.tool_calls.in_force import InForce
from toolwright.tool_calls.parts import Judge, Parts
from toolwright.tool_calls.permissions.decide import decide, denied
from toolwright.tool_calls.permissions.subject import Policy
from toolwright.tool_calls.pipeline import Pipeline
from toolwright.tool_calls.results import ResultLimits, Results
from toolwright.tool_calls.validation import Validators
from toolwright.tools import visibility
from toolwright.tools.registry import merged
from toolwright.turns.call_log import CallLog
from toolwright.turns.limits import call_quotas
from toolwright.turns.parts import Compaction, Model, TurnParts
from toolwright.turns.retrying import Retries
from toolwright.wiring.furnishing import Later
from toolwright.wiring.policy import Changes, known_names, starting_policy
from toolwright.workspaces.workspace import LocalWorkspace, open_workspace

_FOLDER = str(Path(__file__).resolve().parent)
_AGENT = AgentDefinition(allow=FREE)


@dataclass(frozen=True, slots=True)
class Shop:
    """What all simulations share: it never changes."""

    loaded: Loaded
    tools: Tools
    offered: Offered
    policy: Policy
    workspace: LocalWorkspace
    validators: Validators
    preamble: Preamble


@cache
def shop() -> Shop:
    """Return it, made when it is first needed."""
    loaded, tools = load(_FOLDER, environ={}, read_files=False), Tools()
    offered = visibility.offered(merged(tools.all))
    workspace = open_workspace([_FOLDER], _FOLDER)
    ruling = starting_policy(
        loaded,
        known_names([tool.spec for tool in tools.all]),
        cwd=_FOLDER,
        roots=(_FOLDER,),
        readable=(),
        bypass_enabled=False,
        can_ask=True,
        agent=_AGENT,
    )
    told = tuple(ToolDefinition(t.wire_name, t.description, t.tool.spec.input_schema) for t in offered.tools)
    preamble = Preamble(("You are simulated.",), told, offered.fingerprint)
    return Shop(loaded, tools, offered, ruling.policy, workspace, Validators(), preamble)


class SimFurniture:
    """One session's."""

    def __init__(self, parts: TurnParts, journal: Journal, changes: Changes) -> None:
        self.parts = parts
        self._journal = journal
        self._changes = changes

    @property
    def pinned(self) -> bool:
        return False

    async def change_permissions(self, changes: Sequence[RuleChange]) -> None:
        in_force = self.parts.pipeline.parts.in_force
        after = self._changes.after(in_force.policy, changes)
        self._journal.record(PermissionsChanged(changes=tuple(changes)), by_client=True)
        in_force.change(after)
        await self._journal.durable()

    def stand_under(self, policy: Policy) -> None:
        """There are no children here."""

    async def close(self) -> None:
        """Nothing is held open."""


@dataclass(slots=True)
class SimFurnishing:
    """Builds what a session works with."""

    model: SimModel
    chance: Random
    window: int = 100_000
    limits: RunLimits = NO_LIMITS

    async def __call__(self, journal: Journal) -> SimFurniture:
        made, clock = shop(), SimClock()
        changes = Changes(
            made.loaded,
            known_names([tool.spec for tool in made.tools.all]),
            told=lambda changes: journal.record(PermissionsChanged(changes=tuple(changes))),
        )
        policy = changes.after(made.policy, journal.state.permission_changes)
        blobs = MemoryBlobs(clock)
        pipeline = Pipeline(
            Parts(
                in_force=InForce(policy=policy, workspace=made.workspace),
                judge=Judge(denied, decide),
                results=Results(blobs, ResultLimits(), lambda text: text),
                approver=Later(),
                clock=clock,
                apply_changes=changes,
                sink=journal,
                told=OBSERVED,
                journal=CallLog(journal),
            ),
            quotas=call_quotas(self.limits),
            validators=made.validators,
        )
        model = Model(self.model.provider(window=self.window), "scripted", "scripted")
        return SimFurniture(
            TurnParts(
                log=journal,
                pipeline=pipeline,
                offered=made.offered,
                preamble=made.preamble,
                lookup=lambda written: model,
                model="scripted",
                clock=clock,
                random=self.chance.random,
                scheduling=Scheduling(max_concurrency=3),
                session_id=journal.state.session_id,
                limits=self.limits,
                retries=Retries(attempts=3, base=0.1, cap=2.0),
                compaction=Compaction(keep_messages=4),
                blobs=blobs,
            ),
            journal,
            changes,
        )
