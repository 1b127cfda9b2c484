"""A batch: what does not touch the same thing runs side by side, results keep their order."""

import asyncio
import threading
import time

from toolwright import Toolbox, Touch, tool

barrier = threading.Barrier(3, timeout=5)


@tool(pre_approved=True, touches=lambda input: [Touch("key", input["name"], "write")])
def slow(name: str) -> str:
    """Wait until three calls are here at once.

    Args:
        name: What this call works on.
    """
    barrier.wait()
    return f"{name} done"


async def main() -> None:
    async with Toolbox([slow]) as box:
        started = time.monotonic()
        batch = await box.batch([("slow", {"name": name}) for name in ("a", "b", "c")])
        print([result.content for result in batch.results])
        print("side by side:", time.monotonic() - started < 5)


if __name__ == "__main__":
    asyncio.run(main())
