"""Fakes for tests, ours and yours: every port that touches the world, in memory.

::

    from toolwright.testing import MemorySandbox, Scripted, context, services

    tool = build(services(sandbox=MemorySandbox(...)), {})
    outcome = await tool.call({"command": "ls"}, context(tmp_path))
"""

from dataclasses import replace
from os import PathLike, fspath, path
from typing import Any

from toolwright.backends.background.memory import MemoryBackground
from toolwright.backends.blobs.memory import MemoryBlobs
from toolwright.backends.children.memory import MemoryChildren
from toolwright.backends.clock.fake import FakeClock
from toolwright.backends.egress.memory import MemoryEgress
from toolwright.backends.egress.memory_sockets import MemoryWebSocket, MemoryWebSockets
from toolwright.backends.model_providers.cassette import CassetteModel
from toolwright.backends.model_providers.record import RecordingModel
from toolwright.backends.model_providers.scripted import ScriptedModel, call, thought
from toolwright.backends.sandboxes.memory import MemoryProcess, MemorySandbox, Scripted
from toolwright.backends.search.scripted import ScriptedSearch
from toolwright.backends.storage.memory import MemoryEvents
from toolwright.contracts.tool import CallContext
from toolwright.testing.event_store import check_event_store
from toolwright.testing.shelf import MemoryShelf, MemorySkills
from toolwright.testing.upstream import FakeUpstream, refusing_url
from toolwright.tools.services import Services
from toolwright.workspaces.network import NetworkGate
from toolwright.workspaces.workspace import open_workspace

__all__ = [
    "CassetteModel",
    "FakeClock",
    "FakeUpstream",
    "MemoryBackground",
    "MemoryBlobs",
    "MemoryChildren",
    "MemoryEgress",
    "MemoryEvents",
    "MemoryProcess",
    "MemorySandbox",
    "MemoryShelf",
    "MemorySkills",
    "MemoryWebSocket",
    "MemoryWebSockets",
    "RecordingModel",
    "Scripted",
    "ScriptedModel",
    "ScriptedSearch",
    "call",
    "check_event_store",
    "context",
    "refusing_url",
    "services",
    "thought",
]


def context(folder: "str | PathLike[str]", **members: Any) -> CallContext:
    """Return a context in which a tool works in ``folder``; further members of CallContext by name."""
    root = path.realpath(fspath(folder))
    given = {"call_id": "call_test", "session_id": "session_test", **members}
    return CallContext(workspace=open_workspace([root], root), **given)


def services(**ports: Any) -> Services:
    """Return services made of fakes, with those given by name in their places."""
    clock = ports.get("clock") or FakeClock()
    faked = Services(
        sandbox=MemorySandbox(),
        background=MemoryBackground(clock=clock),
        egress=MemoryEgress(NetworkGate(), {}),
        web_sockets=MemoryWebSockets(NetworkGate(), {}),
        blobs=MemoryBlobs(clock),
        children=MemoryChildren(),
        clock=clock,
        session_dir="/nonexistent",
    )
    return replace(faked, **ports)
