"""openai-agents."""

from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from bench.peers.adapter import DONE, TASK, add, arguments, main
from openai import AsyncOpenAI
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)
TOOL = function_tool(add)


class Fake(Model):
    def __init__(self, turns: int) -> None:
        self._turns = turns
        self._number = 0

    async def get_response(self, *given: Any, **named: Any) -> ModelResponse:
        self._number += 1
        return ModelResponse(output=[self._said()], usage=Usage(), response_id=None)

    def _said(self) -> Any:
        number = self._number
        if number <= self._turns:
            return ResponseFunctionToolCall(
                type="function_call", name="add", call_id=f"call_{number}", arguments=arguments(number)
            )
        text = ResponseOutputText(type="output_text", text=DONE, annotations=[])
        return ResponseOutputMessage(
            id="message", type="message", role="assistant", status="completed", content=[text]
        )

    def stream_response(self, *given: Any, **named: Any) -> Any:
        raise NotImplementedError


async def memory(turns: int) -> object:
    agent = Agent(name="adder", tools=[TOOL], model=Fake(turns))
    return await Runner.run(agent, TASK, max_turns=turns + 2)


async def http(url: str, turns: int) -> object:
    client = AsyncOpenAI(base_url=f"{url}/v1", api_key="test")
    model = OpenAIChatCompletionsModel(model="model", openai_client=client)
    running = Runner.run_streamed(Agent(name="adder", tools=[TOOL], model=model), TASK, max_turns=turns + 2)
    async for _ in running.stream_events():
        pass
    return running.final_output


if __name__ == "__main__":
    main("openai-agents", memory, http)
