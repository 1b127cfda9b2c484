"""An agent with all eight tools, a session, and its events as they come."""

from anthropic import Anthropic

client = Anthropic()
agent = client.beta.agents.create(
    name="Helper", model="claude-sonnet-4-6", tools=[{"type": "agent_toolset_20260401"}]
)
environment = client.beta.environments.create(name="plain")
session = client.beta.sessions.create(agent=agent.id, environment_id=environment.id)

with client.beta.sessions.events.stream(session.id) as stream:
    client.beta.sessions.events.send(
        session.id,
        events=[{"type": "user.message", "content": [{"type": "text", "text": "Which files are here?"}]}],
    )
    for event in stream:
        if event.type == "agent.tool_use":
            print(f"[{event.name}]")
        elif event.type == "agent.message":
            print("".join(block.text for block in event.content if block.type == "text"))
        elif event.type == "session.status_idle" and event.stop_reason.type == "end_turn":
            break
