"""The promises of ``Egress``, kept by every implementation; then what only the guarded one can show."""

import asyncio
import gzip
import socket
import ssl
import subprocess
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.backends.egress.decoding import Inflater
from toolwright.backends.egress.gate import Bounds
from toolwright.backends.egress.guarded import GuardedEgress
from toolwright.backends.egress.memory import MemoryEgress
from toolwright.backends.egress.resolver import system_resolver
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import Egress, NetworkAccess, WebRequest, WebResponse
from toolwright.workspaces.network import NetworkGate

if TYPE_CHECKING:
    from tests.ports.conftest import Loopback, Serve

pytestmark = pytest.mark.anyio

LOOPBACK = NetworkGate.opening(["127.0.0.0/8"])
Pages = Mapping[str, tuple[int, dict[str, str], bytes]]
Open = Callable[[Pages], tuple[Egress, Callable[..., str]]]


async def rule_of(sending: Awaitable[WebResponse]) -> str:
    """The rule that refused a request, or the code of another failure."""
    try:
        answer = await sending
    except ToolFailure as failed:
        return str(failed.details.get("rule", failed.code))
    return f"answered {answer.status}"


@pytest.fixture(params=["guarded", "memory"])
async def opened(request: pytest.FixtureRequest, loopback: "Loopback") -> AsyncIterator[Open]:
    """Opens either implementation over the same pages; the second value builds their URLs."""
    made: list[Egress] = []

    def open_(pages: Pages) -> tuple[Egress, Callable[..., str]]:
        for target, (status, headers, body) in pages.items():
            loopback.answers(target, body, status=status, **headers)
        answers = {
            loopback.url(target): WebResponse(url="", status=status, headers=headers, body=body)
            for target, (status, headers, body) in pages.items()
        }
        egress: Egress = (
            GuardedEgress(LOOPBACK) if request.param == "guarded" else MemoryEgress(LOOPBACK, answers)
        )
        made.append(egress)
        return egress, loopback.url

    yield open_
    for egress in made:
        await egress.close()


async def test_an_answer_carries_status_lower_case_headers_body_and_place(opened: Open) -> None:
    egress, url = opened({"/page?q=1": (200, {"x-kind": "note"}, b"hello")})
    answer = await egress.send(WebRequest(url=url("/page?q=1")))
    assert (
        answer.url,
        answer.status,
        answer.headers["x-kind"],
        answer.body,
        answer.truncated,
        answer.redirect,
    ) == (
        url("/page?q=1"),
        200,
        "note",
        b"hello",
        False,
        "",
    )


async def test_an_error_status_is_an_answer_and_not_a_failure(opened: Open) -> None:
    egress, url = opened({"/gone": (410, {}, b"gone")})
    answer = await egress.send(WebRequest(url=url("/gone")))
    assert (answer.status, answer.body) == (410, b"gone")


async def test_a_body_may_fill_its_bound_and_is_cut_one_byte_later(opened: Open) -> None:
    egress, url = opened({"/fits": (200, {}, b"x" * 1000), "/long": (200, {}, b"x" * 1001)})
    fits = await egress.send(WebRequest(url=url("/fits"), max_bytes=1000))
    long = await egress.send(WebRequest(url=url("/long"), max_bytes=1000))
    assert [(len(fits.body), fits.truncated), (len(long.body), long.truncated)] == [
        (1000, False),
        (1000, True),
    ]


@pytest.mark.parametrize(("more", "truncated"), [(0, False), (1, True)])
async def test_ten_mebibytes_are_received_of_an_answer(opened: Open, more: int, truncated: bool) -> None:
    most = 10 * 1024 * 1024
    egress, url = opened({"/large": (200, {}, bytes(most + more))})
    answer = await egress.send(WebRequest(url=url("/large")))
    assert (len(answer.body), answer.truncated) == (most, truncated)


async def test_redirects_on_one_host_are_followed_up_to_the_bound(opened: Open) -> None:
    pages: dict[str, tuple[int, dict[str, str], bytes]] = {
        f"/{step}": (302, {"location": f"/{step + 1}"}, b"") for step in range(6)
    }
    egress, url = opened({**pages, "/6": (200, {}, b"end")})
    assert (await egress.send(WebRequest(url=url("/1")))).body == b"end"
    assert await rule_of(egress.send(WebRequest(url=url("/0")))) == "redirect-count"


