"""A pytest fixture ``engine``: tools are tested together with the agent that has to find them.

::

    @pytest.mark.engine(tools=[find_recent_commits], model=ScriptedModel([...]))
    def test_find_recent_commits(engine):
        response = engine.execute(message="What were the last 3 commits?", task_id="test-001")
        tool_calls = [e for e in response if e["type"] == "tool_call"]
        assert any(c["tool"] == "find_recent_commits" for c in tool_calls)

The marker takes what ``EngineClient.local`` takes. Without a model, what was recorded for the test is played;
``--engine-record MODEL`` asks a model and records, ``--engine-model MODEL`` only asks. Nothing of the engine
is imported before the fixture is used.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from toolwright.client.engine import EngineClient

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_TAPES = "tapes"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("toolwright")
    group.addoption("--engine-model", metavar="MODEL", default="", help="The model that `engine` asks.")
    group.addoption(
        "--engine-record", metavar="MODEL", default="", help="Ask this model, and record what it says."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the marker."""
    config.addinivalue_line("markers", "engine(**words): what EngineClient.local is given for this test")


@pytest.fixture
def engine_words() -> dict[str, Any]:
    """What every engine of these tests is given; to be overridden. A marker says more, or otherwise."""
    return {}


@pytest.fixture
def engine(
    request: pytest.FixtureRequest, tmp_path: Path, engine_words: dict[str, Any]
) -> "Iterator[EngineClient]":
    """A client of an engine in this process, with a workspace of its own."""
    from toolwright.client.engine import EngineClient

    words = {"workspace": _workspace(tmp_path), **engine_words}
    for marker in reversed(list(request.node.iter_markers("engine"))):
        if marker.args:
            raise pytest.UsageError("the marker 'engine' takes words by name: engine(model=…, tools=[…])")
        words |= marker.kwargs
    with EngineClient.local(**_with_model(words, request)) as client:
        yield client


def _workspace(folder: Path) -> Path:
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    return workspace


def _with_model(words: dict[str, Any], request: pytest.FixtureRequest) -> dict[str, Any]:
    asked, recorded = (str(request.config.getoption(name)) for name in ("engine_model", "engine_record"))
    tapes = _tapes(request)
    if recorded:
        settings = dict(words.get("settings", {}))
        settings["models"] = {**settings.get("models", {}), "record_to": str(tapes)}
        return {**words, "model": recorded, "settings": settings}
    if asked:
        return {**words, "model": asked}
    if "model" in words:
        return words
    found = sorted(tapes.glob("*.jsonl"))
    if len(found) != 1:
        raise pytest.UsageError(
            f"there is no model for {request.node.name}: give the marker or engine_words one, or record one "
            f"into {tapes} with --engine-record MODEL"
        )
    return {**words, "model": f"cassette/{found[0]}"}


def _tapes(request: pytest.FixtureRequest) -> Path:
    """The folder of the recordings of a test."""
    name = _NOT_IN_NAMES.sub("-", request.node.name)
    return request.path.parent / _TAPES / f"{request.path.stem}.{name}"
