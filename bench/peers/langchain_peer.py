"""langchain."""

import json
from typing import Any

from bench.peers.adapter import DONE, TASK, add, arguments, main
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI

ASKED = {"messages": [{"role": "user", "content": TASK}]}


class Fake(BaseChatModel):
    turns: int
    number: int = 0

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Any, **named: Any) -> "Fake":
        return self

    def _generate(self, messages: list[BaseMessage], *given: Any, **named: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(self, messages: list[BaseMessage], *given: Any, **named: Any) -> ChatResult:
        self.number += 1
        if self.number > self.turns:
            return ChatResult(generations=[ChatGeneration(message=AIMessage(DONE))])
        call = {"name": "add", "args": json.loads(arguments(self.number)), "id": f"call_{self.number}"}
        return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=[call]))])


async def memory(turns: int) -> object:
    agent = create_agent(Fake(turns=turns), [add])
    return await agent.ainvoke(ASKED, {"recursion_limit": 3 * turns + 10})


async def http(url: str, turns: int) -> object:
    model = ChatOpenAI(model="model", base_url=f"{url}/v1", api_key="test", streaming=True)
    agent = create_agent(model, [add])
    config = {"recursion_limit": 3 * turns + 10}
    async for _ in agent.astream(ASKED, config, stream_mode="messages"):
        pass
    return None


if __name__ == "__main__":
    main("langchain", memory, http)
