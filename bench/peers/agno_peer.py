"""agno."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from agno.agent import Agent
from agno.models.base import Model
from agno.models.openai import OpenAIChat
from agno.models.response import ModelResponse
from bench.peers.adapter import DONE, TASK, add, arguments, main


@dataclass
class Fake(Model):
    id: str = "fake"
    turns: int = 0
    number: int = 0

    async def ainvoke(self, *given: Any, **named: Any) -> ModelResponse:
        self.number += 1
        if self.number > self.turns:
            return ModelResponse(role="assistant", content=DONE)
        function = {"name": "add", "arguments": arguments(self.number)}
        call = {"id": f"call_{self.number}", "type": "function", "function": function}
        return ModelResponse(role="assistant", tool_calls=[call])

    def invoke(self, *given: Any, **named: Any) -> ModelResponse:
        raise NotImplementedError

    def invoke_stream(self, *given: Any, **named: Any) -> Iterator[ModelResponse]:
        raise NotImplementedError

    def ainvoke_stream(self, *given: Any, **named: Any) -> AsyncIterator[ModelResponse]:
        raise NotImplementedError

    def _parse_provider_response(self, response: Any, **named: Any) -> ModelResponse:
        raise NotImplementedError

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        raise NotImplementedError


async def memory(turns: int) -> object:
    return await Agent(model=Fake(turns=turns), tools=[add], telemetry=False).arun(TASK)


async def http(url: str, turns: int) -> object:
    model = OpenAIChat(id="model", base_url=f"{url}/v1", api_key="test")
    async for _ in Agent(model=model, tools=[add], telemetry=False).arun(TASK, stream=True):
        pass
    return None


if __name__ == "__main__":
    main("agno", memory, http)
