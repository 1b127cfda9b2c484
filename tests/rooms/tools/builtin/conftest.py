"""A workspace in a temporary folder and file tools that act in it."""

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import CallContext, CallState, Done, Outcome, Tool
from toolwright.contracts.view import Phase, View
from toolwright.tools.services import Services
from toolwright.workspaces.workspace import LocalWorkspace, open_workspace


class Desk:
    """Calls file tools as the engine does: first the check, then the call."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace: LocalWorkspace = open_workspace([str(root)], str(root))
        self.environ: dict[str, str] = {}
        self.options: dict[str, Any] = {}

    def tool(self, name: str) -> Tool:
        absent: Any = None
        services = Services(
            sandbox=absent,
            background=absent,
            egress=absent,
            blobs=absent,
            clock=absent,
            session_dir="",
            environ=self.environ,
        )
        made: Tool = import_module(f"toolwright.tools.builtin.{name}").build(services, self.options)
        return made

    async def call(self, name: str, **input: Any) -> Done:
        """Check, then call; what is refused is raised as it is."""
        tool, ctx = self.tool(name), CallContext(workspace=self.workspace)
        assert await tool.check(input, ctx) is None
        outcome = await tool.call(input, ctx)
        assert isinstance(outcome, Done), outcome
        return outcome

    async def text(self, name: str, **input: Any) -> str:
        """The text a model reads."""
        content = (await self.call(name, **input)).content
        assert isinstance(content, str)
        return content

    async def failure(self, name: str, **input: Any) -> ToolFailure:
        with pytest.raises(ToolFailure) as caught:
            await self.call(name, **input)
        return caught.value

    def view(self, name: str, input: Mapping[str, Any], outcome: Outcome | None = None) -> View:
        phase: Phase = "done" if outcome else "streaming"
        return self.tool(name).view(
            CallState(
                call_id="c",
                tool=name,
                offered_name=name,
                input=input,
                phase=phase,
                partial=outcome is None,
                cwd=self.workspace.cwd,
                outcome=outcome,
            )
        )

    def put(self, name: str, content: str | bytes) -> str:
        """A file on disk; its absolute path."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def bytes_of(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def names(self) -> list[str]:
        return sorted(os.listdir(self.root))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    root = tmp_path / "project"
    root.mkdir()
    return Desk(root)
