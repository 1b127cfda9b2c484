"""Words of an answer while it is written; the whole message comes behind them, under the same id."""

from anthropic import Anthropic

client = Anthropic()
agent = client.beta.agents.create(name="Speaker", model="claude-sonnet-4-6")
environment = client.beta.environments.create(name="plain")
session = client.beta.sessions.create(agent=agent.id, environment_id=environment.id)

with client.beta.sessions.events.stream(session.id, event_deltas=["agent.message"]) as stream:
    client.beta.sessions.events.send(
        session.id,
        events=[{"type": "user.message", "content": [{"type": "text", "text": "Tell me of the sea."}]}],
    )
    for event in stream:
        if event.type == "event_delta" and event.delta.type == "content_delta":
            print(event.delta.content.text, end="|", flush=True)
        elif event.type == "agent.message":
            print()
        elif event.type == "session.status_idle" and event.stop_reason.type == "end_turn":
            break
