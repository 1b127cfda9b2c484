"""Toolwright: a self-hosted agent engine built around its tools.

::

    from toolwright import Engine, tool

    @tool(read_only=True)
    def add(a: int, b: int) -> int:
        \"\"\"Add two numbers.\"\"\"
        return a + b

    result = Engine(tools=[add]).run_blocking("What is 17 + 25?")

Names are imported when they are first used, so that ``import toolwright`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.contracts.content import DocumentBlock, ImageBlock, TextBlock
    from toolwright.contracts.definitions import AgentDefinition, RunLimits
    from toolwright.contracts.errors import (
        DefinitionError,
        EngineFault,
        NotPossible,
        NoUserChannel,
        RuleError,
        SettingsError,
        ToolFailure,
        ToolwrightError,
    )
    from toolwright.contracts.events import (
        CallAnswered,
        CallEnded,
        CallProgressed,
        CallStarted,
        CallWaiting,
        ChildEnded,
        ChildStarted,
        Compacted,
        InputAccepted,
        ModelAnswered,
        ModelFailed,
        Record,
        RunEnded,
        RunStarted,
        SessionCreated,
    )
    from toolwright.contracts.hooks import Hook, HookInput, HookOutput
    from toolwright.contracts.mcp import Elicitation, ElicitationAnswer
    from toolwright.contracts.models import CallDelta, TextDelta, ThinkingDelta, Usage
    from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest, RuleChange
    from toolwright.contracts.skills import Skill
    from toolwright.contracts.storage import SessionBusy, SessionCard, StoreUnavailable, UnknownSession
    from toolwright.contracts.tool import (
        CallContext,
        CallResult,
        Done,
        Failed,
        Objection,
        Outcome,
        Progress,
        Tool,
        ToolCall,
        ToolSpec,
        Touch,
        Traits,
        Waiting,
    )
    from toolwright.surfaces.embedded import Toolbox
    from toolwright.surfaces.engine import Engine
    from toolwright.surfaces.session import RunResult, Session
    from toolwright.testing import ScriptedModel, call
    from toolwright.tools.custom import ClientTool
    from toolwright.tools.define import ToolClass, build_tool, tool
    from toolwright.tools.fields import Field
    from toolwright.tools.platform.functions import platform_tool

_HOMES = {
    "toolwright.contracts.content": (
        "DocumentBlock",
        "ImageBlock",
        "TextBlock",
    ),
    "toolwright.contracts.definitions": (
        "AgentDefinition",
        "RunLimits",
    ),
    "toolwright.contracts.errors": (
        "DefinitionError",
        "EngineFault",
        "NoUserChannel",
        "NotPossible",
        "RuleError",
        "SettingsError",
        "ToolFailure",
        "ToolwrightError",
    ),
    "toolwright.contracts.events": (
        "CallAnswered",
        "CallEnded",
        "CallProgressed",
        "CallStarted",
        "CallWaiting",
        "ChildEnded",
        "ChildStarted",
        "Compacted",
        "InputAccepted",
        "ModelAnswered",
        "ModelFailed",
        "Record",
        "RunEnded",
        "RunStarted",
        "SessionCreated",
    ),
    "toolwright.contracts.hooks": (
        "Hook",
        "HookInput",
        "HookOutput",
    ),
    "toolwright.contracts.mcp": (
        "Elicitation",
        "ElicitationAnswer",
    ),
    "toolwright.contracts.models": (
        "CallDelta",
        "TextDelta",
        "ThinkingDelta",
        "Usage",
    ),
    "toolwright.contracts.permissions": (
        "ApprovalAnswer",
        "ApprovalRequest",
        "RuleChange",
    ),
    "toolwright.contracts.skills": ("Skill",),
    "toolwright.contracts.storage": (
        "SessionBusy",
        "SessionCard",
        "StoreUnavailable",
        "UnknownSession",
    ),
    "toolwright.contracts.tool": (
        "CallContext",
        "CallResult",
        "Done",
        "Failed",
        "Objection",
        "Outcome",
        "Progress",
        "Tool",
        "ToolCall",
        "ToolSpec",
        "Touch",
        "Traits",
        "Waiting",
    ),
    "toolwright.surfaces.embedded": ("Toolbox",),
    "toolwright.surfaces.engine": ("Engine",),
    "toolwright.surfaces.session": (
        "RunResult",
        "Session",
    ),
    "toolwright.testing": (
        "ScriptedModel",
        "call",
    ),
    "toolwright.tools.custom": ("ClientTool",),
    "toolwright.tools.define": (
        "ToolClass",
        "build_tool",
        "tool",
    ),
    "toolwright.tools.fields": ("Field",),
    "toolwright.tools.platform.functions": ("platform_tool",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AgentDefinition",
    "ApprovalAnswer",
    "ApprovalRequest",
    "CallAnswered",
    "CallContext",
    "CallDelta",
    "CallEnded",
    "CallProgressed",
    "CallResult",
    "CallStarted",
    "CallWaiting",
    "ChildEnded",
    "ChildStarted",
    "ClientTool",
    "Compacted",
    "DefinitionError",
    "DocumentBlock",
    "Done",
    "Elicitation",
    "ElicitationAnswer",
    "Engine",
    "EngineFault",
    "Failed",
    "Field",
    "Hook",
    "HookInput",
    "HookOutput",
    "ImageBlock",
    "InputAccepted",
    "ModelAnswered",
    "ModelFailed",
    "NoUserChannel",
    "NotPossible",
    "Objection",
    "Outcome",
    "Progress",
    "Record",
    "RuleChange",
    "RuleError",
    "RunEnded",
    "RunLimits",
    "RunResult",
    "RunStarted",
    "ScriptedModel",
    "Session",
    "SessionBusy",
    "SessionCard",
    "SessionCreated",
    "SettingsError",
    "Skill",
    "StoreUnavailable",
    "TextBlock",
    "TextDelta",
    "ThinkingDelta",
    "Tool",
    "ToolCall",
    "ToolClass",
    "ToolFailure",
    "ToolSpec",
    "Toolbox",
    "ToolwrightError",
    "Touch",
    "Traits",
    "UnknownSession",
    "Usage",
    "Waiting",
    "build_tool",
    "call",
    "platform_tool",
    "tool",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'toolwright' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
