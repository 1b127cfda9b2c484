"""The skills of an engine, and the servers that it can be connected with."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

Ask = Callable[[str, str, Mapping[str, Any] | None], Any]


class Skills:
    """The skills of an engine."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def list(self) -> Any:
        """Return all skills: name, description, where from, category."""
        return self._ask("GET", "/skills", None)

    def get(self, name: str) -> Any:
        """Return one skill with its prompt and scripts."""
        return self._ask("GET", f"/skills/{_part(name)}", None)

    def create(self, name: str, **fields: Any) -> Any:
        """Make a skill: ``description``, ``category``, ``prompt``, ``capabilities``, ``scripts``."""
        return self._ask("POST", "/skills/create", {"name": name, **fields})

    def update(self, name: str, **fields: Any) -> Any:
        """Change some fields of a skill."""
        return self._ask("PUT", f"/skills/{_part(name)}", fields)

    def delete(self, name: str) -> Any:
        """Remove a skill."""
        return self._ask("DELETE", f"/skills/{_part(name)}", None)


class Assets:
    """The MCP servers of an engine."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def servers(self) -> Any:
        """Return the servers that can be connected."""
        return self._ask("GET", "/assets/servers", None)

    def connections(self) -> Any:
        """Return those that are."""
        return self._ask("GET", "/assets/connections", None)

    def connect(self, server_name: str, server_config: Mapping[str, Any] | None = None) -> Any:
        """Connect a server. With ``auth_url`` in the answer a person has to go there first."""
        body = {
            "server_name": server_name,
            "server_config": None if server_config is None else dict(server_config),
        }
        return self._ask("POST", "/assets/connect", body)

    def disconnect(self, ref_id: str) -> Any:
        """End a connection and forget its credentials."""
        return self._ask("DELETE", f"/assets/connections/{_part(ref_id)}", None)


def _part(name: str) -> str:
    return quote(name, safe="")
