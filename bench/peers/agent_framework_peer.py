"""agent-framework."""

from collections.abc import Awaitable
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    tool,
)
from agent_framework.openai import OpenAIChatCompletionClient
from bench.peers.adapter import DONE, TASK, add, arguments, main

TOOL = tool(add, approval_mode="never_require")


class Fake(FunctionInvocationLayer, BaseChatClient):
    def __init__(self, turns: int) -> None:
        super().__init__(function_invocation_configuration={"max_iterations": turns + 2})
        self._turns = turns
        self._number = 0

    def _inner_get_response(self, *given: Any, **named: Any) -> Awaitable[ChatResponse]:
        return self._answer()

    async def _answer(self) -> ChatResponse:
        self._number += 1
        number = self._number
        if number > self._turns:
            said = Content.from_text(DONE)
        else:
            said = Content.from_function_call(f"call_{number}", "add", arguments=arguments(number))
        return ChatResponse(messages=[Message("assistant", [said])])


async def memory(turns: int) -> object:
    return await Agent(Fake(turns), tools=[TOOL]).run(TASK)


async def http(url: str, turns: int) -> object:
    client = OpenAIChatCompletionClient(
        "model",
        base_url=f"{url}/v1",
        api_key="test",
        function_invocation_configuration={"max_iterations": turns + 2},
    )
    async for _ in Agent(client, tools=[TOOL]).run(TASK, stream=True):
        pass
    return None


if __name__ == "__main__":
    main("agent-framework-core", memory, http)
