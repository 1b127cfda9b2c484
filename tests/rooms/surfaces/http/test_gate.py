"""What every request passes: its host, its origin, its key; and how what goes wrong is told."""

import json
from collections.abc import AsyncIterator

import httpx2
import pytest
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from toolwright.backends.storage.memory_documents import MemoryDocuments
from toolwright.catalog.access_keys import AccessKeys
from toolwright.contracts.errors import ToolwrightError
from toolwright.contracts.storage import StoreUnavailable, UnknownSession
from toolwright.surfaces.http.access import Door
from toolwright.surfaces.http.gate import Dialect, Gate, bearer, caller_of, tell
from toolwright.surfaces.http.log_lines import FIELDS
from toolwright.surfaces.http.problems import FAILED, Problem
from toolwright.surfaces.http.reading import flag, json_body, listed, moment, number, written_time
from toolwright.testing import FakeClock

pytestmark = pytest.mark.anyio
SECRET = "/secret/path of the server"
PLAIN = Dialect("plain", lambda _: True, bearer, lambda p, n: {"plain": p.message, "n": n}, public=("/open",))
OTHER = Dialect(
    "other",
    lambda path: path.startswith("/other"),
    lambda headers: [headers.get("x-other-key", "")],
    lambda problem, _: {"other": problem.kind},
)


