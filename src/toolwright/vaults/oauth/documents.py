"""What servers say of themselves: where it is found, and what of it is believed (pure).

Names of issuers and resources are compared letter by letter and passed on as they are written.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from toolwright.contracts.vaults import VaultError
from toolwright.vaults.addresses import host_of, normal

_RESOURCE: Final = "/.well-known/oauth-protected-resource"
_ISSUER: Final = "/.well-known/oauth-authorization-server"
_OPENID: Final = "/.well-known/openid-configuration"
_MOST: Final = 200
_LONGEST: Final = 2_048
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A server that wants tokens: under which name they are for it, and who gives them out."""

    name: str
    issuers: tuple[str, ...]
    scopes: tuple[str, ...] = ()
    told: bool = True
    """It said so itself; one that says nothing is taken for its own issuer, as servers once were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """A server that gives out tokens."""

    name: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str = ""
    revocation_endpoint: str = ""
    scopes: tuple[str, ...] = ()
    client_auths: tuple[str, ...] = ()
    names_itself: bool = False
    """It says who it is when it sends somebody back; an answer that does not is none of its own."""
    reads_documents: bool = False
    """A client may be the address of a document that describes it."""


# --- where they are found ---------------------------------------------------------------------------


def resource_addresses(server_url: str, told: str) -> tuple[str, ...]:
    """Return where a server may say who gives out its tokens: where it told us, then the usual places."""
    parts = urlsplit(server_url)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    places = (told, f"{origin}{_RESOURCE}{path}", f"{origin}{_RESOURCE}")
    return tuple(dict.fromkeys(place for place in places if place))


def issuer_addresses(issuer: str) -> tuple[str, ...]:
    """Return where an issuer may describe itself, the likeliest place first."""
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    places = (f"{origin}{_ISSUER}{path}", f"{origin}{_OPENID}{path}", f"{origin}{path}{_OPENID}")
    return tuple(dict.fromkeys(places))


def origin_of(url: str) -> str:
    """Return scheme, host and port of an address."""
    parts = urlsplit(normal(url))
    return f"{parts.scheme}://{parts.netloc}"


# --- what they say -----------------------------------------------------------------------------------


def read_resource(data: Mapping[str, Any], server_url: str) -> Resource:
    """Return what a server says of itself. Raises VaultError when it speaks of another one."""
    name, issuers = _text(data, "resource"), _texts(data, "authorization_servers")
    if not name or not covers(name, server_url):
        raise VaultError(
            f"{host_of(server_url)} says that it is another resource: a token for it would be one for others."
        )
    if not issuers:
        raise VaultError(f"{host_of(server_url)} does not say who gives out its tokens.")
    return Resource(name=name, issuers=issuers, scopes=_texts(data, "scopes_supported"))


def covers(resource: str, server_url: str) -> bool:
    """Whether a resource is a server's own address, or a part of it from the beginning."""
    try:
        ours, theirs = urlsplit(normal(server_url)), urlsplit(normal(resource))
    except VaultError:
        return False
    if (ours.scheme, ours.netloc) != (theirs.scheme, theirs.netloc):
        return False
    if theirs.query and theirs.query != ours.query:
        return False
    return f"{ours.path}/".startswith(f"{theirs.path}/")


def read_issuer(data: Mapping[str, Any], expected: str) -> Issuer:
    """Return what an issuer says of itself. Raises VaultError when it is another one, or asks too little."""
    name = _text(data, "issuer")
    if name != expected:
        raise VaultError(f"What {host_of(expected)} says of itself is signed by another issuer.")
    methods = _texts(data, "code_challenge_methods_supported")
    if "S256" not in methods:
        raise VaultError(
            f"{host_of(expected)} does not say that it knows PKCE with S256, which we insist on."
        )
    return Issuer(
        name=name,
        authorization_endpoint=visited(_required(data, "authorization_endpoint", expected)),
        token_endpoint=_required(data, "token_endpoint", expected),
        registration_endpoint=_text(data, "registration_endpoint"),
        revocation_endpoint=_text(data, "revocation_endpoint"),
        scopes=_texts(data, "scopes_supported"),
        client_auths=_texts(data, "token_endpoint_auth_methods_supported"),
        names_itself=data.get("authorization_response_iss_parameter_supported") is True,
        reads_documents=data.get("client_id_metadata_document_supported") is True,
    )


def visited(url: str) -> str:
    """Return an address that a person's browser may be sent to. Raises VaultError for any other."""
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        normal(url)
        return url
    raise VaultError("The address to sign in at does not begin with https://, so nobody is sent there.")


def _required(data: Mapping[str, Any], name: str, issuer: str) -> str:
    value = _text(data, name)
    if not value:
        raise VaultError(f"{host_of(issuer)} does not say what its {name.replace('_', ' ')} is.")
    return value


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) and len(value) <= _LONGEST else ""


def _texts(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = data.get(name)
    if not isinstance(value, list):
        return ()
    return tuple(one for one in value[:_MOST] if isinstance(one, str) and one and len(one) <= _LONGEST)
