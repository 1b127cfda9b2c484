"""A tool that this program runs: its first result is an error, its second one a value."""

from anthropic import Anthropic

client = Anthropic()
agent = client.beta.agents.create(
    name="Weigher",
    model="claude-sonnet-4-6",
    tools=[
        {
            "type": "custom",
            "name": "weigh",
            "description": "Weigh a thing on the scales beside you. Returns its weight.",
            "input_schema": {
                "type": "object",
                "properties": {"thing": {"type": "string", "description": "What to weigh."}},
                "required": ["thing"],
            },
        }
    ],
)
environment = client.beta.environments.create(name="plain")
session = client.beta.sessions.create(agent=agent.id, environment_id=environment.id)
weights = {"stone": "3 kg"}

with client.beta.sessions.events.stream(session.id) as stream:
    client.beta.sessions.events.send(
        session.id,
        events=[{"type": "user.message", "content": [{"type": "text", "text": "Weigh what is here."}]}],
    )
    for event in stream:
        if event.type == "agent.custom_tool_use":
            thing = str(event.input.get("thing"))
            found = weights.get(thing)
            client.beta.sessions.events.send(
                session.id,
                events=[
                    {
                        "type": "user.custom_tool_result",
                        "custom_tool_use_id": event.id,
                        "content": [{"type": "text", "text": found or f"there is no {thing} here"}],
                        "is_error": found is None,
                    }
                ],
            )
        elif event.type == "agent.message":
            print("".join(block.text for block in event.content if block.type == "text"))
        elif event.type == "session.status_idle" and event.stop_reason.type == "end_turn":
            break
