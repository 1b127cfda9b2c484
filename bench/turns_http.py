"""What a turn takes over real HTTP with streaming, and whether it takes longer the longer the session is.

python -m bench.turns_http [TURNS [ROUNDS]]

The model is a fake upstream in another process on loopback. The reference is what the wire alone takes in the
same run: a pooled HTTP client that sends the same requests as ready bytes and reads the streams to their end.
"""

import asyncio
import gc
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable

import httpx2
from bench.measuring import Stamps, Turns, conditions
from bench.upstream import TOOL, started

from toolwright import Engine, tool
from toolwright.backends.model_providers.anthropic import AnthropicModels, AnthropicSettings
from toolwright.backends.model_providers.openai import ChatModels, OpenAISettings
from toolwright.contracts.models import ModelProvider

MILLI = 1_000


async def session(provider: ModelProvider, turns: int, *, durable: bool) -> Stamps:
    stamps = Stamps()

    @tool(name=TOOL)
    async def add(a: int, b: int) -> str:
        """Add two numbers.

        Args:
            a: The first.
            b: The second.
        """
        stamps.at.append(time.perf_counter())
        return str(a + b)

    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(
            model=provider,
            tools=[add],
            allow=[TOOL],
            durable=durable,
            environ={"HOME": folder},
            settings={"limits": {"rounds": turns + 1}},
        )
        async with engine:
            opened = await engine.session()
            began = time.process_time()
            done = await opened.run("Add up.")
            stamps.at.append(time.perf_counter())
            stamps.cpu = time.process_time() - began
            if done.calls != turns or not done.ok:
                sys.exit(f"the session ended otherwise: {done}")
    await provider.close()
    return stamps


class Recording(httpx2.AsyncBaseTransport):
    """Passes requests on and keeps them."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.headers: dict[str, str] = {}
        self._inner = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.bodies.append(await request.aread())
        self.headers = dict(request.headers.items())
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


async def recorded(url: str, turns: int) -> Recording:
    """Return the requests of a whole session."""
    recording = Recording()
    settings = AnthropicSettings(base_url=url, api_key="test")
    await session(AnthropicModels(settings, transport=recording), turns, durable=False)
    return recording


async def plain(url: str, recording: Recording) -> Stamps:
    """Send the requests again as they are."""
    stamps = Stamps()
    headers = {name: value for name, value in recording.headers.items() if name != "content-length"}
    async with httpx2.AsyncClient() as client:
        began = time.process_time()
        for body in recording.bodies:
            stamps.at.append(time.perf_counter())
            async with client.stream("POST", f"{url}/v1/messages", content=body, headers=headers) as answer:
                async for _ in answer.aiter_raw():
                    pass
        stamps.cpu = time.process_time() - began
    return stamps


async def measured(turns: int, rounds: int) -> dict[str, Turns]:
    async with started(turns) as url:
        recording = await recorded(url, turns)
        anthropic = AnthropicSettings(base_url=url, api_key="test")
        openai = OpenAISettings(base_url=f"{url}/v1", api_key="test")
        kinds: dict[str, Callable[[], Awaitable[Stamps]]] = {
            "ready bytes": lambda: plain(url, recording),
            "in memory": lambda: session(AnthropicModels(anthropic), turns, durable=False),
            "durable": lambda: session(AnthropicModels(anthropic), turns, durable=True),
            "chat completions": lambda: session(ChatModels(openai), turns, durable=False),
        }
        found: dict[str, list[Stamps]] = {name: [] for name in kinds}
        for number in range(rounds + 1):
            for name, run in kinds.items():
                gc.collect()
                stamps = await run()
                if number:
                    found[name].append(stamps)
    return {name: Turns(all_of) for name, all_of in found.items()}


def main(turns: int = 200, rounds: int = 5) -> None:
    found = asyncio.run(measured(turns, rounds))
    reference = found["ready bytes"]
    columns = ("wall", "cpu", "x ready", "first tenth", "last tenth")
    print(f"{'milliseconds a turn':20}" + "".join(f"{column:>12}" for column in columns))
    for name, of in found.items():
        parts = (of.seconds * MILLI, of.cpu * MILLI, of.seconds / reference.seconds)
        tenths = (of.first * MILLI, of.last * MILLI)
        print(f"{name:20}" + "".join(f"{part:12.2f}" for part in (*parts, *tenths)) + f"   x{of.growth:.2f}")
    print(f"goal 2.00, last tenth x1.30; {turns} turns, least of {rounds} rounds, {conditions()}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
