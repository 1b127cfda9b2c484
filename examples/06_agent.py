"""An agent: a model that calls tools until its task is done. Here the model plays a script."""

from toolwright import Engine, ScriptedModel, call, tool


@tool(read_only=True)
def population(city: str) -> int:
    """Say how many people live in a city.

    Args:
        city: Its name.
    """
    return {"Bern": 134_506, "Basel": 171_513}[city]


# With a real model: Engine.local("anthropic/claude-sonnet-5", tools=[population]), or "ollama/qwen3".
model = ScriptedModel([
    ["I look both up.", call("population", city="Bern"), call("population", city="Basel")],
    "Basel is larger: 171,513 people against 134,506.",
])  # fmt: skip

if __name__ == "__main__":
    result = Engine.local(model, tools=[population]).run_blocking("Which is larger, Bern or Basel?")
    print(result.text)
    print(f"{result.end}: {result.rounds} rounds, {result.calls} calls")
