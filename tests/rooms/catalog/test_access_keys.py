"""Keys open one workspace, are kept as digests, and stop working when they should."""

import pytest

from toolwright.backends.storage.memory_documents import MemoryDocuments
from toolwright.catalog.access_keys import KIND, SCOPES, AccessKey, AccessKeys, Scope, may
from toolwright.contracts.documents import UnknownDocument
from toolwright.contracts.errors import SettingsError
from toolwright.testing import FakeClock

pytestmark = pytest.mark.anyio
OUTSIDE = "a-key-from-outside"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def documents() -> MemoryDocuments:
    return MemoryDocuments()


@pytest.fixture
def keys(documents: MemoryDocuments, clock: FakeClock) -> AccessKeys:
    return AccessKeys(documents, clock=clock)


async def test_a_key_opens_its_workspace_and_no_other_text_does(keys: AccessKeys) -> None:
    key, written = await keys.create(workspace="team", label="laptop", scope="read")
    assert await keys.opened_by(written) == key
    assert (key.workspace, key.scope, key.last_four) == ("team", "read", written[-4:])
    for wrong in ("", written[:-1], written + "x", written.upper(), "\ud800", OUTSIDE):
        assert await keys.opened_by(wrong) is None


async def test_what_is_kept_of_a_key_is_not_the_key(keys: AccessKeys, documents: MemoryDocuments) -> None:
    _, written = await keys.create()
    [kept] = await documents.list("default", KIND)
    assert written not in repr(kept)
    assert written[3:-4] not in repr(await keys.list())


async def test_two_keys_are_never_alike(keys: AccessKeys) -> None:
    assert len({(await keys.create())[1] for _ in range(50)}) == 50


async def test_a_revoked_key_opens_nothing_and_is_not_listed(keys: AccessKeys) -> None:
    key, written = await keys.create()
    assert await keys.opened_by(written) is not None
    await keys.revoke(key.key_id)
    assert await keys.opened_by(written) is None
    assert await keys.list() == []
    with pytest.raises(UnknownDocument):
        await keys.revoke(key.key_id)


async def test_a_key_revoked_elsewhere_stops_within_seconds(
    keys: AccessKeys, documents: MemoryDocuments, clock: FakeClock
) -> None:
    key, written = await keys.create()
    assert await keys.opened_by(written) is not None
    await AccessKeys(documents, clock=clock).revoke(key.key_id)
    await clock.advance(3)
    assert await keys.opened_by(written) is None


async def test_a_key_ends_with_its_time(keys: AccessKeys, clock: FakeClock) -> None:
    _, written = await keys.create(lasts=60.0)
    await clock.advance(59)
    assert await keys.opened_by(written) is not None
    await clock.advance(1)
    assert await keys.opened_by(written) is None


async def test_a_key_is_revoked_in_its_own_workspace_only(keys: AccessKeys) -> None:
    key, written = await keys.create(workspace="ours")
    with pytest.raises(UnknownDocument):
        await keys.revoke(key.key_id, workspace="theirs")
    assert await keys.opened_by(written) == key
    assert await keys.list("theirs") == []


async def test_a_key_from_outside_opens_everything_and_must_not_be_short(clock: FakeClock) -> None:
    keys = AccessKeys(MemoryDocuments(), clock=clock, given=OUTSIDE)
    found = await keys.opened_by(OUTSIDE)
    assert found is not None
    assert (found.scope, found.workspace) == ("admin", "default")
    assert await keys.any_key()
    assert not await AccessKeys(MemoryDocuments(), clock=clock).any_key()
    with pytest.raises(SettingsError, match="at least 16"):
        AccessKeys(MemoryDocuments(), clock=clock, given="short")


@pytest.mark.parametrize("has", SCOPES)
@pytest.mark.parametrize("needs", SCOPES)
def test_a_scope_reaches_as_far_as_itself(has: Scope, needs: Scope) -> None:
    assert may(AccessKey(key_id="k", scope=has), needs) == (SCOPES.index(has) <= SCOPES.index(needs))
