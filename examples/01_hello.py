"""A tool of your own, called like a model would call it."""

import asyncio

from toolwright import Toolbox, tool


@tool(read_only=True)
def add(a: int, b: int) -> int:
    """Add two numbers.

    Use this when exact arithmetic matters. Do not use it for anything but whole numbers.

    Args:
        a: The first number.
        b: The second number.

    Returns:
        The sum.
    """
    return a + b


async def main() -> None:
    async with Toolbox([add]) as box:
        result = await box.call("add", {"a": 1, "b": 2})
        print(result.content)


if __name__ == "__main__":
    asyncio.run(main())
