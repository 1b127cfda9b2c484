"""Keys to the doors of a server: made once, kept as digests, found in constant time, revoked at once.

A key is 256 random bits, so a plain digest of it cannot be guessed back. What a key opens is one workspace.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from toolwright.contracts.documents import DEFAULT_WORKSPACE, Document, DocumentStore, UnknownDocument, Wanted
from toolwright.contracts.errors import SettingsError
from toolwright.contracts.ids import new_id
from toolwright.contracts.ports import Clock

Scope = Literal["admin", "write", "read"]
SCOPES: Final[tuple[Scope, ...]] = ("admin", "write", "read")
KIND: Final = "key"
_BEGINS: Final = "tw_"
_SHORTEST_GIVEN: Final = 16
_KEPT_SECONDS: Final = 2.0
"""How long an answer of the store counts: a key revoked in another process stops working within this time."""
_MOST_KEPT: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessKey:
    """What may be told of a key."""

    key_id: str
    workspace: str = DEFAULT_WORKSPACE
    label: str = ""
    scope: Scope = "write"
    last_four: str = ""
    created_at: float = 0.0
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class _Seen:
    key: AccessKey | None
    until: float


class AccessKeys:
    """All keys of a server. Verbs may raise StoreUnavailable."""

    def __init__(
        self,
        documents: DocumentStore,
        *,
        clock: Clock,
        given: str = "",
        hashed: Collection[str] = (),
    ) -> None:
        """``given`` is a key from outside, which is in no store: it opens all of the default workspace.
        ``hashed`` are plain SHA-256 digests, in hex, of further ones.

        May raise SettingsError for one that could be guessed, and for a digest that is none.
        """
        if given and len(given) < _SHORTEST_GIVEN:
            raise SettingsError(f"A key from outside has at least {_SHORTEST_GIVEN} characters.")
        self._documents = documents
        self._clock = clock
        for one in hashed:
            if not re.fullmatch("[0-9a-f]{64}", one):
                raise SettingsError("The digest of a key is SHA-256 in 64 hex digits, lower case.")
        self._given = digest(given) if given else ""
        self._hashed = tuple(hashed)
        self._seen: dict[str, _Seen] = {}

    async def create(
        self,
        *,
        workspace: str = DEFAULT_WORKSPACE,
        label: str = "",
        scope: Scope = "write",
        lasts: float | None = None,
    ) -> tuple[AccessKey, str]:
        """Make a key; return what is known of it and, this once, the key itself."""
        written, now = _BEGINS + secrets.token_urlsafe(32), self._clock.now()
        key = AccessKey(
            key_id=new_id("key"),
            workspace=workspace,
            label=label,
            scope=scope,
            last_four=written[-4:],
            created_at=now,
            expires_at=None if lasts is None else now + lasts,
        )
        await self._documents.add(_document(key, digest(written)))
        return key, written

    async def list(self, workspace: str = DEFAULT_WORKSPACE) -> Sequence[AccessKey]:
        """Return the keys of a workspace that open it, the newest first."""
        found = await self._documents.list(workspace, KIND, Wanted(limit=1_000))
        return [_key(document) for document in found]

    async def any_key(self) -> bool:
        """Whether anybody can come in at all."""
        return bool(self._given or self._hashed) or bool(
            await self._documents.list(DEFAULT_WORKSPACE, KIND, Wanted(limit=1))
        )

    async def revoke(self, key_id: str, *, workspace: str = DEFAULT_WORKSPACE) -> None:
        """Let a key open nothing any more. May raise UnknownDocument."""
        if not await self._documents.remove(workspace, KIND, key_id):
            raise UnknownDocument(f"There is no key {key_id[:80]!r}; 'toolwright keys list' shows them.")
        self._seen.clear()

    async def opened_by(self, written: str) -> AccessKey | None:
        """Return what a key opens; None for a wrong, unknown, expired or revoked one."""
        found = digest(written)
        if self._given and hmac.compare_digest(found, self._given):
            return GIVEN
        plain = plain_digest(written)
        matches = [hmac.compare_digest(plain, one) for one in self._hashed]
        if any(matches):
            return GIVEN
        key = await self._known(found)
        if key is None or (key.expires_at is not None and key.expires_at <= self._clock.now()):
            return None
        return key

    async def _known(self, found: str) -> AccessKey | None:
        now, seen = self._clock.monotonic(), self._seen.get(found)
        if seen is not None and seen.until > now:
            return seen.key
        documents = await self._documents.find(KIND, found)
        key = next((_key(one) for one in documents if hmac.compare_digest(one.name, found)), None)
        if len(self._seen) >= _MOST_KEPT:
            self._seen.clear()
        self._seen[found] = _Seen(key, now + _KEPT_SECONDS)
        return key


GIVEN: Final = AccessKey(key_id="key_from_outside", label="given from outside", scope="admin")


def digest(written: str) -> str:
    """Return what is kept of a key."""
    return hashlib.sha256(b"toolwright access key\0" + written.encode("utf-8", "surrogatepass")).hexdigest()


def plain_digest(written: str) -> str:
    """Return the SHA-256 of a key as other programs write it."""
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


def may(key: AccessKey, needed: Scope) -> bool:
    """Whether a key's scope reaches so far: admin over write over read."""
    return SCOPES.index(key.scope) <= SCOPES.index(needed)


def _document(key: AccessKey, kept: str) -> Document:
    body = {"label": key.label, "scope": key.scope, "last_four": key.last_four, "expires_at": key.expires_at}
    return Document(
        kind=KIND,
        id=key.key_id,
        workspace=key.workspace,
        name=kept,
        created_at=key.created_at,
        updated_at=key.created_at,
        body=body,
    )


def _key(document: Document) -> AccessKey:
    body = document.body
    return AccessKey(
        key_id=document.id,
        workspace=document.workspace,
        label=body["label"],
        scope=body["scope"],
        last_four=body["last_four"],
        created_at=document.created_at,
        expires_at=body["expires_at"],
    )
