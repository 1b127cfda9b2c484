"""Variables of the environment that the documentation of the Engine API fixes, as settings of ours (pure)."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import SettingsError

FLAGS: Final[Mapping[str, bool]] = {
    "REACTIVE_COMPACT_ENABLED": True,
    "PRE_TOOL_HOOKS_ENABLED": True,
    "POST_TOOL_HOOKS_ENABLED": True,
    "STOP_HOOKS_ENABLED": True,
    "HOOKS_SETTINGS_LOAD_ENABLED": True,
    "TOKEN_BUDGET_ENABLED": False,
    "MEDIA_PRESEND_VALIDATION_ENABLED": False,
    "MEDIA_IMAGE_RESIZE_ENABLED": False,
    "MEDIA_ERROR_RECOVERY_ENABLED": False,
    "CONTENT_INGESTION_ENABLED": False,
}
"""Flags and what they are when nobody says otherwise; the last five are read and change nothing here."""
_PROVIDERS: Final = ("anthropic", "openai")
_ACTIVE_SECONDS: Final = 10_800
_PAUSED_SECONDS: Final = 259_200
_ROUNDS: Final = 50
_SLOTS: Final = 8
_GRACE: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """How the Engine API serves."""

    default_agent: str = "general"
    rounds: int = _ROUNDS
    """Requests to the model within one turn."""
    slots: int = _SLOTS
    """Turns that run at once."""
    active_seconds: int = _ACTIVE_SECONDS
    """How long a turn can be replayed after its last event."""
    paused_seconds: int = _PAUSED_SECONDS
    """The same of a turn that waits for a person; then the answer is no."""
    hosts: tuple[str, ...] | None = None
    provider: str = ""
    """Who is asked for the models that agents name without one."""

    def with_provider(self, agent: AgentDefinition) -> AgentDefinition:
        """Return an agent whose model says who is asked for it."""
        if not self.provider or not agent.model or "/" in agent.model:
            return agent
        return replace(agent, model=f"{self.provider}/{agent.model}")


def options_of(environ: Mapping[str, str]) -> EngineOptions:
    """Return how the API serves. May raise SettingsError."""
    hosts = environ.get("ALLOWED_HOSTS")
    return EngineOptions(
        default_agent=environ.get("DEFAULT_AGENT") or "general",
        rounds=_number(environ, "MAX_ITERATIONS", _ROUNDS),
        slots=_number(environ, "MAX_TASK_SLOTS", _SLOTS),
        active_seconds=_number(environ, "CHANNEL_STATE_TTL_ACTIVE", _ACTIVE_SECONDS),
        paused_seconds=_number(environ, "CHANNEL_STATE_TTL_HITL", _PAUSED_SECONDS),
        hosts=None if hosts is None else _listed(hosts),
        provider=environ.get("LLM_PROVIDER", "") if environ.get("LLM_MODEL") else "",
    )


def spoken(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings that the variables ask for. May raise SettingsError, naming the variable."""
    flags = {name: _flag(environ, name, default) for name, default in FLAGS.items()}
    said: dict[str, Any] = _model(environ)
    roots = _listed(environ.get("ALLOWED_ROOTS", ""))
    for root in roots:
        if not os.path.isabs(root):
            raise SettingsError(f"ALLOWED_ROOTS: {root!r} is not an absolute path.")
    if roots:
        said["permissions"] = {"additional_directories": list(roots)}
    sandbox: dict[str, Any] = {}
    if environ.get("ALLOWED_HOSTS"):
        sandbox["allowed_hosts"] = list(_listed(environ["ALLOWED_HOSTS"]))
    mode = environ.get("SANDBOX_MODE", "")
    if mode not in {"", "bubblewrap", "none"}:
        raise SettingsError(f"SANDBOX_MODE={mode!r}: it is bubblewrap, or none for no protection at all.")
    if mode == "none":
        sandbox["kind"] = "unsafe_plain_process"
    if sandbox:
        said["sandbox"] = sandbox
    if not flags["REACTIVE_COMPACT_ENABLED"]:
        said["compaction"] = {"auto": False}
    hooks = ("PRE_TOOL_HOOKS_ENABLED", "POST_TOOL_HOOKS_ENABLED", "STOP_HOOKS_ENABLED")
    if not flags["HOOKS_SETTINGS_LOAD_ENABLED"] or not any(flags[name] for name in hooks):
        said["disable_all_hooks"] = True
    return said


def grace_of(environ: Mapping[str, str]) -> float:
    """Return how many seconds runs have when the server ends. May raise SettingsError."""
    return float(_number(environ, "SHUTDOWN_GRACE_SECONDS", _GRACE))


def data_folder_of(environ: Mapping[str, str]) -> str:
    """Return the folder of the state file that a variable names; empty where none does."""
    path = environ.get("SQLITE_DB_PATH", "")
    return os.path.dirname(os.path.abspath(path)) if path else ""


def read_dotenv(text: str) -> dict[str, str]:
    """Return the variables of a ``.env`` file. Lines that set none are left out."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, sign, value = line.strip().removeprefix("export ").partition("=")
        name = name.strip()
        if not sign or not name.isidentifier():
            continue
        value = value.strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        else:
            value = value.split(" #", 1)[0].rstrip()
        found[name] = value
    return found


def _model(environ: Mapping[str, str]) -> dict[str, Any]:
    model = environ.get("LLM_MODEL", "")
    said: dict[str, Any] = {}
    if environ.get("MAX_TOKENS"):
        said["max_tokens"] = _number(environ, "MAX_TOKENS", 4096)
    if not model:
        return said
    provider = environ.get("LLM_PROVIDER") or "anthropic"
    if provider not in _PROVIDERS:
        raise SettingsError(f"LLM_PROVIDER={provider!r}: known here are {' and '.join(_PROVIDERS)}.")
    server: dict[str, Any] = {}
    if environ.get("LLM_API_KEY"):
        server["key_env"] = "LLM_API_KEY"
    if environ.get("LLM_BASE_URL"):
        server["base_url"] = environ["LLM_BASE_URL"]
    said["model"] = f"{provider}/{model}"
    if environ.get("FALLBACK_MODEL"):
        said["fallback_model"] = f"{provider}/{environ['FALLBACK_MODEL']}"
    return said | ({"models": {"providers": {provider: server}}} if server else {})


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _flag(environ: Mapping[str, str], name: str, default: bool) -> bool:
    word = environ.get(name, "").strip().lower()
    if word not in {"", "true", "false"}:
        raise SettingsError(f"{name}={environ[name]!r}: it takes true or false.")
    return default if not word else word == "true"


def _number(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise SettingsError(f"{name}={text[:40]!r}: it takes a whole number from 1 on.")
    return int(text)
