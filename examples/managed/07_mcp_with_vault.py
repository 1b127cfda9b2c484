"""Tools of an MCP server, with a credential that a vault keeps. Its address is taken from ``MCP_URL``."""

import os

from anthropic import Anthropic

url = os.environ["MCP_URL"]
client = Anthropic()
vault = client.beta.vaults.create(display_name="Mine")
client.beta.vaults.credentials.create(
    vault.id,
    auth={"type": "static_bearer", "mcp_server_url": url, "token": os.environ["MCP_TOKEN"]},
)
agent = client.beta.agents.create(
    name="Caller",
    model="claude-sonnet-4-6",
    mcp_servers=[{"type": "url", "name": "little", "url": url}],
    tools=[
        {
            "type": "mcp_toolset",
            "mcp_server_name": "little",
            "default_config": {"permission_policy": {"type": "always_allow"}},
        }
    ],
)
environment = client.beta.environments.create(
    name="narrow", config={"type": "cloud", "networking": {"type": "limited", "allow_mcp_servers": True}}
)
session = client.beta.sessions.create(agent=agent.id, environment_id=environment.id, vault_ids=[vault.id])

with client.beta.sessions.events.stream(session.id) as stream:
    client.beta.sessions.events.send(
        session.id,
        events=[{"type": "user.message", "content": [{"type": "text", "text": "Say hello to the server."}]}],
    )
    for event in stream:
        if event.type == "session.error":
            print(event.error.message)
        elif event.type == "agent.mcp_tool_use":
            print(f"[{event.mcp_server_name}: {event.name}]")
        elif event.type == "agent.message":
            print("".join(block.text for block in event.content if block.type == "text"))
        elif event.type == "session.status_idle" and event.stop_reason.type == "end_turn":
            break
