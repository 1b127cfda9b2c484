"""Somebody decides: approvals as a callback, and a call that waits for an answer that comes later."""

import asyncio

from toolwright import ApprovalRequest, Toolbox, Waiting, tool


@tool(destructive=True)
def launch(target: str) -> str:
    """Launch the thing.

    Args:
        target: Where to.
    """
    return f"launched to {target}"


def careful(request: ApprovalRequest) -> bool:
    """Agree to the moon and to nothing else."""
    return bool(request.input["target"] == "moon")


async def main() -> None:
    async with Toolbox([launch], approve=careful) as box:
        print((await box.call("launch", {"target": "moon"})).content)
        print((await box.call("launch", {"target": "sun"})).content)

    async with Toolbox([launch], approve=lambda _: None) as box:
        waiting = (await box.call("launch", {"target": "mars"})).outcome
        assert isinstance(waiting, Waiting)
        assert waiting.request is not None
        print("waiting:", waiting.request.tool)
        print((await box.resume(waiting.request, waiting.request.allowed())).content)


if __name__ == "__main__":
    asyncio.run(main())
