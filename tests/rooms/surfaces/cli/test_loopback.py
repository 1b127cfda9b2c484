"""A browser that comes back is waited for; whatever else knocks is turned away."""

import anyio
import httpx2
import pytest

from toolwright.surfaces.cli.loopback import waiting

pytestmark = pytest.mark.anyio


async def test_only_the_answer_that_is_waited_for_ends_the_wait() -> None:
    with anyio.fail_after(20):
        async with waiting() as back, httpx2.AsyncClient() as browser:
            back.fits = lambda address: address.endswith("state=ours")
            assert (await browser.get(f"{back.redirect_uri}?code=c&state=theirs")).status_code == 400
            assert (await browser.get(f"http://127.0.0.1:{back.port}/other?state=ours")).status_code == 404
            assert (await browser.post(f"{back.redirect_uri}?state=ours")).status_code == 404
            thanks = await browser.get(f"{back.redirect_uri}?code=c&state=ours")
            assert (thanks.status_code, "close this window" in thanks.text) == (200, True)
            assert thanks.headers["cache-control"] == "no-store"
            assert await back.address() == f"{back.redirect_uri}?code=c&state=ours"
            again = await browser.get(f"{back.redirect_uri}?code=d&state=ours")
            assert again.status_code == 400


async def test_nothing_fits_before_somebody_says_what_does_and_noise_is_survived() -> None:
    with anyio.fail_after(20):
        async with waiting() as back:
            async with await anyio.connect_tcp("127.0.0.1", back.port) as noise:
                await noise.send(b"\x16\x03\x01\r\n\r\n")
            async with httpx2.AsyncClient() as browser:
                assert (await browser.get(f"{back.redirect_uri}?state=any")).status_code == 400


async def test_a_port_that_is_taken_is_no_hindrance() -> None:
    async with waiting() as first, waiting(first.port) as second:
        assert second.port not in {0, first.port}
