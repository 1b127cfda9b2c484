"""What the routes of this dialect share while the server runs."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from anyio.to_thread import run_sync

from toolwright.catalog.directory.keeping import Catalog, CatalogKeeper, Reload
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import DefinitionError
from toolwright.surfaces.engine_variables import EngineOptions
from toolwright.surfaces.http.app import House
from toolwright.surfaces.http.engine.channels import Channels
from toolwright.surfaces.http.engine.tasks import Task, Tasks
from toolwright.surfaces.http.frames import HEARTBEAT
from toolwright.surfaces.http.problems import Problem
from toolwright.wiring.catalog import Usage, agent_of, catalog_keeper, known_agents

log = logging.getLogger(__name__)
NO_TASK: Final = "TASK_NOT_FOUND"


@dataclass(slots=True)
class Desk:
    """The catalog in use, tasks, and what is told of them."""

    house: House
    keeper: CatalogKeeper
    options: EngineOptions
    tasks: Tasks
    channels: Channels
    started_at: float
    heartbeat: float = HEARTBEAT

    @property
    def agents(self) -> tuple[AgentDefinition, ...]:
        """The agents that there are now."""
        return known_agents(self.catalog)

    @property
    def catalog(self) -> Catalog:
        """The catalog now; whoever began with another one keeps that."""
        return self.keeper.current

    async def reload(self) -> Reload:
        """Read the catalog anew."""
        found = await run_sync(self.keeper.reload)
        for problem in found.problems:
            log.warning("catalog: %s: %s: %s", problem.file, problem.error, problem.message)
        return found

    def agent(self, name: str, *, thinks: bool = False) -> AgentDefinition:
        """Return an agent as a session gets it. May raise Problem."""
        usage = Usage(rounds=self.options.rounds, hosts=self.options.hosts, effort="high" if thinks else None)
        try:
            found = agent_of(self.catalog, name, usage)
        except DefinitionError as problem:
            raise Problem("invalid", f"agent: {problem}") from None
        return self.options.with_provider(found)

    async def task(self, workspace: str, task_id: str) -> Task:
        """Return a task. May raise Problem."""
        found = await self.tasks.get(workspace, task_id)
        if found is None:
            raise Problem("not_found", f"There is no task {task_id[:80]!r}.", code=NO_TASK)
        return found


def opened(house: House) -> Desk:
    """Make the desk of a server; its streams end with it."""
    parts: Mapping[type, object] = house.parts
    keeper = parts.get(CatalogKeeper)
    if not isinstance(keeper, CatalogKeeper):
        keeper = catalog_keeper()
        keeper.open()
    options = parts.get(EngineOptions)
    channels = Channels(house.works, house.clock)
    house.at_end.append(channels.end)
    house.stack.callback(channels.close)
    return Desk(
        house=house,
        keeper=keeper,
        options=options if isinstance(options, EngineOptions) else EngineOptions(),
        tasks=Tasks(house.documents, house.clock),
        channels=channels,
        started_at=house.clock.monotonic(),
    )
