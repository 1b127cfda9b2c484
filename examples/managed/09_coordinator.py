"""An agent that hands work to another one, which works in a thread of its own and reports what came of it."""

from anthropic import Anthropic

client = Anthropic()
digger = client.beta.agents.create(
    name="Digger",
    model="claude-sonnet-4-6",
    description="Looks into files and says what is in them.",
    tools=[{"type": "agent_toolset_20260401"}],
)
lead = client.beta.agents.create(
    name="Lead", model="claude-sonnet-4-6", multiagent={"type": "coordinator", "agents": [digger.id]}
)
environment = client.beta.environments.create(name="plain")
session = client.beta.sessions.create(agent=lead.id, environment_id=environment.id)

with client.beta.sessions.events.stream(session.id) as stream:
    client.beta.sessions.events.send(
        session.id,
        events=[{"type": "user.message", "content": [{"type": "text", "text": "Have the notes read."}]}],
    )
    for event in stream:
        if event.type == "agent.thread_message_received":
            said = "".join(block.text for block in event.content if block.type == "text")
            print(f"[{event.from_agent_name}: {said}]")
        elif event.type == "agent.message":
            print("".join(block.text for block in event.content if block.type == "text"))
        elif event.type == "session.status_idle" and event.stop_reason.type == "end_turn":
            break

for thread in client.beta.sessions.threads.list(session.id):
    print(thread.status, thread.parent_thread_id is None)
