"""What `import toolwright` offers, and what it must not drag in."""

import subprocess
import sys

import pytest

import toolwright

HEAVY = [
    "pydantic",
    "httpx2",
    "rich",
    "typer",
    "jsonschema_rs",
    "tree_sitter",
    "PIL",
    "mcp",
    "fastapi",
    "anthropic",
]


def test_the_public_names_are_these() -> None:
    assert sorted(toolwright.__all__) == [
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


def test_every_public_name_can_be_had() -> None:
    for name in toolwright.__all__:
        assert getattr(toolwright, name) is not None
        assert name in dir(toolwright)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'toolwright' has no attribute 'nothing'"):
        toolwright.__getattr__("nothing")


def loaded_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_brings_in_no_heavy_package() -> None:
    assert not set(HEAVY) & loaded_after("from toolwright import tool, Toolbox, Field, build_tool")


def test_importing_the_package_alone_brings_in_nothing_of_ours() -> None:
    ours = {name for name in loaded_after("import toolwright") if name.startswith("toolwright")}
    assert ours == {"toolwright"}


def test_a_pytest_plugin_that_nobody_uses_brings_in_nothing_of_ours() -> None:
    loaded = loaded_after("import toolwright.client.pytest_plugin")
    ours = {name for name in loaded if name.split(".")[0] == "toolwright"}
    assert ours == {"toolwright", "toolwright.client", "toolwright.client.pytest_plugin"}
    assert not set(HEAVY) & loaded


def test_the_command_line_starts_without_the_engine() -> None:
    """`--help` is instant because commands import their work when they run."""
    loaded = loaded_after("import toolwright.surfaces.cli.main")
    assert not {"pydantic", "httpx2", "jsonschema_rs", "tree_sitter", "PIL"} & loaded
    assert not {name for name in loaded if name.startswith(("toolwright.wiring", "toolwright.backends"))}
