"""A model provider in another process on loopback, which calls one tool so many times and then is done.

python -m bench.upstream TURNS

Prints its address, and ends when its input does. Speaks every protocol that ``FakeUpstream`` does. Which turn
it is follows from the request alone, so one upstream serves any number of sessions.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.models import Answer, Usage
from toolwright.testing import FakeUpstream
from toolwright.testing.replies import ScriptItem, SeenRequest

TOOL = "add"


def reply(seen: SeenRequest, turns: int) -> ScriptItem:
    """Return the answer that follows the answers which a request holds."""
    number = seen.body.count(b'"assistant"')
    usage = Usage(input_tokens=50, output_tokens=20, cache_read_tokens=100 * number)
    if number >= turns:
        return Answer(blocks=(TextBlock("That is all."),), stop="end_turn", usage=usage)
    block = CallBlock(f"call_{number}", TOOL, f'{{"a": {number}, "b": 1}}')
    said = TextBlock("I will add these two numbers and then look at what comes out of it.")
    return Answer(blocks=(said, block), stop="calls", usage=usage)


async def serve(turns: int) -> None:
    async with FakeUpstream(lambda seen: reply(seen, turns)) as upstream:
        print(upstream.url, flush=True)
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
        )
        while await reader.read(1024):
            pass


@asynccontextmanager
async def started(turns: int) -> AsyncIterator[str]:
    """Start an upstream in a process of its own and give its address."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.upstream", str(turns)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the upstream has no pipes")
    try:
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.stdin.close()
        await process.wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
