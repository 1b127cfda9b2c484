"""Every tool asks, but for one; the first question is denied with a reason, the next one allowed."""

from anthropic import Anthropic

client = Anthropic()
agent = client.beta.agents.create(
    name="Careful",
    model="claude-sonnet-4-6",
    tools=[
        {
            "type": "agent_toolset_20260401",
            "default_config": {"permission_policy": {"type": "always_ask"}},
            "configs": [{"name": "read", "permission_policy": {"type": "always_allow"}}],
        }
    ],
)
environment = client.beta.environments.create(name="plain")
session = client.beta.sessions.create(agent=agent.id, environment_id=environment.id)
denied = False

with client.beta.sessions.events.stream(session.id) as stream:
    client.beta.sessions.events.send(
        session.id,
        events=[{"type": "user.message", "content": [{"type": "text", "text": "Write down what you know."}]}],
    )
    for event in stream:
        if event.type == "agent.message":
            print("".join(block.text for block in event.content if block.type == "text"))
        if event.type != "session.status_idle":
            continue
        if event.stop_reason.type != "requires_action":
            break
        for use_id in event.stop_reason.event_ids:
            if denied:
                client.beta.sessions.events.send(
                    session.id,
                    events=[{"type": "user.tool_confirmation", "tool_use_id": use_id, "result": "allow"}],
                )
                continue
            denied = True
            client.beta.sessions.events.send(
                session.id,
                events=[
                    {
                        "type": "user.tool_confirmation",
                        "tool_use_id": use_id,
                        "result": "deny",
                        "deny_message": "Put it into notes.txt.",
                    }
                ],
            )
