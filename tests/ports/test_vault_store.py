"""What may be relied on of every place that keeps rows of vaults."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from toolwright.backends.storage.memory_vaults import MemoryVaults
from toolwright.backends.storage.sqlite.vaults import SqliteVaults
from toolwright.contracts.storage import StoreUnavailable
from toolwright.contracts.vaults import (
    Credential,
    RefreshTerms,
    SealedRow,
    SignedIn,
    UnknownVault,
    Vault,
    VaultRow,
    VaultStore,
)

pytestmark = pytest.mark.anyio
Make = Callable[[], VaultStore]


@pytest.fixture(params=["sqlite", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[VaultStore]:
    makers: dict[str, Make] = {
        "sqlite": lambda: SqliteVaults(str(tmp_path / "toolwright.db")),
        "memory": MemoryVaults,
    }
    made = makers[request.param]()
    yield made
    await made.close()


def vault(name: str, *, workspace: str = "ours", at: float = 1.0) -> VaultRow:
    facts = Vault(vault_id=name, name=name.title(), created_at=at, updated_at=at, metadata={"for": "tests"})
    return VaultRow(facts, workspace, b"wrapped", "v1")


def credential(name: str, vault_id: str, *, at: float = 1.0) -> SealedRow:
    facts = Credential(
        credential_id=name,
        vault_id=vault_id,
        kind="oauth",
        server_url="https://example.com/mcp",
        expires_at=5.0,
        refresh=RefreshTerms(token_endpoint="https://example.com/token", client_id="us", scope="all"),
        created_at=at,
        metadata={"a": "b"},
    )
    return SealedRow(facts, b"sealed \x00 bytes")


async def test_rows_come_back_as_they_were_put(store: VaultStore) -> None:
    await store.put_vault(vault("one"))
    await store.put_credential("ours", credential("key", "one"))
    assert await store.vault("ours", "one") == vault("one")
    assert await store.credential("ours", "key") == credential("key", "one")


async def test_a_row_with_a_known_id_takes_the_place_of_the_other(store: VaultStore) -> None:
    await store.put_vault(vault("one"))
    renamed = vault("one")._replace(vault=replace(vault("one").vault, name="Renamed"), wrapped_key=b"again")
    await store.put_vault(renamed)
    await store.put_credential("ours", credential("key", "one"))
    forgotten = credential("key", "one")._replace(sealed=b"")
    await store.put_credential("ours", forgotten)
    assert await store.vaults("ours") == [renamed]
    assert await store.credentials("ours", "one") == [forgotten]


async def test_vaults_are_listed_newest_first_and_credentials_oldest_first(store: VaultStore) -> None:
    for name, at in (("old", 1.0), ("new", 3.0), ("middle", 2.0)):
        await store.put_vault(vault(name, at=at))
    for name, at in (("third", 3.0), ("first", 1.0), ("second", 2.0)):
        await store.put_credential("ours", credential(name, "old", at=at))
    assert [row.vault.vault_id for row in await store.vaults("ours")] == ["new", "middle", "old"]
    listed = await store.credentials("ours", "old")
    assert [row.credential.credential_id for row in listed] == ["first", "second", "third"]


async def test_one_workspace_sees_and_changes_nothing_of_another(store: VaultStore) -> None:
    await store.put_vault(vault("one"))
    await store.put_credential("ours", credential("key", "one"))
    assert await store.vault("theirs", "one") is None
    assert await store.vaults("theirs") == []
    assert await store.credential("theirs", "key") is None
    assert await store.credentials("theirs", "one") == []
    with pytest.raises(UnknownVault):
        await store.put_credential("theirs", credential("other", "one"))
    await store.remove_credential("theirs", "key")
    await store.remove_vault("theirs", "one")
    assert await store.credential("ours", "key") == credential("key", "one")
    assert [row.workspace for row in await store.every_vault()] == ["ours"]


async def test_a_vault_goes_with_all_that_is_in_it_and_may_go_twice(store: VaultStore) -> None:
    await store.put_vault(vault("one"))
    await store.put_credential("ours", credential("key", "one"))
    for _ in range(2):
        await store.remove_vault("ours", "one")
    assert await store.credential("ours", "key") is None
    for _ in range(2):
        await store.remove_credential("ours", "key")


async def test_only_one_at_a_time_works_on_a_credential_and_others_are_not_held_up(store: VaultStore) -> None:
    inside: list[str] = []
    entered, leave, second = anyio.Event(), anyio.Event(), anyio.Event()

    async def first() -> None:
        async with store.alone("key"):
            entered.set()
            await leave.wait()
            inside.append("first")

    async def after() -> None:
        second.set()
        async with store.alone("key"):
            inside.append("second")

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first)
            await entered.wait()
            tasks.start_soon(after)
            await second.wait()
            async with store.alone("another"):
                inside.append("another")
            leave.set()
    assert inside == ["another", "first", "second"]


async def test_how_somebody_signed_in_is_kept_with_the_rest(store: VaultStore) -> None:
    await store.put_vault(vault("one"))
    row = credential("key", "one")
    terms = RefreshTerms(token_endpoint="https://h/token", client_id="us", issuer="https://h")
    login = SignedIn(issuer="https://h", client_id="us", scopes=("a", "b"), redirect_uri="http://127.0.0.1/x")
    row = row._replace(credential=replace(row.credential, refresh=terms, signed_in=login))
    await store.put_credential("ours", row)
    assert await store.credential("ours", "key") == row
    assert await store.credentials("ours", "one") == [row]


async def test_two_stores_of_one_file_let_only_one_at_a_time_work_on_a_credential(tmp_path: Path) -> None:
    path, inside = str(tmp_path / "toolwright.db"), []
    entered, leave = anyio.Event(), anyio.Event()
    stores = [SqliteVaults(path), SqliteVaults(path)]

    async def hold() -> None:
        async with stores[0].alone("key"):
            entered.set()
            await leave.wait()
            inside.append("first")

    async def wait() -> None:
        async with stores[1].alone("key"):
            inside.append("second")

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hold)
            await entered.wait()
            tasks.start_soon(wait)
            async with stores[1].alone("another"):
                inside.append("another")
            leave.set()
        for store in stores:
            await store.close()
    assert inside == ["another", "first", "second"]


async def test_a_store_that_is_closed_does_nothing_more(tmp_path: Path) -> None:
    store = SqliteVaults(str(tmp_path / "toolwright.db"))
    await store.put_vault(vault("one"))
    for _ in range(2):
        await store.close()
    with pytest.raises(StoreUnavailable, match="was closed"):
        await store.vaults("ours")
