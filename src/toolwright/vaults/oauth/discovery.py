"""Finding out who gives out the tokens that a server wants. All of it through the gate."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import Egress, WebRequest
from toolwright.contracts.vaults import VaultError
from toolwright.vaults.addresses import host_of, normal
from toolwright.vaults.oauth.challenges import Challenge
from toolwright.vaults.oauth.documents import (
    Issuer,
    Resource,
    issuer_addresses,
    origin_of,
    read_issuer,
    read_resource,
    resource_addresses,
)
from toolwright.vaults.oauth.token_endpoint import json_object

_MOST_BYTES: Final = 256 * 1024
_HEADERS: Final = {"accept": "application/json", "mcp-protocol-version": "2025-11-25"}


@dataclass(frozen=True, slots=True)
class Found:
    """Who gives out the tokens of a server."""

    resource: Resource
    issuer: Issuer


async def discovered(
    egress: Egress, server_url: str, challenge: Challenge, *, metadata_url: str = ""
) -> Found:
    """Find out who gives out tokens for a server. May raise VaultError.

    ``metadata_url`` is where its issuer describes itself, where a person wrote that down.
    """
    resource = await _resource(egress, server_url, challenge)
    if metadata_url:
        data = await _document(egress, metadata_url)
        if data is None:
            raise VaultError(f"There is nothing to read at the metadata_url of {host_of(metadata_url)}.")
        return Found(resource, read_issuer(data, _own_name(data, metadata_url)))
    for issuer in resource.issuers:
        for address in issuer_addresses(issuer):
            data = await _document(egress, address)
            if data is not None:
                return Found(resource, read_issuer(data, _as_written(data, issuer, resource)))
    raise VaultError(
        f"{host_of(resource.issuers[0])} does not describe itself as a server that gives out tokens. Where "
        "it does, write the address as 'metadata_url' into 'oauth' of the server's entry."
    )


async def _resource(egress: Egress, server_url: str, challenge: Challenge) -> Resource:
    """What the server says of itself, or what is assumed of one that says nothing."""
    for address in resource_addresses(server_url, challenge.resource_metadata):
        data = await _document(egress, address)
        if data is not None:
            return read_resource(data, server_url)
    return Resource(name=normal(server_url), issuers=(origin_of(server_url),), told=False)


def _as_written(data: Mapping[str, Any], issuer: str, resource: Resource) -> str:
    """The name expected of an issuer. One that nobody named goes by its origin, with or without a slash."""
    return f"{issuer}/" if not resource.told and data.get("issuer") == f"{issuer}/" else issuer


def _own_name(data: Mapping[str, Any], address: str) -> str:
    """The name of an issuer whose description a person pointed at: any of the same origin."""
    told = data.get("issuer")
    same = isinstance(told, str) and origin_of(told) == origin_of(address)
    return told if same and isinstance(told, str) else origin_of(address)


async def _document(egress: Egress, address: str) -> Mapping[str, Any] | None:
    """Return what is written at an address; None where there is nothing. Raises VaultError for silence."""
    request = WebRequest(url=address, headers=_HEADERS, max_bytes=_MOST_BYTES, max_redirects=3)
    try:
        response = await egress.send(request)
    except ToolFailure as failure:
        raise VaultError(f"{host_of(address)} could not be asked: {failure.message}") from failure
    if response.status >= 500 or response.status == 429:
        raise VaultError(f"{host_of(address)} could not say who gives out tokens: status {response.status}.")
    if response.status != 200 or response.truncated or response.redirect:
        return None
    return json_object(response.body) or None
