"""Every built-in tool and where it lives. A table: nothing is imported to read it."""

from dataclasses import dataclass

from toolwright.contracts.tool import Category

_ROOM = "toolwright.tools.builtin."


@dataclass(frozen=True, slots=True)
class Entry:
    """One built-in tool. It exists while ``feature`` is on and ``unless`` is off."""

    name: str
    category: Category = "core_io"
    feature: str | None = None
    unless: str | None = None
    extra: str | None = None
    """The extra that installs what the tool needs beyond the default set."""

    @property
    def module(self) -> str:
        """The module that holds ``build``; its path is the name."""
        return _ROOM + self.name


MANIFEST: tuple[Entry, ...] = (
    Entry("read"),
    Entry("write"),
    Entry("edit"),
    Entry("multi_edit"),
    Entry("apply_patch"),
    Entry("notebook_edit"),
    Entry("glob"),
    Entry("grep"),
    Entry("list_dir"),
    Entry("find"),
    Entry("file_search", "discovery"),
    Entry("tool_search", "discovery"),
    Entry("call_tool", "discovery"),
    Entry("skill", "discovery", feature="skills"),
    Entry("skill_search", "discovery", feature="skills"),
    Entry("git_log"),
    Entry("git_status"),
    Entry("bash"),
    Entry("send_file"),
    Entry("web_fetch", "network"),
    Entry("web_search", "network"),
    Entry("http_request", "network", feature="http_tool"),
    Entry("agent", "agent_task"),
    Entry("list_agents", "agent_task"),
    Entry("send_message", "agent_task"),
    Entry("send_to_agent", "agent_task"),
    Entry("await_agents", "agent_task"),
    Entry("task_return", "agent_task"),
    Entry("task_output", "agent_task"),
    Entry("task_stop", "agent_task"),
    Entry("monitor", "agent_task", feature="monitor"),
    Entry("todo_write", "agent_task", unless="tasks_v2"),
    Entry("task_create", "agent_task", feature="tasks_v2"),
    Entry("task_get", "agent_task", feature="tasks_v2"),
    Entry("task_update", "agent_task", feature="tasks_v2"),
    Entry("task_list", "agent_task", feature="tasks_v2"),
    Entry("list_mcp_resources", "mcp"),
    Entry("read_mcp_resource", "mcp"),
    Entry("subscribe_mcp_resource", "mcp"),
    Entry("get_mcp_prompt", "mcp"),
    Entry("refresh_mcp_tools", "mcp"),
    Entry("wait_for_mcp_servers", "mcp"),
)
