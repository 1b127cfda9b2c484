"""What one session offers now: all its tools, or most of them by their names until the model asks for them.

The list of tools changes only between requests, and only by what the log says, so that it is the same again
after a restart.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from anyio.to_thread import run_sync

from toolwright.contracts.events import ToolsListed, ToolsLoaded
from toolwright.contracts.tool import Offered, OfferedTool
from toolwright.contracts.tool_search import FoundTool, ToolsFound, UnknownName
from toolwright.sessions.journal import Journal
from toolwright.tools import deferring, visibility
from toolwright.tools.deferring import When
from toolwright.tools.registry import Registry
from toolwright.tools.tool_queries import ToolIndex
from toolwright.tools.toolsets import Toolset

_LOOK_AGAIN: Final = 0.05
_MOST_INDEXES: Final = 8
_INDEXES: OrderedDict[str, ToolIndex] = OrderedDict()
_MAKING: Final = threading.Lock()


class Newcomers(Protocol):
    """Servers whose tools may still come."""

    def pending(self) -> Sequence[str]:
        """Names of servers that are being connected."""
        ...

    def failed(self) -> Mapping[str, str]:
        """Servers that are not there, and why."""
        ...

    def about(self) -> Mapping[str, str]:
        """What servers say they are for."""
        ...

    async def settled(self, timeout: float) -> None:
        """Return once no server is being connected any more, or the time is over."""
        ...


class Nobody:
    """Where no server is connected."""

    def pending(self) -> Sequence[str]:
        return ()

    def failed(self) -> Mapping[str, str]:
        return {}

    def about(self) -> Mapping[str, str]:
        return {}

    async def settled(self, timeout: float) -> None:
        del timeout


class Shelf:
    """``ToolShelf`` of one session, and its offer."""

    def __init__(
        self,
        journal: Journal,
        *,
        when: When,
        window: Callable[[], int],
        wait: float = 10.0,
        newcomers: Newcomers | None = None,
    ) -> None:
        """``window`` tells how many tokens the model takes; asked when it is first needed."""
        self._journal = journal
        self._when = when
        self._window = window
        self._wait = wait
        self.newcomers: Newcomers = newcomers or Nobody()
        self._stocked: tuple[Registry, Toolset, visibility.Selection] | None = None
        self._all: visibility.Offer | None = None
        self._tools: Mapping[str, OfferedTool] = {}
        self._times_stocked = 0
        self._told_at: object = None

    # --- the offer ------------------------------------------------------------------------------

    def stock(
        self, registry: Registry, toolset: Toolset, selection: visibility.Selection
    ) -> visibility.Offer:
        """Take over what there is, and return what is offered of it."""
        self._stocked = (registry, toolset, selection)
        self._times_stocked += 1
        self._all = visibility.offer(registry, toolset, selection)
        self._tools = {
            tool.tool.spec.name: tool
            for tool in self._all.offered.tools
            if tool.tool.spec.name != deferring.SEARCH
        }
        return self.offer()

    def offer(self) -> visibility.Offer:
        """Return what is offered now."""
        registry, toolset, selection = self._goods()
        state = self._journal.state
        if not state.defers:
            hidden = replace(selection, disabled=(*selection.disabled, deferring.SEARCH))
            return visibility.offer(registry, toolset, hidden)
        loaded = tuple(state.loaded)
        away = deferring.deferred(self._everything.tools, loaded)
        return visibility.offer(registry, toolset, replace(selection, deferred=away, appended=loaded))

    @property
    def is_as_told(self) -> bool:
        """Whether nothing has changed since the model was told last: then there is nothing to work out."""
        return self._told_at == self._now

    @property
    def _now(self) -> object:
        """Everything that an offer and the news of it depend on."""
        state = self._journal.state
        talk = state.conversation
        sizes = (state.defers, len(state.loaded), len(state.listed), talk.compactions)
        return (self._times_stocked, talk.model, *sizes)

    def told(self) -> None:
        """Remember that the model knows what there is now."""
        self._told_at = self._now

    def news(self) -> ToolsListed | None:
        """Return what the model is to be told before its next request, for the log; None for nothing.

        Decides whether tools are deferred from now on, and never takes that back.
        """
        state = self._journal.state
        tools = self._everything.tools
        if not state.defers and not deferring.is_time(self._when, tools, window=self._window()):
            return None
        away = deferring.deferred(tools, state.loaded)
        new = [tool for tool in tools if tool.tool.spec.name in away - state.listed]
        present = {tool.tool.spec.name for tool in tools}
        lost = sorted(state.listed - present)
        if not new and not lost and state.defers:
            return None
        return ToolsListed(
            names=tuple(tool.tool.spec.name for tool in new), gone=tuple(lost), text=self._told(new, lost)
        )

    def _told(self, new: Sequence[OfferedTool], lost: Sequence[str]) -> str:
        search = next((t.name for t in self._everything.tools if t.tool.spec.name == deferring.SEARCH), "")
        parts = [deferring.gone(lost)] if lost else []
        if new:
            parts.append(
                deferring.listing(
                    new,
                    search=search,
                    about=self.newcomers.about(),
                    failed=self.newcomers.failed(),
                    more=bool(self._journal.state.listed),
                )
            )
        return "\n".join(parts)

    # --- finding and loading --------------------------------------------------------------------

    async def search(self, query: str, limit: int) -> ToolsFound:
        """Find tools and load what was found."""
        index = await run_sync(self._index)
        found = index.find(query, limit)
        if not found.is_good and self.newcomers.pending():
            await self.newcomers.settled(self._wait)
            await asyncio.sleep(_LOOK_AGAIN)  # what came is put on the shelf by others
            index = await run_sync(self._index)
            found = index.find(query, limit)
        known = set(self._journal.state.loaded) | self._at_hand
        self.load(*(match.key for match in found.matches))
        tools = index.tools
        return ToolsFound(
            tools=tuple(
                FoundTool(
                    name=tools[match.key].name,
                    definition=definition(tools[match.key]),
                    score=match.score,
                    loaded_before=match.key in known,
                )
                for match in found.matches
            ),
            unknown=tuple(UnknownName(name=one.name, near=one.near) for one in found.unknown),
            near=() if found.matches else index.near(query),
            deferred=len(deferring.deferred(tools.values(), self._journal.state.loaded)),
            pending=tuple(self.newcomers.pending()),
            failed=self.newcomers.failed(),
        )

    def load(self, *names: str) -> None:
        """Let tools be called that were known by name only. Those that are loaded change nothing."""
        tools = self._tools
        known = set(self._journal.state.loaded)
        new = [n for n in names if n not in known and n in tools and deferring.deferrable(tools[n].tool.spec)]
        if new:
            self._journal.record(ToolsLoaded(names=tuple(dict.fromkeys(new))))

    def _index(self) -> ToolIndex:
        """Return the index of all tools, which sessions with the same ones share. Blocking."""
        key = self._everything.fingerprint
        with _MAKING:
            index = _INDEXES.get(key)
            if index is None:
                index = _INDEXES[key] = ToolIndex(self._tools.values())
            _INDEXES.move_to_end(key)
            if len(_INDEXES) > _MOST_INDEXES:
                _INDEXES.popitem(last=False)
        return index

    @property
    def _at_hand(self) -> set[str]:
        return {name for name, tool in self._tools.items() if not deferring.deferrable(tool.tool.spec)}

    @property
    def _everything(self) -> Offered:
        if self._all is None:
            raise AssertionError("a shelf is stocked before it is looked at")
        return self._all.offered

    def _goods(self) -> tuple[Registry, Toolset, visibility.Selection]:
        if self._stocked is None:
            raise AssertionError("a shelf is stocked before it is looked at")
        return self._stocked


class BareShelf:
    """``ToolShelf`` on which there is nothing: everything is offered at once."""

    is_as_told = True

    def stock(
        self, registry: Registry, toolset: Toolset, selection: visibility.Selection
    ) -> visibility.Offer:
        return visibility.offer(registry, toolset, selection)

    def load(self, *names: str) -> None:
        del names

    async def search(self, query: str, limit: int) -> ToolsFound:
        del query, limit
        return ToolsFound()


def definition(tool: OfferedTool) -> Mapping[str, object]:
    """Return a definition as a model reads it in a result."""
    return {
        "description": tool.description,
        "name": tool.wire_name,
        "parameters": tool.tool.spec.input_schema,
    }
