"""What a server is sent with each request, where it comes from, and what follows when it is refused."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.mcp import ServerDefinition
from toolwright.contracts.vaults import VaultError
from toolwright.tools.mcp.headers import ServerHeaders, made_headers

pytestmark = pytest.mark.anyio

URL = "https://mcp.example.com/mcp"


def server(**more: Any) -> ServerDefinition:
    return ServerDefinition(name="srv", transport="http", url=URL, **more)


class Vault:
    """``Credentials`` that hold one token."""

    def __init__(self, token: str = "vaulted", *, renews: bool = False, broken: bool = False) -> None:
        self.token = token
        self.renews = renews
        self.broken = broken
        self.asked: list[str] = []

    async def headers(self, server_url: str) -> Mapping[str, str]:
        self.asked.append(server_url)
        if self.broken:
            raise VaultError("it cannot be opened")
        return {"Authorization": f"Bearer {self.token}"}

    async def standing(self, server_url: str) -> str:
        return f"{server_url} {self.token[-1:]}"

    async def refused(self, server_url: str, headers: Mapping[str, str]) -> bool:
        if self.broken:
            raise VaultError("it cannot be renewed")
        return self.renews and headers["Authorization"] == f"Bearer {self.token}"


class Helper:
    """A program that prints other headers each time it is run."""

    def __init__(self, *printed: Mapping[str, str]) -> None:
        self.printed = list(printed)
        self.ran: list[tuple[str, ...]] = []

    async def run(self, argv: tuple[str, ...]) -> bytes:
        self.ran.append(argv)
        if not self.printed:
            raise ToolFailure("auth_required", "Its headers_helper ended with exit code 1")
        return json.dumps(self.printed.pop(0)).encode()


async def test_what_an_entry_says_is_sent() -> None:
    assert await ServerHeaders(server(headers={"X-Team": "blue"})).now() == {"X-Team": "blue"}


async def test_a_vault_is_asked_for_every_request_and_for_exactly_this_address() -> None:
    vault = Vault()
    headers = ServerHeaders(server(), credentials=vault)
    assert await headers.now() == {"Authorization": "Bearer vaulted"}
    vault.token = "rotated"
    assert await headers.now() == {"Authorization": "Bearer rotated"}
    assert vault.asked == [URL, URL]


@pytest.mark.parametrize("name", ["Authorization", "authorization"])
async def test_what_a_person_wrote_goes_before_a_vault(name: str) -> None:
    headers = ServerHeaders(server(headers={name: "Bearer written"}), credentials=Vault())
    assert await headers.now() == {name: "Bearer written"}


async def test_a_vault_that_cannot_be_opened_is_a_failure_and_nothing_is_sent() -> None:
    with pytest.raises(ToolFailure) as caught:
        await ServerHeaders(server(), credentials=Vault(broken=True)).now()
    assert caught.value.code == "auth_required"


async def test_a_helper_runs_before_a_connection_and_its_headers_go_before_the_entry() -> None:
    helper = Helper({"X-Token": "made"})
    headers = ServerHeaders(
        server(headers={"X-Token": "written", "X-Team": "blue"}, headers_helper="make-headers --for 'a b'"),
        run=helper.run,
    )
    await headers.prepare()
    assert await headers.now() == {"X-Token": "made", "X-Team": "blue"}
    assert helper.ran == [("make-headers", "--for", "a b")]


async def test_without_a_helper_nothing_runs() -> None:
    helper = Helper({"X-Token": "made"})
    await ServerHeaders(server(), run=helper.run).prepare()
    assert helper.ran == []


@pytest.mark.parametrize(("printed", "again"), [("new", True), ("old", False)])
async def test_after_a_refusal_another_try_is_worth_it_only_with_other_headers(
    printed: str, again: bool
) -> None:
    helper = Helper({"X-Token": "old"}, {"X-Token": printed})
    headers = ServerHeaders(server(headers_helper="make-headers"), run=helper.run)
    await headers.prepare()
    assert await headers.refused(await headers.now()) is again


async def test_a_helper_that_fails_after_a_refusal_changes_nothing() -> None:
    helper = Helper({"X-Token": "old"})
    headers = ServerHeaders(server(headers_helper="make-headers"), run=helper.run)
    await headers.prepare()
    assert not await headers.refused(await headers.now())
    assert await headers.now() == {"X-Token": "old"}


@pytest.mark.parametrize("renews", [True, False])
async def test_a_vault_says_whether_it_has_something_else(renews: bool) -> None:
    headers = ServerHeaders(server(), credentials=Vault(renews=renews))
    assert await headers.refused(await headers.now()) is renews


async def test_a_vault_that_cannot_renew_has_nothing_else() -> None:
    headers = ServerHeaders(server(), credentials=Vault(broken=True))
    assert not await headers.refused({"Authorization": "Bearer x"})


@pytest.mark.parametrize("printed", [b"", b"no json: SECRET", b'["SECRET"]', b'{"X": ["SECRET"]}'])
def test_what_a_helper_prints_wrongly_is_told_and_never_quoted(printed: bytes) -> None:
    with pytest.raises(ToolFailure) as caught:
        made_headers(printed)
    assert "SECRET" not in str(caught.value)
