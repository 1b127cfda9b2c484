"""A client of the Engine API, for programs and tests.

::

    from toolwright.client import EngineClient

    with EngineClient() as engine:  # ENGINE_URL and ENGINE_KEY say where and with which key
        for event in engine.execute(message="Why does the build fail?", task_id="build-7"):
            print(event["type"])

It is not called ``Engine``: that is the engine itself, as a Python object in this process. Names are imported
when they are first used, so that a test run which never asks for an engine pays nothing for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.client.engine import EngineClient
    from toolwright.client.events import Event, Events
    from toolwright.client.problems import (
        EngineClientError,
        EngineRefused,
        EngineUnreachable,
        StreamLost,
        WireFault,
    )

_HOMES = {
    "EngineClient": "engine",
    "EngineClientError": "problems",
    "EngineRefused": "problems",
    "EngineUnreachable": "problems",
    "Event": "events",
    "Events": "events",
    "StreamLost": "problems",
    "WireFault": "problems",
}

__all__ = [
    "EngineClient",
    "EngineClientError",
    "EngineRefused",
    "EngineUnreachable",
    "Event",
    "Events",
    "StreamLost",
    "WireFault",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'toolwright.client' has no attribute {name!r}")
    return getattr(import_module(f"toolwright.client.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
