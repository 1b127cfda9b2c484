"""A secret opens with its key, in its place, and in no other way."""

from dataclasses import replace

import pytest

from toolwright.contracts.vaults import Credential, NoMasterKey, RefreshTerms, SecretParts, SignedIn, Vault
from toolwright.vaults.master_keys import MasterKeys, find_keys, new_key, read_keys
from toolwright.vaults.sealing import new_vault_key, opened, sealed, unwrapped, wrapped

KEYS = read_keys(new_key(), "a test")
VAULT = Vault(vault_id="vault_1", name="mine", created_at=0, updated_at=0)
TERMS = RefreshTerms(token_endpoint="https://example.com/token", client_id="us")
SIGNED_IN = SignedIn(issuer="https://example.com", client_id="us")
CREDENTIAL = Credential(
    credential_id="credential_1",
    vault_id="vault_1",
    kind="oauth",
    server_url="https://example.com/mcp",
    refresh=TERMS,
    signed_in=SIGNED_IN,
)
SECRET = SecretParts(value="token-in-the-clear", refresh_token="refresh-in-the-clear")


def test_what_was_sealed_opens_and_shows_nothing_before() -> None:
    key, kept = new_vault_key(KEYS, "ours", VAULT)
    assert unwrapped(KEYS, KEYS.current, kept, "ours", VAULT) == key
    data = sealed(key, SECRET, CREDENTIAL)
    assert opened(key, data, CREDENTIAL) == SECRET
    assert b"in-the-clear" not in data
    assert sealed(key, SECRET, CREDENTIAL) != data
    assert "clear" not in repr(SECRET)


@pytest.mark.parametrize(
    "other",
    [
        replace(CREDENTIAL, credential_id="credential_2"),
        replace(CREDENTIAL, vault_id="vault_2"),
        replace(CREDENTIAL, server_url="https://evil.example/mcp"),
        replace(CREDENTIAL, kind="bearer"),
        replace(CREDENTIAL, header="X-Elsewhere"),
        replace(CREDENTIAL, refresh=replace(TERMS, token_endpoint="https://evil.example/token")),
        replace(CREDENTIAL, refresh=replace(TERMS, client_id="them")),
        replace(CREDENTIAL, refresh=None),
        replace(CREDENTIAL, signed_in=None),
        replace(CREDENTIAL, signed_in=replace(SIGNED_IN, issuer="https://evil.example")),
        replace(CREDENTIAL, signed_in=replace(SIGNED_IN, revocation_endpoint="https://evil.example/r")),
    ],
    ids=["id", "vault", "server", "kind", "header", "endpoint", "client", "terms", "login", "issuer", "end"],
)
def test_a_row_that_was_moved_or_pointed_elsewhere_does_not_open(other: Credential) -> None:
    key, _ = new_vault_key(KEYS, "ours", VAULT)
    with pytest.raises(NoMasterKey, match="cannot be opened"):
        opened(key, sealed(key, SECRET, CREDENTIAL), other)


def test_names_and_notes_may_change_and_the_secret_still_opens() -> None:
    key, _ = new_vault_key(KEYS, "ours", VAULT)
    data = sealed(key, SECRET, CREDENTIAL)
    told = replace(
        CREDENTIAL, name="new", metadata={"a": "b"}, expires_at=9.0, server_url="HTTPS://EXAMPLE.com:443/mcp/"
    )
    assert opened(key, data, told) == SECRET


@pytest.mark.parametrize("place", range(0, 60, 7))
def test_every_changed_byte_is_noticed(place: int) -> None:
    key, _ = new_vault_key(KEYS, "ours", VAULT)
    data = bytearray(sealed(key, SECRET, CREDENTIAL))
    data[place] ^= 1
    with pytest.raises(NoMasterKey):
        opened(key, bytes(data), CREDENTIAL)


def test_a_vault_of_another_workspace_or_another_master_key_does_not_open() -> None:
    _, kept = new_vault_key(KEYS, "ours", VAULT)
    with pytest.raises(NoMasterKey, match="cannot be opened"):
        unwrapped(KEYS, KEYS.current, kept, "theirs", VAULT)
    others = read_keys(new_key(), "a test")
    with pytest.raises(NoMasterKey, match=KEYS.current):
        unwrapped(others, KEYS.current, kept, "ours", VAULT)


def test_a_key_is_sealed_anew_by_the_newest_and_older_ones_still_open() -> None:
    key, kept = new_vault_key(KEYS, "ours", VAULT)
    newer = MasterKeys("new", {"new": b"n" * 32, **KEYS.keys})
    assert unwrapped(newer, KEYS.current, kept, "ours", VAULT) == key
    again = wrapped(newer, key, "ours", VAULT)
    assert unwrapped(newer, "new", again, "ours", VAULT) == key


@pytest.mark.parametrize("text", ["", " \n,", "c2hvcnQ=", "not base64 at all!", "00" * 31, "zz" * 32])
def test_what_is_no_key_is_refused_and_not_quoted(text: str) -> None:
    with pytest.raises(NoMasterKey) as problem:
        read_keys(text, "a test")
    assert not text.strip(" ,\n") or text.strip() not in str(problem.value)


def test_keys_are_read_in_base64_and_hex_and_the_first_one_seals() -> None:
    first, second = "ab" * 32, new_key()
    keys = read_keys(f"{first},\n{second}\n", "a test")
    assert keys.sealing == bytes.fromhex(first)
    assert len(keys.keys) == 2
    assert first not in repr(keys)


def test_a_command_may_print_the_key_and_one_that_fails_is_named_without_its_words() -> None:
    key = new_key()
    assert find_keys({"TOOLWRIGHT_VAULT_KEY_COMMAND": f"printf {key}", "PATH": "/usr/bin:/bin"}) == read_keys(
        key, ""
    )
    with pytest.raises(NoMasterKey, match="ended with code 3"):
        find_keys({"TOOLWRIGHT_VAULT_KEY_COMMAND": f"sh -c 'echo {key}; exit 3'", "PATH": "/usr/bin:/bin"})
    assert find_keys({}) is None