async def test_a_redirect_to_another_host_is_returned_and_not_followed(opened: Open) -> None:
    other = "http://127.0.0.9/there"
    egress, url = opened({"/away": (302, {"location": other}, b"moved")})
    answer = await egress.send(WebRequest(url=url("/away")))
    assert (answer.status, answer.redirect, answer.url) == (302, other, url("/away"))


async def test_a_request_that_follows_nothing_gets_the_redirect_itself(opened: Open) -> None:
    egress, url = opened({"/a": (301, {"location": "/b"}, b"")})
    answer = await egress.send(WebRequest(url=url("/a"), max_redirects=0))
    assert (answer.status, answer.redirect) == (301, url("/b"))


@pytest.mark.parametrize(
    "target", ["ftp://127.0.0.1/", "http://169.254.169.254/", "http://[bad", "https:///"]
)
async def test_where_nothing_is_followed_an_odd_redirect_is_an_answer_like_others(
    opened: Open, target: str
) -> None:
    egress, url = opened({"/a": (302, {"location": target}, b"moved")})
    answer = await egress.send(WebRequest(url=url("/a"), max_redirects=0))
    assert (answer.status, answer.redirect, answer.body) == (302, "", b"moved")


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        ("http://169.254.169.254/latest/meta-data", "private-address"),
        ("http://[::ffff:169.254.169.254]/", "private-address"),
        ("http://10.0.0.1/", "private-address"),
        ("http://localhost/", "local-name"),
        ("http://2130706433/", "url-numeric-host"),
        ("http://user@127.0.0.1/", "url-userinfo"),
        ("http://[bad", "redirect-target"),
        ("file:///etc/passwd", "url-scheme"),
        ("gopher://127.0.0.1:70/_x", "url-scheme"),
        ("//0x7f.1/", "url-numeric-host"),
    ],
)
async def test_a_redirect_is_judged_like_a_first_request(opened: Open, target: str, rule: str) -> None:
    egress, url = opened({"/jump": (302, {"location": target}, b"")})
    request = WebRequest(url=url("/jump"), follow_other_hosts=True)
    assert await rule_of(egress.send(request)) == rule


@pytest.mark.parametrize(
    ("access", "rule"),
    [
        (NetworkAccess("none"), "network-off"),
        (NetworkAccess("hosts", ("example.com",)), "host-not-allowed"),
        (NetworkAccess("hosts", ("127.0.0.1",)), "answered 200"),
    ],
)
async def test_a_request_reaches_only_what_its_access_names(
    opened: Open, access: NetworkAccess, rule: str
) -> None:
    egress, url = opened({"/": (200, {}, b"")})
    assert await rule_of(egress.send(WebRequest(url=url("/"), access=access))) == rule


@pytest.mark.parametrize(
    ("method", "headers", "rule"),
    [
        ("CONNECT", {}, "method"),
        ("TRACE", {}, "method"),
        ("GET / HTTP/1.1\r\nX: y", {}, "method"),
        ("GET", {"Host": "other.example"}, "header"),
        ("GET", {"Transfer-Encoding": "chunked"}, "header"),
        ("POST", {"content-length": "5"}, "header"),
        ("GET", {"Proxy-Authorization": "x"}, "header"),
        ("GET", {"X-A": "a\r\nX-B: b"}, "header"),
        ("GET", {"X A": "a"}, "header"),
        ("GET", {"": "a"}, "header"),
        ("GET", {"X-A": "caf\u00e9"}, "header"),
    ],
)
async def test_framing_and_destination_are_not_for_the_caller_to_write(
    opened: Open, method: str, headers: dict[str, str], rule: str
) -> None:
    egress, url = opened({"/": (200, {}, b"")})
    assert await rule_of(egress.send(WebRequest(url=url("/"), method=method, headers=headers))) == rule


async def test_nobody_there_is_a_network_error(opened: Open) -> None:
    egress, _ = opened({})
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        assert await rule_of(egress.send(WebRequest(url=f"http://127.0.0.1:{port}/"))) == "network_error"


