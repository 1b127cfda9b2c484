"""Asking a server what it is and what one of its models can do.

Every family of servers has an address of its own for this; those that are not there answer 404, and what
nobody tells stays unknown. ``/models`` is asked of all of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import anyio

from toolwright.backends.model_providers.connection import Connection
from toolwright.backends.model_providers.json_fragments import written
from toolwright.contracts.models import ModelFault

_WITHIN = 5.0
"""Seconds for all questions together; a server that is slower than that is asked without answers."""
_MOST_MODELS = 5_000
_USUAL_WINDOW = 32_768


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a server told; None where it told nothing."""

    models: tuple[str, ...] | None = None
    window: int | None = None
    max_output: int | None = None
    images: bool | None = None
    tools: bool | None = None
    settled: bool = True
    """Off while a server may tell more once the model has been used."""


NOTHING = Found()


async def look_at(connection: Connection, server: Connection, model: str) -> Found:
    """Ask about a model; ``server`` is the address without the version behind it. Raises nothing.

    A context window is the one that is in force where a server tells it, not the one a model could have.
    """
    found: dict[str, Any] = {}
    with anyio.move_on_after(_WITHIN):
        listed = await _told(connection, _Question("/models", lambda told: _of_list(told, model)))
        _take(found, listed)
        for family in _families(model):
            told = await _told(server, family[0])
            _take(found, told)
            if any(value is not None for value in told.values()):
                for question in family[1:]:
                    _take(found, await _told(server, question))
                break
    return Found(**found)


async def models_of(connection: Connection) -> tuple[str, ...]:
    """Return the names of the models that a server offers. May raise ModelFault."""
    return _names(await connection.ask("GET", "/models"))


def server_url(base_url: str) -> str:
    """Return an address without the version of the protocol at its end."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/").removesuffix("/v1").removesuffix("/v0")
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


@dataclass(frozen=True, slots=True)
class _Question:
    """Where something is told, and how the answer is read."""

    path: str
    read: Callable[[Mapping[str, Any]], dict[str, Any]]
    body: bytes | None = None


async def _told(connection: Connection, question: _Question) -> dict[str, Any]:
    try:
        told = await connection.ask("POST" if question.body else "GET", question.path, question.body)
    except ModelFault:
        return {}  # it has no such address, or does not answer: then it tells nothing
    return question.read(told) if isinstance(told, Mapping) else {}


def _families(model: str) -> tuple[tuple[_Question, ...], ...]:
    """The families of servers, each with its questions; only who answers the first is asked the others."""
    return (
        (_Question("/props", _of_props),),
        (
            _Question("/api/show", _of_show, written({"model": model})),
            _Question("/api/ps", lambda told: _of_running(told, model)),
        ),
        (_Question(f"/api/v0/models/{quote(model, safe='')}", _of_studio),),
    )


def _take(found: dict[str, Any], told: Mapping[str, Any]) -> None:
    """What is told later is told more exactly."""
    found.update({name: value for name, value in told.items() if value is not None})


def _names(listed: Any) -> tuple[str, ...]:
    rows = listed.get("data") if isinstance(listed, Mapping) else None
    rows = rows if isinstance(rows, list) else []
    names = (row.get("id") for row in rows[:_MOST_MODELS] if isinstance(row, Mapping))
    return tuple(name for name in names if isinstance(name, str))


def _of_list(listed: Any, model: str) -> dict[str, Any]:
    """vLLM, OpenRouter and others tell a window in the list itself."""
    if not isinstance(listed, Mapping):
        return {}
    rows = listed.get("data")
    named = [row for row in (rows if isinstance(rows, list) else ()) if _is_named(row, model)]
    row: Mapping[str, Any] = named[0] if named else {}
    top = row.get("top_provider")
    built = row.get("architecture")
    modalities = built.get("input_modalities") if isinstance(built, Mapping) else None
    parameters = row.get("supported_parameters")
    return {
        "models": _names(listed),
        "window": _count(row, "max_model_len", "context_length", "context_window", "max_context_length"),
        "max_output": _count(top, "max_completion_tokens"),
        "images": "image" in modalities if isinstance(modalities, list) else None,
        "tools": "tools" in parameters if isinstance(parameters, list) else None,
    }


def _is_named(row: Any, model: str) -> bool:
    return isinstance(row, Mapping) and row.get("id") == model


def _of_props(told: Mapping[str, Any]) -> dict[str, Any]:
    """llama.cpp."""
    modalities = told.get("modalities")
    abilities = told.get("chat_template_caps")
    return {
        "window": _count(told.get("default_generation_settings"), "n_ctx"),
        "images": _truth(modalities, "vision"),
        "tools": _truth(abilities, "supports_tools"),
    }


def _of_show(told: Mapping[str, Any]) -> dict[str, Any]:
    """Ollama. A model could have the window named here; which one it runs with is told once it runs."""
    info = told.get("model_info")
    pairs = info.items() if isinstance(info, Mapping) else ()
    most = next((value for name, value in pairs if str(name).endswith(".context_length")), None)
    can = told.get("capabilities")
    set_to = _parameter(told.get("parameters"), "num_ctx")
    return {
        "window": set_to or (min(most, _USUAL_WINDOW) if type(most) is int and most > 0 else None),
        "settled": set_to is not None,
        "images": "vision" in can if isinstance(can, list) else None,
        "tools": "tools" in can if isinstance(can, list) else None,
    }


def _of_running(told: Mapping[str, Any], model: str) -> dict[str, Any]:
    rows = told.get("models")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping) and model in {row.get("name"), row.get("model")}:
            return {"window": _count(row, "context_length"), "settled": True}
    return {}


def _of_studio(told: Mapping[str, Any]) -> dict[str, Any]:
    """LM Studio."""
    can = told.get("capabilities")
    return {
        "window": _count(told, "loaded_context_length", "max_context_length"),
        "images": told.get("type") == "vlm" if "type" in told else None,
        "tools": "tool_use" in can if isinstance(can, list) else None,
    }


def _parameter(text: Any, name: str) -> int | None:
    """A number among lines like ``num_ctx 8192``."""
    for line in text.splitlines() if isinstance(text, str) else ():
        word, _, value = line.strip().partition(" ")
        if word == name and value.strip().isdigit():
            return int(value)
    return None


def _count(holder: Any, *names: str) -> int | None:
    for name in names:
        value = holder.get(name) if isinstance(holder, Mapping) else None
        if type(value) is int and value > 0:
            return value
    return None


def _truth(holder: Any, name: str) -> bool | None:
    value = holder.get(name) if isinstance(holder, Mapping) else None
    return value if isinstance(value, bool) else None
