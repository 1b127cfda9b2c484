"""What a session is told of its servers and their resources, and no more often than it can be read."""

import anyio
import pytest

from toolwright.contracts.call_events import ServerChanged, TaskChanged
from toolwright.contracts.events import Event
from toolwright.contracts.mcp_servers import ServerStatus, ServerView
from toolwright.wiring import mcp
from toolwright.wiring.mcp import ResourceNews, Standing

pytestmark = pytest.mark.anyio


class Sink:
    """``EventSink`` that keeps what it sees."""

    def __init__(self) -> None:
        self.seen: list[Event] = []
        self._more = anyio.Event()

    def observe(self, event: Event) -> None:
        self.seen.append(event)
        more, self._more = self._more, anyio.Event()
        more.set()

    async def has(self, count: int) -> None:
        with anyio.fail_after(20):
            while len(self.seen) < count:
                await self._more.wait()


def view(status: ServerStatus, reason: str = "") -> ServerView:
    return ServerView(name="srv", transport="http", status=status, reason=reason)


def test_how_a_server_stands_is_told_once_and_not_while_it_is_on_its_way() -> None:
    sink = Sink()
    standing = Standing(sink)
    for seen in (
        view("connecting"), view("connected"), view("reconnecting"), view("connected"),
        view("failed", reason="gone"), view("failed", reason="gone"), view("connected"),
    ):  # fmt: skip
        standing.moved(seen)
    told = [(event.status, event.reason) for event in sink.seen if isinstance(event, ServerChanged)]
    assert told == [("connected", ""), ("failed", "gone"), ("connected", "")]


async def test_a_resource_that_changes_again_and_again_is_told_at_once_then_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mcp, "_NEWS_EVERY", 0.05)
    sink = Sink()
    news = ResourceNews(sink)
    for _ in range(10):
        news.changed("srv", "test://a")
    assert len(sink.seen) == 1
    news.changed("srv", "test://b")
    assert len(sink.seen) == 2
    await sink.has(3)
    texts = [event.text for event in sink.seen if isinstance(event, TaskChanged)]
    assert ["test://a" in text for text in texts] == [True, False, True]
