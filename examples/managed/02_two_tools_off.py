"""All tools but two."""

from anthropic import Anthropic

client = Anthropic()
agent = client.beta.agents.create(
    name="Reader",
    model="claude-sonnet-4-6",
    tools=[
        {
            "type": "agent_toolset_20260401",
            "configs": [{"name": "web_fetch", "enabled": False}, {"name": "web_search", "enabled": False}],
        }
    ],
)
print(agent.to_json())
