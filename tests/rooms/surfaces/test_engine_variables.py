"""Variables that the documentation of the Engine API fixes."""

from collections.abc import Mapping
from typing import Any

import pytest

from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import SettingsError
from toolwright.surfaces.engine_variables import (
    EngineOptions,
    data_folder_of,
    options_of,
    read_dotenv,
    spoken,
)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, {}),
        ({"LLM_MODEL": "claude-x"}, {"model": "anthropic/claude-x"}),
        (
            {"LLM_PROVIDER": "openai", "LLM_MODEL": "m", "LLM_API_KEY": "k", "LLM_BASE_URL": "http://x/v1"},
            {
                "model": "openai/m",
                "models": {"providers": {"openai": {"key_env": "LLM_API_KEY", "base_url": "http://x/v1"}}},
            },
        ),
        ({"MAX_TOKENS": "100"}, {"max_tokens": 100}),
        ({"ALLOWED_ROOTS": "/a, /b"}, {"permissions": {"additional_directories": ["/a", "/b"]}}),
        ({"SANDBOX_MODE": "none"}, {"sandbox": {"kind": "unsafe_plain_process"}}),
        ({"ALLOWED_HOSTS": "a.com"}, {"sandbox": {"allowed_hosts": ["a.com"]}}),
        ({"REACTIVE_COMPACT_ENABLED": "False"}, {"compaction": {"auto": False}}),
        ({"HOOKS_SETTINGS_LOAD_ENABLED": "false"}, {"disable_all_hooks": True}),
        ({"STOP_HOOKS_ENABLED": "false"}, {}),
    ],
)
def test_variables_are_settings(environ: Mapping[str, str], expected: Mapping[str, Any]) -> None:
    assert spoken(environ) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LLM_PROVIDER", "gemini"),
        ("MAX_TOKENS", "many"),
        ("ALLOWED_ROOTS", "relative/path"),
        ("SANDBOX_MODE", "weak"),
        ("TOKEN_BUDGET_ENABLED", "1"),
        ("MAX_ITERATIONS", "0"),
    ],
)
def test_what_cannot_be_meant_names_its_variable(name: str, value: str) -> None:
    environ = {"LLM_MODEL": "m", name: value}
    with pytest.raises(SettingsError, match=name):
        assert (spoken(environ), options_of(environ)) is None


def test_options_have_the_documented_defaults() -> None:
    found = options_of({})
    assert found == EngineOptions()
    assert (found.rounds, found.active_seconds, found.paused_seconds) == (50, 10_800, 259_200)
    given = options_of({"MAX_ITERATIONS": "3", "DEFAULT_AGENT": "coder", "ALLOWED_HOSTS": "a.com"})
    assert (given.rounds, given.default_agent, given.hosts) == (3, "coder", ("a.com",))


def test_an_agent_that_names_a_bare_model_is_asked_of_the_provider() -> None:
    options = options_of({"LLM_PROVIDER": "openai", "LLM_MODEL": "m"})
    assert options.with_provider(AgentDefinition(model="small")).model == "openai/small"
    assert options.with_provider(AgentDefinition(model="ollama/small")).model == "ollama/small"
    assert options.with_provider(AgentDefinition()).model == ""


def test_the_state_file_names_the_data_folder() -> None:
    assert data_folder_of({"SQLITE_DB_PATH": "/data/brain.sqlite"}) == "/data"
    assert data_folder_of({}) == ""


def test_a_dotenv_file_is_read() -> None:
    text = "# note\nA=1\nexport B='two words'\nC=three # said\nD=\"x # y\"\nnothing\n1X=2\n"
    assert read_dotenv(text) == {"A": "1", "B": "two words", "C": "three", "D": "x # y"}
