"""A file goes in, the agent works with it, and what it writes comes back."""

from anthropic import Anthropic

client = Anthropic()
table = client.beta.files.upload(file=("visits.csv", b"day,visits\nmon,3\ntue,5\n", "text/csv"))
agent = client.beta.agents.create(
    name="Counter", model="claude-sonnet-4-6", tools=[{"type": "agent_toolset_20260401"}]
)
environment = client.beta.environments.create(name="plain")
session = client.beta.sessions.create(
    agent=agent.id,
    environment_id=environment.id,
    resources=[{"type": "file", "file_id": table.id, "mount_path": "visits.csv"}],
)

with client.beta.sessions.events.stream(session.id) as stream:
    client.beta.sessions.events.send(
        session.id,
        events=[
            {
                "type": "user.message",
                "content": [
                    {
                        "type": "text",
                        "text": "Add up the visits and write the sum to /mnt/session/outputs/sum.txt.",
                    }
                ],
            }
        ],
    )
    for event in stream:
        if event.type == "agent.message":
            print("".join(block.text for block in event.content if block.type == "text"))
        elif event.type == "session.status_idle" and event.stop_reason.type == "end_turn":
            break

for file in client.beta.files.list(scope_id=session.id):
    print(file.filename, file.size_bytes)
    print(client.beta.files.download(file.id).read().decode())
client.beta.sessions.delete(session.id)
client.beta.files.delete(table.id)