class House:
    """An application of two dialects behind the gate."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.keys = AccessKeys(MemoryDocuments(), clock=self.clock)
        app = FastAPI(openapi_url=None, docs_url=None)
        for kind in (Problem, ToolwrightError, Exception):
            app.add_exception_handler(kind, tell)
        self._add_routes(app)
        gate = Gate(app, door=Door(self.keys, self.clock), dialects=(OTHER, PLAIN), hosts=("engine.example",))
        transport = httpx2.ASGITransport(app=gate, raise_app_exceptions=False)
        self.client = httpx2.AsyncClient(transport=transport, base_url="http://localhost")

    def _add_routes(self, app: FastAPI) -> None:
        @app.get("/open")
        async def opened() -> Response:
            return JSONResponse("open")

        @app.api_route("/whose", methods=["GET", "POST"])
        @app.get("/other/whose")
        async def whose(request: Request) -> Response:
            return JSONResponse(caller_of(request.scope).workspace)

        @app.post("/read")
        async def read(request: Request) -> Response:
            return JSONResponse(await json_body(request, most=200))

        @app.get("/query")
        async def query(request: Request) -> Response:
            at = moment(request, "at")
            found = [
                listed(request, "types"),
                number(request, "limit", default=20, most=100),
                flag(request, "all"),
                None if at is None else written_time(at),
            ]
            return JSONResponse(found)

        @app.get("/raises/{what}")
        @app.get("/other/raises/{what}")
        async def raises(what: str) -> Response:
            raise {
                "problem": Problem("too_many", "Slowly.", headers={"retry-after": "7"}),
                "session": UnknownSession("There is no session."),
                "store": StoreUnavailable("The disk is full."),
                "bug": RuntimeError(SECRET),
            }[what]


@pytest.fixture
async def house() -> AsyncIterator[House]:
    house = House()
    async with house.client:
        yield house


async def test_without_a_key_nothing_is_told_about_what_exists(house: House) -> None:
    answers = [(await house.client.get(path)).status_code for path in ("/whose", "/nowhere", "/raises/bug")]
    assert answers == [401, 401, 401]
    assert (await house.client.get("/open")).json() == "open"


@pytest.mark.parametrize("header", ["x-api-key", "authorization"])
async def test_a_key_opens_its_workspace(house: House, header: str) -> None:
    _, written = await house.keys.create(workspace="team")
    value = written if header == "x-api-key" else f"Bearer {written}"
    answer = await house.client.get("/whose", headers={header: value})
    assert answer.json() == "team"
    assert answer.headers["request-id"].startswith("req_")
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_two_keys_that_differ_are_none(house: House) -> None:
    _, one = await house.keys.create()
    _, two = await house.keys.create()
    both = {"x-api-key": one, "authorization": f"Bearer {two}"}
    assert (await house.client.get("/whose", headers=both)).status_code == 401
    same = {"x-api-key": one, "authorization": f"Bearer {one}"}
    assert (await house.client.get("/whose", headers=same)).status_code == 200


async def test_each_dialect_has_its_own_key_header_and_its_own_words(house: House) -> None:
    _, written = await house.keys.create()
    assert (await house.client.get("/other/whose", headers={"x-api-key": written})).json() == {
        "other": "unauthenticated"
    }
    mine = {"x-other-key": written}
    assert (await house.client.get("/other/whose", headers=mine)).json() == "default"
    assert (await house.client.get("/other/raises/session", headers=mine)).json() == {"other": "not_found"}


async def test_who_tries_many_keys_has_to_wait_and_others_do_not(house: House) -> None:
    _, written = await house.keys.create()
    for _ in range(20):
        assert (await house.client.get("/whose", headers={"x-api-key": "wrong"})).status_code == 401
    refused = await house.client.get("/whose", headers={"x-api-key": written})
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 60
    await house.clock.advance(61)
    assert (await house.client.get("/whose", headers={"x-api-key": written})).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("Engine.Example:443", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("", 421),
    ],
)
async def test_only_names_of_this_server_are_answered(house: House, host: str, status: int) -> None:
    assert (await house.client.get("/open", headers={"host": host})).status_code == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:3000", 200),
        ("https://engine.example", 200),
        ("https://evil.example", 403),
        ("null", 403),
        ("file://", 403),
        ("https://localhost.evil.example", 403),
    ],
)
async def test_pages_from_elsewhere_change_nothing(house: House, origin: str, status: int) -> None:
    _, written = await house.keys.create()
    shown = {"origin": origin, "x-api-key": written}
    assert (await house.client.post("/whose", headers=shown)).status_code == status
    assert (await house.client.get("/whose", headers=shown)).status_code == 200


@pytest.mark.parametrize(
    ("what", "status"), [("problem", 429), ("session", 404), ("store", 503), ("bug", 500)]
)
async def test_what_goes_wrong_is_told_and_nothing_of_the_inside_is(
    house: House, what: str, status: int
) -> None:
    _, written = await house.keys.create()
    answer = await house.client.get(f"/raises/{what}", headers={"x-api-key": written})
    assert answer.status_code == status
    assert answer.json()["n"] == answer.headers["request-id"]
    assert SECRET not in answer.text
    if what == "bug":
        assert answer.json()["plain"] == FAILED
    if what == "problem":
        assert answer.headers["retry-after"] == "7"


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b'{"a": 1}', "application/json", 200),
        (b'{"a": 1}', "application/json; charset=utf-8", 200),
        (b"", "application/json", 200),
        (b"", None, 200),
        (b'{"a": 1}', "text/plain", 415),
        (b'{"a": 1}', None, 415),
        (b"[1]", "application/json", 400),
        (b"{", "application/json", 400),
        (b'{"a": NaN}', "application/json", 400),
        (b'{"a": 1, "a": 2}', "application/json", 400),
        (b'{"a": "\\ud800"}', "application/json", 400),
        (b'{"a": "\xff"}', "application/json", 400),
        (b'{"a": ' + b"[" * 90 + b"]" * 90 + b"}", "application/json", 400),
        (json.dumps({"a": "x" * 180}).encode(), "application/json", 200),
        (json.dumps({"a": "x" * 200}).encode(), "application/json", 413),
    ],
)
async def test_bodies_are_read_strictly(house: House, body: bytes, kind: str | None, status: int) -> None:
    _, written = await house.keys.create()
    headers = {"x-api-key": written} | ({"content-type": kind} if kind else {})
    assert (await house.client.post("/read", content=body, headers=headers)).status_code == status


async def test_a_body_that_grows_beyond_its_bound_is_not_read_to_its_end(house: House) -> None:
    _, written = await house.keys.create()
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1_000):
            sent += 1
            yield b" " * 100

    headers = {"x-api-key": written, "content-type": "application/json"}
    answer = await house.client.post("/read", content=endless(), headers=headers)
    assert answer.status_code == 413
    assert sent < 100


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("", [[], 20, False, None]),
        ("types[]=a&types[]=b", [["a", "b"], 20, False, None]),
        ("types%5B%5D=a&types=b", [["a", "b"], 20, False, None]),
        ("limit=100&all=true", [[], 100, True, None]),
        ("at=2026-01-31T12:00:00Z", [[], 20, False, "2026-01-31T12:00:00.000000Z"]),
        ("at=2026-01-31T12:00:00%2B02:00", [[], 20, False, "2026-01-31T10:00:00.000000Z"]),
        ("at=2026-01-31T12:00:00", [[], 20, False, "2026-01-31T12:00:00.000000Z"]),
    ],
)
async def test_parameters_are_read_in_every_spelling(house: House, query: str, read: list[object]) -> None:
    _, written = await house.keys.create()
    answer = await house.client.get(f"/query?{query}", headers={"x-api-key": written})
    assert answer.json() == read


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "limit=-1", "all=1", "at=yesterday"])
async def test_a_parameter_out_of_its_bounds_is_named(house: House, query: str) -> None:
    _, written = await house.keys.create()
    answer = await house.client.get(f"/query?{query}", headers={"x-api-key": written})
    assert answer.status_code == 400
    assert query.partition("=")[0] in answer.json()["plain"]


async def test_every_request_is_logged_without_its_query_and_its_key(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "toolwright.surfaces.http.gate")
    key, written = await house.keys.create()
    await house.client.get("/whose?token=hidden", headers={"x-api-key": written})
    await house.client.get("/whose", headers={"x-api-key": "wrong"})
    told = [record.__dict__[FIELDS] for record in caplog.records if record.message == "request"]
    assert [(one["method"], one["path"], one["status"]) for one in told] == [
        ("GET", "/whose", 200),
        ("GET", "/whose", 401),
    ]
    assert (told[0]["key_id"], "key_id" in told[1]) == (key.key_id, False)
    assert not {"hidden", written, "wrong"} & set(str(told).replace("'", " ").split())
