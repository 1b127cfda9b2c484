"""Answers are kept for their time and within their bytes."""

import logging

import pytest

from toolwright.backends.clock.fake import FakeClock
from toolwright.contracts.network import WebResponse
from toolwright.tools.web_cache import DEFAULT_SECONDS, VARIABLE, WebCache, seconds_to_keep

pytestmark = pytest.mark.anyio


def answer(size: int) -> WebResponse:
    return WebResponse(url="u", status=200, headers={}, body=b"x" * size)


async def test_an_answer_is_kept_until_its_time_is_over() -> None:
    clock = FakeClock()
    cache = WebCache(clock, seconds=10)
    cache.put("a", answer(1))
    await clock.advance(9.5)
    assert cache.get("a") == answer(1)
    await clock.advance(0.5)
    assert cache.get("a") is None


async def test_the_least_recently_used_goes_when_there_are_too_many_bytes() -> None:
    cache = WebCache(FakeClock(), most_bytes=10)
    cache.put("a", answer(5))
    cache.put("b", answer(5))
    assert cache.get("a") is not None
    cache.put("c", answer(1))
    assert [cache.get(url) is not None for url in "abc"] == [True, False, True]


async def test_an_answer_as_big_as_the_cache_fits_and_a_bigger_one_is_not_kept() -> None:
    cache = WebCache(FakeClock(), most_bytes=10)
    cache.put("a", answer(10))
    cache.put("b", answer(11))
    assert (cache.get("a"), cache.get("b")) == (answer(10), None)


async def test_a_newer_answer_replaces_the_older_one_and_its_bytes() -> None:
    cache = WebCache(FakeClock(), most_bytes=10)
    for _ in range(5):
        cache.put("a", answer(6))
    cache.put("b", answer(4))
    assert [cache.get(url) is not None for url in "ab"] == [True, True]


async def test_no_time_means_no_cache() -> None:
    cache = WebCache(FakeClock(), seconds=0)
    cache.put("a", answer(1))
    assert cache.get("a") is None


@pytest.mark.parametrize(
    ("value", "seconds", "warnings"),
    [
        ("", DEFAULT_SECONDS, 0),
        ("0", 0.0, 0),
        ("1500", 1.5, 0),
        ("-1", DEFAULT_SECONDS, 1),
        ("soon", DEFAULT_SECONDS, 1),
    ],
)
def test_the_time_comes_from_the_environment_and_a_wrong_one_is_reported(
    value: str, seconds: float, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert seconds_to_keep({VARIABLE: value}) == seconds
    assert len(caplog.records) == warnings
