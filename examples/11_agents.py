"""Agents that an agent starts: two at once, in the foreground. The models play scripts."""

import asyncio
import tempfile

from toolwright import Engine, ScriptedModel, call
from toolwright.contracts.events import ChildEnded, ChildStarted
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.models import ModelRequest


def play(request: ModelRequest) -> str | list[CallBlock | str]:
    """Answer for whoever asks: an agent knows its own task and nothing of the others."""
    task = request.messages[0].text
    if "Rome" in task:
        return "Rome has seven hills."
    if "Bern" in task:
        return "Bern has one, and a river around it."
    if len(request.messages) > 1:
        return "Rome has more hills than Bern."
    return [
        call("agent", description="Count hills of Rome", prompt="How many hills has Rome?"),
        call("agent", description="Count hills of Bern", prompt="How many hills has Bern?", max_turns=3),
    ]


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = ScriptedModel([play] * 4)
        async with Engine.local(model, workspace=folder, tools=["agent"], durable=False) as engine:
            session = await engine.session()
            ended: list[str] = []
            async for record in session.stream("Which of the two cities has more hills?"):
                match record.event:
                    case ChildStarted() as begun:
                        print("begins:", begun.description)
                    case ChildEnded() as over:
                        ended.append(over.summary)  # in the order in which they come to their end
            print(sorted(ended))
            result = await session.result()
            print(f"{result.text} ({result.rounds} rounds, {result.calls} calls in all)")


if __name__ == "__main__":
    asyncio.run(main())
