"""What one session offers now: all its tools, or most of them by their names until the model asks for them.

The list of tools changes only between requests, and only by what the log says, so that it is the same again
after a restart.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from anyio.to_thread import run_sync

from toolwright.contracts.events import LoggedEvent, ToolsListed, ToolsLoaded, ToolsUnloaded
from toolwright.contracts.models import ModelProfile
from toolwright.contracts.tool import Offered, OfferedTool
from toolwright.contracts.tool_search import FoundTool, ToolsFound, UnknownName
from toolwright.sessions.journal import Journal
from toolwright.settings.sections import Delivery
from toolwright.tools import deferring, visibility
from toolwright.tools.deferring import Way, When
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

    def names(self) -> Sequence[str]:
        """Servers whose tools are there."""
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

    def names(self) -> Sequence[str]:
        return ()

    async def settled(self, timeout: float) -> None:
        del timeout


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a session's tools are told of and found."""

    delivery: Delivery = "auto"
    most_results: int = 5
    wait: float = 10.0
    """Seconds for servers that are being connected."""
    named: tuple[str, ...] = ()
    """Names of tools that the session begins with: its definition names them."""


USUAL: Final = Manner()


class Shelf:
    """``ToolShelf`` of one session, and its offer."""

    def __init__(
        self,
        journal: Journal,
        *,
        when: When,
        profile: Callable[[], ModelProfile],
        manner: Manner = USUAL,
        newcomers: Newcomers | None = None,
    ) -> None:
        """``profile`` tells what the model can do; asked when it is first needed."""
        self._journal = journal
        self._when = when
        self._profile = profile
        self._manner = manner
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
        toolset, selection = _with_own(toolset, selection)
        self._stocked = (registry, toolset, selection)
        self._times_stocked += 1
        self._all = visibility.offer(registry, toolset, selection)
        self._tools = {
            tool.tool.spec.name: tool
            for tool in self._all.offered.tools
            if tool.tool.spec.name not in deferring.OWN
        }
        return self.offer()

    @property
    def way(self) -> Way:
        """How definitions come to the model that is asked now."""
        native = self._profile().tool_search
        return deferring.way(self._manner.delivery, self._everything.tools, native=native)

    @property
    def search_name(self) -> str:
        """The wire name of the tool that finds others, where the provider keeps their definitions aside."""
        if not self._journal.state.defers or self.way != "native":
            return ""
        return self._named(deferring.SEARCH, wire=True)

    def offer(self) -> visibility.Offer:
        """Return what is offered now."""
        registry, toolset, selection = self._goods()
        state = self._journal.state
        if not state.defers:
            return visibility.offer(registry, toolset, _without(selection, *sorted(deferring.OWN)))
        way, loaded = self.way, tuple(state.loaded)
        selection = _without(selection, deferring.WAITING)
        if way != "dispatch":
            selection = _without(selection, deferring.CALLER)
        away = deferring.deferred(self._everything.tools, loaded)
        told = frozenset() if way == "append" else frozenset(loaded)
        told -= state.named if way == "dispatch" else state.named | state.carried
        selection = replace(
            selection, deferred=away, told=told, appended=tuple(name for name in loaded if name not in told)
        )
        return visibility.offer(registry, toolset, selection)

    @property
    def is_as_told(self) -> bool:
        """Whether nothing has changed since the model was told last: then there is nothing to work out."""
        return self._told_at == self._now

    @property
    def _now(self) -> object:
        """Everything that an offer and the news of it depend on."""
        state = self._journal.state
        talk = state.conversation
        sizes = (state.defers, len(state.loaded), len(state.listed), len(state.unused), talk.compactions)
        return (self._times_stocked, talk.model, state.agent.model, *sizes)

    def told(self) -> None:
        """Remember that the model knows what there is now."""
        self._told_at = self._now

    def news(self) -> Sequence[LoggedEvent]:
        """Return what changes before the next request, for the log; what the model is told comes last.

        Decides whether tools are deferred from now on, and never takes that back.
        """
        state = self._journal.state
        tools = [tool for tool in self._everything.tools if tool.tool.spec.name != deferring.CALLER]
        if not state.defers and not deferring.is_time(
            self._when, tools, window=self._profile().context_window
        ):
            return ()
        events: list[LoggedEvent] = []
        stale = self._stale()
        loaded = [name for name in state.loaded if name not in stale]
        if stale:
            events.append(ToolsUnloaded(names=stale))
        if not state.defers and (named := self._named_by_definition()):
            events.append(ToolsLoaded(names=named))
            loaded += named
        away = deferring.deferred(tools, loaded)
        new = [tool for tool in tools if tool.tool.spec.name in away - state.listed]
        lost = sorted(state.listed - {tool.tool.spec.name for tool in tools})
        if new or lost or not state.defers:
            names = tuple(tool.tool.spec.name for tool in new)
            events.append(ToolsListed(names=names, gone=tuple(lost), text=self._told(new, lost)))
        return events

    def _stale(self) -> tuple[str, ...]:
        """Tools that are to be known by name only again, since the conversation was shortened.

        Where the list must never change, all whose definitions the model has lost.
        """
        state = self._journal.state
        if state.defers and self.way == "dispatch":
            return tuple(name for name in state.loaded if name in state.carried)
        return tuple(state.unused)

    def _named_by_definition(self) -> tuple[str, ...]:
        wanted = self._manner.named
        found = (tool for tool in self._tools.values() if deferring.deferrable(tool.tool.spec))
        return tuple(tool.tool.spec.name for tool in found if not _spellings(tool).isdisjoint(wanted))

    def _named(self, canonical: str, *, wire: bool = False) -> str:
        """What the model knows a tool as; empty where it is not offered."""
        found = (tool for tool in self._everything.tools if tool.tool.spec.name == canonical)
        return next((tool.wire_name if wire else tool.name for tool in found), "")

    @property
    def _call_with(self) -> str:
        return self._named(deferring.CALLER) if self.way == "dispatch" else ""

    def _told(self, new: Sequence[OfferedTool], lost: Sequence[str]) -> str:
        parts = [deferring.gone(lost)] if lost else []
        if new:
            parts.append(
                deferring.listing(
                    new,
                    search=self._named(deferring.SEARCH),
                    about=self.newcomers.about(),
                    failed=self.newcomers.failed(),
                    call_with=self._call_with,
                    more=bool(self._journal.state.listed),
                )
            )
        return "\n".join(parts)

    # --- finding and loading --------------------------------------------------------------------

    async def search(self, query: str, limit: int | None = None) -> ToolsFound:
        """Find tools and load what was found."""
        most = limit or self._manner.most_results
        index = await run_sync(self._index)
        found = index.find(query, most)
        if not found.is_good and self.newcomers.pending():
            await self.newcomers.settled(self._manner.wait)
            await asyncio.sleep(_LOOK_AGAIN)  # what came is put on the shelf by others
            index = await run_sync(self._index)
            found = index.find(query, most)
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
            servers=tuple(self.newcomers.names()),
            call_with=self._call_with,
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

    async def search(self, query: str, limit: int | None = None) -> ToolsFound:
        del query, limit
        return ToolsFound()


def _with_own(toolset: Toolset, selection: visibility.Selection) -> tuple[Toolset, visibility.Selection]:
    """Offer the tools that find and call others also where a toolset or a list names all that are offered."""
    if toolset.others == "absent":
        toolset = replace(toolset, names={**{name: name for name in deferring.OWN}, **toolset.names})
    if selection.only is not None:
        selection = replace(selection, only=(*selection.only, *deferring.OWN))
    return toolset, selection


def _without(selection: visibility.Selection, *names: str) -> visibility.Selection:
    return replace(selection, disabled=(*selection.disabled, *names))


def _spellings(tool: OfferedTool) -> set[str]:
    return {tool.tool.spec.name, tool.name, tool.wire_name, *tool.tool.spec.aliases}


def definition(tool: OfferedTool) -> Mapping[str, object]:
    """Return a definition as a model reads it in a result."""
    return {
        "description": tool.description,
        "name": tool.wire_name,
        "parameters": tool.tool.spec.input_schema,
    }
