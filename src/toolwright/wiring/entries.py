"""Tools that files define: entries of a catalog, and skills that are tools; the charter beside them."""

from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.ports import HelperModel
from toolwright.contracts.skills import Skill
from toolwright.contracts.tool import Tool
from toolwright.tool_calls.parts import Judge
from toolwright.tool_calls.permissions.charters import judge_by
from toolwright.tool_calls.permissions.decide import decide, denied
from toolwright.tools.commands.setup import setup_of
from toolwright.tools.mcp.servers import SessionServers
from toolwright.tools.platform.entry_tool import entry_tools
from toolwright.tools.skills.exposed import exposed
from toolwright.tools.skills.running import SkillRunner
from toolwright.wiring.ports import SessionPorts


def catalog_tools(
    agent: AgentDefinition, ports: SessionPorts, servers: SessionServers | None, *, has_client: bool
) -> list[Tool]:
    """Build the tools of an agent's entries; none where it has the built-in ones."""
    if agent.entries is None:
        return []
    server_tools = servers.tools if servers is not None else tuple
    return entry_tools(agent.entries, ports.services(), server_tools=server_tools, has_client=has_client)


def judge_of(agent: AgentDefinition) -> Judge:
    """A charter decides in place of the mode; what rules of the settings refuse stays refused."""
    if agent.charter is None:
        return Judge(denied, decide)
    return judge_by(agent.charter, agent.name)


def skill_tools(
    skills: tuple[Skill, ...], ports: SessionPorts, helper: HelperModel | None
) -> tuple[tuple[Tool, ...], tuple[str, ...]]:
    """Skills that are offered as tools of their own, and why some of them are not."""
    if not any(skill.exposed for skill in skills):
        return (), ()
    setup = setup_of(ports.services(), {})
    return exposed(skills, SkillRunner(setup=setup, model=helper, walled=ports.wants_protection))
