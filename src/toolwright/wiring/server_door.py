"""Between the MCP servers of a session and its house, which is built after them."""

from collections.abc import Callable, Sequence

from toolwright.contracts.errors import EngineFault
from toolwright.contracts.mcp_servers import Elicitor, ServerView
from toolwright.contracts.ports import BlobStore, EventSink
from toolwright.tool_calls.permissions.subject import Policy
from toolwright.turns.parts import ModelLookup
from toolwright.wiring.credentials import SessionCredentials
from toolwright.wiring.house import House
from toolwright.wiring.mcp import ForSession, Standing
from toolwright.wiring.sampling import ModelSampler, Used
from toolwright.wiring.shelf import Shelf


class ServerDoor:
    """Gives the servers of a session what they need, and tells the house when they change."""

    def __init__(
        self,
        sink: EventSink,
        *,
        family: str,
        blobs: BlobStore,
        lookup: ModelLookup,
        model: Callable[[], str],
        used: Used,
        elicitor: Elicitor | None,
    ) -> None:
        """``family`` is the session that all started from; ``model`` the one that is asked now."""
        self._family = family
        self._blobs = blobs
        self._sink = sink
        self._standing = Standing(sink)
        self._sampler = ModelSampler(lookup, model, self._policy, used, elicitor)
        self._house: House | None = None
        self.credentials: SessionCredentials | None = None
        """What the servers may be shown; put here before they are started."""

    def open(self, house: House, shelf: Shelf) -> None:
        """Say which house it is."""
        self._house = house
        if house.servers is not None:
            shelf.newcomers = house.servers

    @property
    def given(self) -> ForSession:
        """What the servers of the session are given."""
        return ForSession(
            family=self._family,
            blobs=self._blobs,
            sink=self._sink,
            roots=self._roots,
            moved=self._moved,
            sampler=self._sampler,
            credentials=lambda: self.credentials,
        )

    def _moved(self, view: ServerView) -> None:
        """Put what came on the shelf at once, so that it is found; it is offered from the next request on."""
        self._standing.moved(view)
        if self._house is not None:
            self._house.follow_servers()

    def _roots(self) -> Sequence[str]:
        return () if self._house is None else self._house.in_force.policy.roots

    def _policy(self) -> Policy:
        if self._house is None:
            raise EngineFault("a server asked before its session was furnished")
        return self._house.in_force.policy
