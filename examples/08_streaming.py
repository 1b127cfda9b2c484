"""Everything that happens, while it happens: typed events, and words as they are said."""

import asyncio

from toolwright import CallEnded, CallStarted, Engine, RunEnded, ScriptedModel, TextDelta, call, tool


@tool(read_only=True)
def temperature(city: str) -> str:
    """Say how warm it is.

    Args:
        city: Where.
    """
    return f"{city}: 21 °C"


async def main() -> None:
    model = ScriptedModel(
        [["Let me see.", call("temperature", city="Bern")], "It is 21 °C in Bern."], piece=8
    )
    async with Engine.local(model, tools=[temperature]) as engine:
        session = await engine.session()
        async for record in session.stream("How warm is it in Bern?"):
            match record.event:
                case TextDelta(text):
                    print(text, end="|")
                case CallStarted(tool=name):
                    print(f"\n{name} begins")
                case CallEnded(tool=name, state=state, content=content):
                    print(f"{name} is {state}: {content}")
                case RunEnded(end=end):
                    print(f"\n{end}")


if __name__ == "__main__":
    asyncio.run(main())