async def test_closing_twice_is_harmless(opened: Open) -> None:
    egress, url = opened({"/": (200, {}, b"")})
    await egress.send(WebRequest(url=url("/")))
    await egress.close()
    await egress.close()


# --- the guarded one ------------------------------------------------------------------------


class Answers:
    """A resolver of ours: gives the next answer of a list each time and remembers the questions."""

    def __init__(self, *answers: tuple[str, ...]) -> None:
        self.left = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> tuple[str, ...]:
        self.asked.append(host)
        return self.left.pop(0)


NAMED = NetworkGate.opening(["127.0.0.2/32", "127.0.0.3/32"])


def plain(url: str, **changes: Any) -> WebRequest:
    """A request that stays with http."""
    return replace(WebRequest(url=url, upgrade=False), **changes)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "localhost.",
        "x.localhost",
        "127.1",
        "0",
        "0.0.0.0",
        "2130706433",
        "0x7f000001",
        "017700000001",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "user@127.0.0.1",
        "127.0.0.1%2f",
        "127\u30020\u30020\u30021",
        "\uff11\uff12\uff17.0.0.1",
        "example.com\\@127.0.0.1",
        "127.0.0.1#@example.com",
        "127.0.0.1?@example.com",
    ],
)
async def test_no_spelling_of_loopback_is_connected_to(canary: "Loopback", host: str) -> None:
    egress = GuardedEgress(NetworkGate())
    outcome = await rule_of(egress.send(plain(f"http://{host}:{canary.port}/")))
    assert outcome in {
        "private-address",
        "local-name",
        "url-numeric-host",
        "url-userinfo",
        "url-host",
        "url-characters",
        "url-port",
    }


@pytest.mark.parametrize(
    "addresses",
    [
        ("127.0.0.1",),
        ("8.8.8.8", "127.0.0.1"),
        ("127.0.0.1", "8.8.8.8"),
        ("::ffff:127.0.0.1",),
        ("169.254.169.254",),
    ],
)
async def test_one_private_answer_spoils_all_answers(canary: "Loopback", addresses: tuple[str, ...]) -> None:
    egress = GuardedEgress(NetworkGate(), resolve=Answers(addresses))
    with pytest.raises(ToolFailure) as caught:
        await egress.send(plain(f"http://name.test:{canary.port}/"))
    assert caught.value.details == {"rule": "private-address"}
    assert not any(address in str(caught.value) for address in addresses)


async def test_a_name_that_changes_its_answer_is_asked_once_and_never_rebound(loopback: "Loopback") -> None:
    loopback.answers("/", b"first", connection="close")
    answers = Answers(("127.0.0.2",), ("127.0.0.1",))
    egress = GuardedEgress(NAMED, resolve=answers)
    url = loopback.url("/", host="flips.test")
    assert (await egress.send(plain(url))).body == b"first"
    assert answers.asked == ["flips.test"]
    assert loopback.seen[0].headers["host"] == f"flips.test:{loopback.port}"
    assert await rule_of(egress.send(plain(url))) == "private-address"
    assert len(loopback.seen) == 1
    await egress.close()


async def test_a_redirect_back_to_a_name_that_flipped_is_judged_again(loopback: "Loopback") -> None:
    loopback.answers("/", status=302, location=loopback.url("/b", host="flips.test"), connection="close")
    egress = GuardedEgress(NAMED, resolve=Answers(("127.0.0.2",), ("127.0.0.1",)))
    outcome = await rule_of(egress.send(plain(loopback.url("/", host="flips.test"))))
    assert outcome == "private-address"
    assert [seen.target for seen in loopback.seen] == ["/"]


async def test_the_engine_cannot_be_reached_through_its_own_gate(loopback: "Loopback") -> None:
    gate = NetworkGate.opening(["127.0.0.0/8"], own=[("0.0.0.0", loopback.port)])
    assert await rule_of(GuardedEgress(gate).send(plain(loopback.url("/")))) == "own-address"
    assert loopback.connections == 0


