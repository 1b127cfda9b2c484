"""pydantic-ai."""

from collections.abc import AsyncIterable
from typing import Any

from bench.peers.adapter import DONE, TASK, add, arguments, main
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits

UNLIMITED = UsageLimits(request_limit=None)


async def memory(turns: int) -> object:
    number = 0

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        nonlocal number
        number += 1
        if number > turns:
            return ModelResponse(parts=[TextPart(DONE)])
        return ModelResponse(parts=[ToolCallPart("add", arguments(number), f"call_{number}")])

    return await Agent(FunctionModel(answer), tools=[add]).run(TASK, usage_limits=UNLIMITED)


async def http(url: str, turns: int) -> object:
    async def listen(context: Any, events: AsyncIterable[Any]) -> None:
        async for _ in events:
            pass

    model = OpenAIChatModel("model", provider=OpenAIProvider(base_url=f"{url}/v1", api_key="test"))
    agent = Agent(model, tools=[add])
    return await agent.run(TASK, usage_limits=UNLIMITED, event_stream_handler=listen)


if __name__ == "__main__":
    main("pydantic-ai-slim", memory, http)
