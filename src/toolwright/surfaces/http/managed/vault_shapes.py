"""Vaults and credentials as they are written and as they are shown. What is secret is only ever written."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from toolwright.contracts.vaults import ClientAuth
from toolwright.surfaces.http.managed.agent_shapes import Metadata, checked_metadata
from toolwright.surfaces.http.managed.pages import Moment, Written
from toolwright.surfaces.http.routes import Shape

Name = Annotated[str, Field(min_length=1, max_length=255)]
Secret = Annotated[str, Field(min_length=1, max_length=16_384)]


class TokenAuth(Shape):
    """How a client shows itself where tokens are renewed."""

    type: ClientAuth
    client_secret: Secret | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.type == "none") != (self.client_secret is None):
            raise ValueError(
                "client_secret: goes with client_secret_basic and client_secret_post, and only with them"
            )
        return self


class TokenAuthShown(Shape):
    type: ClientAuth


class RefreshGiven(Shape):
    """How an access token is renewed."""

    token_endpoint: str = Field(min_length=1, max_length=2_048)
    client_id: str = Field(min_length=1, max_length=1_024)
    refresh_token: Secret
    scope: str | None = None
    resource: str | None = None
    token_endpoint_auth: TokenAuth


class RefreshShown(Shape):
    token_endpoint: str
    client_id: str
    scope: str | None = None
    resource: str | None = None
    token_endpoint_auth: TokenAuthShown


class BearerGiven(Shape):
    """A token that does not change by itself."""

    type: Literal["static_bearer"]
    mcp_server_url: str = Field(min_length=1, max_length=2_048)
    token: Secret


class OAuthGiven(Shape):
    """A token that somebody was given for signing in."""

    type: Literal["mcp_oauth"]
    mcp_server_url: str = Field(min_length=1, max_length=2_048)
    access_token: Secret
    expires_at: Moment | None = None
    refresh: RefreshGiven | None = None


class BearerShown(Shape):
    type: Literal["static_bearer"] = "static_bearer"
    mcp_server_url: str


class OAuthShown(Shape):
    type: Literal["mcp_oauth"] = "mcp_oauth"
    mcp_server_url: str
    expires_at: Written | None = None
    refresh: RefreshShown | None = None


class TokenAuthChange(Shape):
    """Another secret for where tokens are renewed."""

    type: ClientAuth
    client_secret: Secret | None = None


class RefreshChange(Shape):
    """A change of how a token is renewed."""

    refresh_token: Secret | None = None
    scope: str | None = None
    token_endpoint_auth: TokenAuthChange | None = None


class BearerChange(Shape):
    type: Literal["static_bearer"]
    token: Secret | None = None


class OAuthChange(Shape):
    type: Literal["mcp_oauth"]
    access_token: Secret | None = None
    expires_at: Moment | None = None
    refresh: RefreshChange | None = None


class VaultGiven(Shape):
    """A new vault."""

    display_name: Name
    metadata: Metadata | None = None

    @field_validator("metadata")
    @classmethod
    def _short(cls, value: Metadata | None) -> Metadata | None:
        checked_metadata(value or {})
        return value


class VaultChange(Shape):
    """A change of a vault."""

    display_name: Name | None = None
    metadata: dict[str, str | None] | None = None


class VaultShown(Shape):
    """A vault."""

    id: str
    type: Literal["vault"] = "vault"
    display_name: str
    metadata: Metadata
    created_at: Written
    updated_at: Written
    archived_at: Written | None = None


class VaultDeleted(Shape):
    id: str
    type: Literal["vault_deleted"] = "vault_deleted"


class CredentialGiven(Shape):
    """A new credential."""

    auth: Annotated[BearerGiven | OAuthGiven, Field(discriminator="type")]
    display_name: Annotated[str, Field(max_length=255)] | None = None
    metadata: Metadata | None = None

    @field_validator("metadata")
    @classmethod
    def _short(cls, value: Metadata | None) -> Metadata | None:
        checked_metadata(value or {})
        return value


class CredentialChange(Shape):
    """A change of a credential: what is left out stays."""

    auth: Annotated[BearerChange | OAuthChange, Field(discriminator="type")] | None = None
    display_name: Annotated[str, Field(max_length=255)] | None = None
    metadata: dict[str, str | None] | None = None


class CredentialShown(Shape):
    """A credential, without its secret."""

    id: str
    type: Literal["vault_credential"] = "vault_credential"
    vault_id: str
    auth: Annotated[BearerShown | OAuthShown, Field(discriminator="type")]
    display_name: str | None = None
    metadata: Metadata
    created_at: Written
    updated_at: Written
    archived_at: Written | None = None


class CredentialDeleted(Shape):
    id: str
    type: Literal["vault_credential_deleted"] = "vault_credential_deleted"
