"""A tool that your program runs itself, whenever it likes: the session waits, and holds nothing meanwhile."""

import asyncio

from toolwright import ClientTool, Engine, ScriptedModel, call

weigh = ClientTool(
    name="weigh",
    description="Weigh a thing on the client's scales. Returns grams.",
    input_schema={
        "type": "object",
        "properties": {"thing": {"type": "string", "description": "What to weigh."}},
        "required": ["thing"],
    },
)


async def main() -> None:
    model = ScriptedModel(
        [[call("weigh", thing="feather"), call("weigh", thing="stone")], "The stone is heavier."]
    )
    async with Engine.local(model, tools=[weigh]) as engine:
        session = await engine.session()
        result = await session.run("Which is heavier, the feather or the stone?")
        print(result.end)
        for waiting in result.deliveries:
            print("to weigh:", waiting.input["thing"])
            first = await session.deliver(waiting.call_id, f"{len(waiting.input['thing'])} g")
            again = await session.deliver(waiting.call_id, "something else")
            print("taken:", first, again)
        print((await session.quiet()).text)


if __name__ == "__main__":
    asyncio.run(main())