async def test_proxies_of_the_environment_are_ignored(
    loopback: "Loopback", canary: "Loopback", monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{canary.port}")
    loopback.answers("/", b"direct")
    egress = GuardedEgress(LOOPBACK)
    assert (await egress.send(plain(loopback.url("/")))).body == b"direct"
    await egress.close()


async def test_cookies_of_one_answer_are_not_sent_with_the_next_request(loopback: "Loopback") -> None:
    loopback.answers("/", set_cookie="session=1")
    egress = GuardedEgress(LOOPBACK)
    await egress.send(plain(loopback.url("/")))
    await egress.send(plain(loopback.url("/")))
    assert [("cookie" in seen.headers) for seen in loopback.seen] == [False, False]
    await egress.close()


async def test_credentials_and_custom_headers_stay_with_their_origin(loopback: "Loopback") -> None:
    loopback.answers("/", status=307, location=loopback.url("/b", host="127.0.0.2"))
    loopback.answers("/b", b"end")
    headers = {"Authorization": "Bearer x", "Cookie": "a=b", "X-Key": "k", "Accept": "text/html"}
    egress = GuardedEgress(LOOPBACK)
    request = plain(loopback.url("/"), headers=headers, follow_other_hosts=True)
    assert (await egress.send(request)).body == b"end"
    kept = [{"authorization", "cookie", "x-key", "accept"} & seen.headers.keys() for seen in loopback.seen]
    assert kept == [{"authorization", "cookie", "x-key", "accept"}, {"accept"}]
    await egress.close()


async def test_headers_are_kept_where_the_origin_stays(loopback: "Loopback") -> None:
    loopback.answers("/", status=302, location="/b")
    loopback.answers("/b", b"end")
    egress = GuardedEgress(LOOPBACK)
    await egress.send(plain(loopback.url("/"), headers={"X-Key": "k"}))
    assert [seen.headers.get("x-key") for seen in loopback.seen] == ["k", "k"]
    await egress.close()


@pytest.mark.parametrize(
    ("status", "method", "second"),
    [
        (303, "POST", ("GET", b"")),
        (302, "POST", ("GET", b"")),
        (307, "POST", ("POST", b"x")),
        (308, "PUT", ("PUT", b"x")),
    ],
)
async def test_a_redirect_keeps_or_drops_method_and_body_by_its_status(
    loopback: "Loopback", status: int, method: str, second: tuple[str, bytes]
) -> None:
    loopback.answers("/", status=status, location="/b")
    loopback.answers("/b")
    egress = GuardedEgress(LOOPBACK)
    await egress.send(plain(loopback.url("/"), method=method, body=b"x"))
    assert (loopback.seen[1].method, loopback.seen[1].body) == second
    await egress.close()


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("gzip", lambda data: gzip.compress(data[:3], mtime=0) + gzip.compress(data[3:], mtime=0)),
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data)[2:-4]),
        ("identity", lambda data: data),
    ],
)
async def test_an_encoded_body_is_decoded(
    loopback: "Loopback", encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    body = bytes(range(256)) * 300
    loopback.answers("/", pack(body), content_encoding=encoding)
    egress = GuardedEgress(LOOPBACK)
    assert (await egress.send(plain(loopback.url("/")))).body == body
    await egress.close()


@pytest.mark.parametrize(
    ("encoding", "body", "outcome"),
    [
        ("gzip", gzip.compress(b"0" * 4_000_000, mtime=0), "compression-ratio"),
        ("deflate", zlib.compress(b"0" * 4_000_000), "compression-ratio"),
        ("gzip", gzip.compress(b"0" * 200_000, mtime=0), "answered 200"),
        ("gzip", gzip.compress(b"hello", mtime=0)[:-4], "network_error"),
        ("gzip", b"not packed", "network_error"),
        ("br", b"x", "network_error"),
        ("gzip, gzip", gzip.compress(gzip.compress(b"x", mtime=0), mtime=0), "network_error"),
    ],
)
async def test_bombs_damage_and_unknown_encodings_are_refused(
    loopback: "Loopback", encoding: str, body: bytes, outcome: str
) -> None:
    loopback.answers("/", body, content_encoding=encoding)
    egress = GuardedEgress(LOOPBACK)
    assert await rule_of(egress.send(plain(loopback.url("/")))) == outcome
    await egress.close()


@pytest.mark.parametrize(("less", "fits"), [(0, True), (1, False)])
def test_a_body_may_unpack_to_its_ratio_and_not_to_more(less: int, fits: bool) -> None:
    packed = zlib.compress(b"0" * 400_000)
    ratio = -(-400_000 // len(packed))
    inflater = Inflater("deflate", Bounds(ratio=ratio - less, ratio_floor=0))
    if fits:
        assert len(inflater.feed(packed, 1_000_000)) == 400_000
    else:
        with pytest.raises(ToolFailure, match="compression-ratio"):
            inflater.feed(packed, 1_000_000)


async def test_a_packed_body_is_bounded_by_its_decoded_size(loopback: "Loopback") -> None:
    loopback.answers("/", gzip.compress(bytes(range(256)) * 400), content_encoding="gzip")
    egress = GuardedEgress(LOOPBACK, bounds=Bounds(ratio=1000))
    answer = await egress.send(plain(loopback.url("/"), max_bytes=50_000))
    assert (len(answer.body), answer.truncated) == (50_000, True)
    await egress.close()


@pytest.mark.parametrize(("extra", "outcome"), [(99, "answered 200"), (100, "header-lines")])
async def test_a_hundred_header_lines_pass_and_one_more_does_not(
    loopback: "Loopback", extra: int, outcome: str
) -> None:
    lines = "".join(f"x-{number}: v\r\n" for number in range(extra))
    loopback.routes["/"] = f"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n{lines}\r\n".encode()
    egress = GuardedEgress(LOOPBACK)
    assert await rule_of(egress.send(plain(loopback.url("/")))) == outcome
    await egress.close()


async def test_an_endless_body_is_read_to_its_bound_and_left(loopback: "Loopback") -> None:
    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()

    loopback.routes["/"] = endless
    egress = GuardedEgress(LOOPBACK)
    answer = await egress.send(plain(loopback.url("/"), max_bytes=100_000))
    assert (len(answer.body), answer.truncated) == (100_000, True)
    await egress.close()


async def _silent(writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def _dripping(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("script", "bounds", "timeout"),
    [
        (_silent, Bounds(first_byte=0.05), 30.0),
        (_silent, Bounds(), 0.05),
        (_dripping, Bounds(), 0.1),
        (_dripping, Bounds(total=0.1), 30.0),
    ],
)
async def test_a_server_that_hangs_or_drips_runs_out_of_time(
    loopback: "Loopback",
    script: Callable[[asyncio.StreamWriter], Awaitable[None]],
    bounds: Bounds,
    timeout: float,
) -> None:
    loopback.routes["/"] = script
    egress = GuardedEgress(LOOPBACK, bounds=bounds)
    assert await rule_of(egress.send(plain(loopback.url("/"), timeout=timeout))) == "timeout"
    await egress.close()


async def test_a_name_that_never_resolves_runs_out_of_time() -> None:
    async def never(host: str, port: int) -> tuple[str, ...]:
        await asyncio.Event().wait()
        return ()

    egress = GuardedEgress(NetworkGate(), resolve=never, bounds=Bounds(connect=0.05))
    assert await rule_of(egress.send(plain("http://name.test/"))) == "timeout"


async def test_a_name_without_address_is_a_network_error() -> None:
    async def unknown(host: str, port: int) -> tuple[str, ...]:
        raise OSError("no such name")

    assert (
        await rule_of(GuardedEgress(NetworkGate(), resolve=unknown).send(plain("http://a.test/")))
        == "network_error"
    )
    assert (
        await rule_of(GuardedEgress(NetworkGate(), resolve=Answers(())).send(plain("http://a.test/")))
        == "network_error"
    )


async def test_the_next_address_is_tried_when_one_does_not_answer(loopback: "Loopback") -> None:
    loopback.answers("/", b"here")
    gate = NetworkGate.opening(["127.0.0.0/8", "::1/128"])
    egress = GuardedEgress(gate, resolve=Answers(("::1", "127.0.0.2")))
    assert (await egress.send(plain(loopback.url("/", host="two.test")))).body == b"here"
    await egress.close()


async def test_a_refused_connection_does_not_tell_the_address() -> None:
    egress = GuardedEgress(NAMED, resolve=Answers(("127.0.0.2",)))
    with pytest.raises(ToolFailure) as caught:
        await egress.send(plain("http://name.test:1/"))
    assert caught.value.code == "network_error"
    assert "127.0.0.2" not in f"{caught.value.message}{caught.value.details}"


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.from_regex(r"https?://[a-zA-Z0-9.:@/\\?#%&\[\]_~!$'()*+,;=-]{1,40}", fullmatch=True))
def test_the_client_reads_a_judged_url_as_the_judge_does(text: str) -> None:
    try:
        url = NetworkGate().parse(text)
    except ToolFailure:
        return
    read = httpx2.URL(url.url)
    assert (read.scheme, read.raw_host.decode(), read.port or url.port) == url.origin


async def test_half_an_answer_is_a_network_error(loopback: "Loopback") -> None:
    async def half(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")

    loopback.routes["/"] = half
    egress = GuardedEgress(LOOPBACK)
    assert await rule_of(egress.send(plain(loopback.url("/")))) == "network_error"
    await egress.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate for ``secure.test``, made on the spot."""
    folder = tmp_path_factory.mktemp("certificate")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = "-subj /CN=secure.test -addext subjectAltName=DNS:secure.test"
    made = subprocess.run(
        [
            *command.split(),
            *names.split(),
            "-keyout",
            str(folder / "key.pem"),
            "-out",
            str(folder / "cert.pem"),
        ],
        capture_output=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip("openssl is not installed")
    return folder / "cert.pem", folder / "key.pem"


def _server_tls(certificate: tuple[Path, Path], names: list[str | None]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    context.sni_callback = lambda _, name, __: names.append(name)
    return context


async def test_tls_keeps_the_name_while_the_judged_address_is_connected(
    certificate: tuple[Path, Path], serve: "Serve"
) -> None:
    names: list[str | None] = []
    async with serve(_server_tls(certificate, names)) as server:
        server.answers("/", b"secret page")
        trust = ssl.create_default_context(cafile=str(certificate[0]))
        egress = GuardedEgress(NAMED, resolve=Answers(("127.0.0.2",)), tls=trust)
        answer = await egress.send(WebRequest(url=f"http://secure.test:{server.port}/"))
        assert (answer.url, answer.body) == (f"https://secure.test:{server.port}/", b"secret page")
        assert (names, server.seen[0].headers["host"]) == (["secure.test"], f"secure.test:{server.port}")
        await egress.close()


async def test_a_certificate_for_another_name_is_refused(
    certificate: tuple[Path, Path], serve: "Serve"
) -> None:
    async with serve(_server_tls(certificate, [])) as server:
        trust = ssl.create_default_context(cafile=str(certificate[0]))
        egress = GuardedEgress(NAMED, resolve=Answers(("127.0.0.2",)), tls=trust)
        assert (
            await rule_of(egress.send(WebRequest(url=f"https://wrong.test:{server.port}/")))
            == "network_error"
        )
        assert server.seen == []
        await egress.close()


async def test_https_never_redirects_to_http(certificate: tuple[Path, Path], serve: "Serve") -> None:
    async with serve(_server_tls(certificate, [])) as server:
        server.answers("/", status=302, location="http://secure.test/plain")
        trust = ssl.create_default_context(cafile=str(certificate[0]))
        egress = GuardedEgress(NAMED, resolve=Answers(("127.0.0.2",)), tls=trust)
        assert (
            await rule_of(egress.send(WebRequest(url=f"https://secure.test:{server.port}/")))
            == "redirect-downgrade"
        )
        await egress.close()


async def test_the_system_resolver_returns_literals_as_they_are() -> None:
    assert await system_resolver("127.0.0.1", 80) == ("127.0.0.1",)
    assert await system_resolver("::1", 80) == ("::1",)


async def test_the_system_resolver_answers_an_impossible_name_with_an_os_error() -> None:
    with pytest.raises(OSError, match="cannot be put"):
        await system_resolver("a" * 70 + ".test", 80)


async def test_an_ipv6_address_is_reached_when_its_network_is_open(serve: "Serve") -> None:
    async with serve(None, "::1") as server:
        server.answers("/", b"six")
        egress = GuardedEgress(NetworkGate.opening(["::1/128"]))
        answer = await egress.send(WebRequest(url=f"http://[::1]:{server.port}/"))
        assert (answer.body, server.seen[0].headers["host"]) == (b"six", f"[::1]:{server.port}")
        await egress.close()
