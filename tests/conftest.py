"""Shared by all tests: one event loop backend, no stray environment."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# How fast inputs are made says something about the machine only: no test fails because others are at work.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

# A run in the background ignores Ctrl-C, and so would every program that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Who runs the tests in parallel hands on the width of a terminal; commands print here as into a pipe.
os.environ.pop("COLUMNS", None)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
