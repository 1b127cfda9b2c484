"""Ourselves, measured like a peer."""

from bench.peers.adapter import DONE, TASK, add, arguments, main

from toolwright import Engine, tool
from toolwright.backends.model_providers.openai import ChatModels, OpenAISettings
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.models import Answer, ModelProvider
from toolwright.testing import ScriptedModel

TOOL = tool(add)


async def _run(model: ModelProvider, turns: int) -> object:
    limits = {"limits": {"rounds": turns + 1}}
    engine = Engine(model=model, tools=[TOOL], allow=["add"], durable=False, environ={}, settings=limits)
    async with engine:
        return await engine.run(TASK)


async def memory(turns: int) -> object:
    calls = [CallBlock(f"call_{number}", "add", arguments(number)) for number in range(turns)]
    answers = [Answer(blocks=(call,), stop="calls") for call in calls]
    last = Answer(blocks=(TextBlock(DONE),), stop="end_turn")
    return await _run(ScriptedModel([*answers, last], remembers=False), turns)


async def http(url: str, turns: int) -> object:
    model = ChatModels(OpenAISettings(base_url=f"{url}/v1", api_key="test"))
    try:
        return await _run(model, turns)
    finally:
        await model.close()


if __name__ == "__main__":
    main("toolwright", memory, http)
