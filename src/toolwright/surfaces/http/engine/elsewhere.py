"""A task as the other dialect on the same sessions finds it: the document of a session (pure)."""

from typing import Any, Final

from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.documents import Document
from toolwright.surfaces.http.engine.tasks import LABEL

SESSION: Final = "session"
"""The kind of document under which sessions are listed."""
_LONGEST_NOTE: Final = 500


def session_document(
    session_id: str, *, workspace: str, task_id: str, agent: AgentDefinition, now: float
) -> Document:
    """Return the document of a task's session; its agent and environment are those of a catalog."""
    body = {
        "agent": _shown(agent),
        "environment_id": "env_of_the_catalog",
        "title": f"Task {task_id}"[:_LONGEST_NOTE],
        "metadata": {LABEL: task_id[:_LONGEST_NOTE]},
        "vault_ids": [],
    }
    return Document(
        kind=SESSION, id=session_id, workspace=workspace, created_at=now, updated_at=now, body=body
    )


def _shown(agent: AgentDefinition) -> dict[str, Any]:
    model = {
        "id": agent.model or "default",
        "effort": {"type": "high"},
        "speed": "standard",
        "inference_geo": None,
    }
    return {
        "id": f"agent_of_the_catalog_{agent.name}",
        "type": "agent",
        "version": 1,
        "name": agent.name,
        "description": agent.description or None,
        "system": agent.system or None,
        "model": model,
        "tools": [],
        "mcp_servers": [],
        "skills": [],
        "multiagent": None,
        "execution_identity": {"type": "service_account"},
    }
