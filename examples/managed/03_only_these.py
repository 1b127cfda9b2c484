"""Only the tools that are named."""

from anthropic import Anthropic

client = Anthropic()
agent = client.beta.agents.create(
    name="Looker",
    model="claude-sonnet-4-6",
    tools=[
        {
            "type": "agent_toolset_20260401",
            "default_config": {"enabled": False},
            "configs": [{"name": "read", "enabled": True}, {"name": "grep", "enabled": True}],
        }
    ],
)
print(agent.to_json())
