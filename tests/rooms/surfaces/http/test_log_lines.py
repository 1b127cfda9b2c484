"""What a server tells of itself."""

import io
import json
import logging
import threading
from typing import Any

import pytest

from toolwright.contracts.errors import SettingsError
from toolwright.surfaces.http import log_lines
from toolwright.surfaces.http.log_lines import FIELDS, level_of, telling

LOG = logging.getLogger("toolwright.somewhere")


def told(level: int = logging.INFO) -> list[dict[str, Any]]:
    """Log one line of each kind, and return what was written."""
    stream = io.StringIO()
    with telling(level, stream):
        LOG.debug("a detail")
        LOG.info("request", extra={FIELDS: {"status": 200, "path": "/v1/agents"}})
        logging.getLogger("some.library").info("GET https://example.test/?key=secret")
        logging.getLogger("some.library").warning("it is\nslow")
        try:
            raise ValueError("broken")
        except ValueError:
            LOG.exception("request %s failed", "req_1")
    LOG.error("after the end")
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_every_line_is_one_json_object_with_its_fields() -> None:
    request, slow, failed = told()
    assert request.pop("timestamp").endswith("Z")
    assert request == {
        "level": "INFO",
        "logger": "toolwright.somewhere",
        "message": "request",
        "status": 200,
        "path": "/v1/agents",
    }
    assert slow["message"] == "it is\nslow"
    assert failed["message"] == "request req_1 failed"
    assert "ValueError: broken" in failed["trace"]


def test_libraries_are_not_heard_below_warnings_whatever_the_level() -> None:
    lines = told(logging.DEBUG)
    assert [line["level"] for line in lines] == ["DEBUG", "INFO", "WARNING", "ERROR"]
    assert "secret" not in json.dumps(lines)


def test_a_reader_that_is_stuck_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "_PATIENCE", 0.0)
    let_go = threading.Event()

    class Stuck(io.StringIO):
        def write(self, text: str, /) -> int:
            let_go.wait()
            return super().write(text)

    with telling(logging.INFO, stream := Stuck()):
        for number in range(20_000):
            LOG.info("%d", number)
    assert stream.getvalue() == ""
    let_go.set()


def test_nothing_stays_behind() -> None:
    handlers, level = list(logging.getLogger().handlers), logging.getLogger("toolwright").level
    told()
    assert (logging.getLogger().handlers, logging.getLogger("toolwright").level) == (handlers, level)


@pytest.mark.parametrize(
    ("environ", "level"),
    [
        ({}, logging.INFO),
        ({"ENGINE_LOG_LEVEL": "debug"}, logging.DEBUG),
        ({"ENGINE_LOG_LEVEL": "debug", "TOOLWRIGHT_LOG_LEVEL": "ERROR"}, logging.ERROR),
    ],
)
def test_the_environment_says_how_much_is_told(environ: dict[str, str], level: int) -> None:
    assert level_of(environ) == level


def test_a_level_that_there_is_not_is_said_so() -> None:
    with pytest.raises(
        SettingsError, match="ENGINE_LOG_LEVEL is one of DEBUG, INFO, WARNING, ERROR, not 'loud'"
    ):
        level_of({"ENGINE_LOG_LEVEL": "loud"})
