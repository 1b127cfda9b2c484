"""A server that gives out tokens and one that wants them, on loopback: strict, and lax where a test says so.

Nothing is shared with the code that is tested: what OAuth demands of servers is written down here again.
"""

import base64
import hashlib
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode

from mcp.server import MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.servers.serving import listening

Json = dict[str, Any]


@dataclass
class Grant:
    """What a person agreed to."""

    client_id: str
    redirect_uri: str
    challenge: str
    resource: str
    scopes: tuple[str, ...]


@dataclass
class Issuer:
    """Gives out tokens. ``odd`` names what it does not do as it should."""

    odd: str = ""
    auths: tuple[str, ...] = ("none",)
    registers: bool = True
    refreshes: bool = True
    scopes: tuple[str, ...] = ("read", "write", "offline_access")
    clients: dict[str, Json] = field(default_factory=dict)
    codes: dict[str, Grant] = field(default_factory=dict)
    refresh_tokens: dict[str, Grant] = field(default_factory=dict)
    access_tokens: dict[str, Grant] = field(default_factory=dict)
    revoked: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """What was asked of it, in order."""
    lasts: float = 3_600
    url: str = ""
    prefix: str = ""

    @property
    def name(self) -> str:
        return f"{self.url}{self.prefix}"

    @property
    def app(self) -> ASGIApp:
        p = self.prefix
        return Starlette(
            routes=[
                Route(f"/.well-known/oauth-authorization-server{p}", self._metadata),
                Route(f"{p}/authorize", self._authorize),
                Route(f"{p}/token", self._token, methods=["POST"]),
                Route(f"{p}/register", self._register, methods=["POST"]),
                Route(f"{p}/revoke", self._revoke, methods=["POST"]),
            ]
        )

    async def _metadata(self, request: Request) -> Response:
        self.asked.append("metadata")
        about: Json = {
            "issuer": "https://evil.example" if self.odd == "another issuer" else self.name,
            "authorization_endpoint": f"{self.name}/authorize",
            "token_endpoint": f"{self.name}/token",
            "revocation_endpoint": f"{self.name}/revoke",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": list(self.auths),
            "scopes_supported": list(self.scopes),
            "authorization_response_iss_parameter_supported": True,
        }
        if self.odd != "no pkce":
            about["code_challenge_methods_supported"] = ["plain"] if self.odd == "plain pkce" else ["S256"]
        if self.registers:
            about["registration_endpoint"] = f"{self.name}/register"
        return JSONResponse(about)

    async def _register(self, request: Request) -> Response:
        self.asked.append("register")
        asked = await request.json()
        if asked["token_endpoint_auth_method"] not in self.auths or asked.get("application_type") != "native":
            return JSONResponse({"error": "invalid_client_metadata"}, 400)
        client_id = f"client-{len(self.clients) + 1}"
        made = {**asked, "client_id": client_id}
        if asked["token_endpoint_auth_method"] != "none":
            made["client_secret"] = secrets.token_urlsafe(24)
        self.clients[client_id] = made
        return JSONResponse(made, 201)

    async def _authorize(self, request: Request) -> Response:
        """A person who agrees to everything."""
        self.asked.append("authorize")
        given = request.query_params
        client = self.clients.get(given.get("client_id", ""))
        if client is None or given.get("redirect_uri") not in client["redirect_uris"]:
            return Response("no such client", 400)
        if given.get("code_challenge_method") != "S256" or not given.get("code_challenge"):
            return Response("no proof", 400)
        back: Json = {"state": given.get("state", ""), "iss": self.name}
        if self.odd == "denies":
            back["error"] = "access_denied"
        else:
            back["code"] = secrets.token_urlsafe(24)
            self.codes[back["code"]] = Grant(
                given["client_id"],
                given["redirect_uri"],
                given["code_challenge"],
                given.get("resource", ""),
                tuple(given.get("scope", "").split()),
            )
        _spoil(back, self.odd)
        return RedirectResponse(f"{given['redirect_uri']}?{urlencode(back)}", 302)

    async def _token(self, request: Request) -> Response:
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        self.asked.append(form.get("grant_type", ""))
        client_id = self._shown(request, form)
        if client_id is None:
            return JSONResponse({"error": "invalid_client"}, 401)
        grant = self._granted(form)
        if grant is None or grant.client_id != client_id:
            return JSONResponse({"error": "invalid_grant", "error_description": str(form)}, 400)
        if grant.resource != form.get("resource", ""):
            return JSONResponse({"error": "invalid_target"}, 400)
        return JSONResponse(self._given(grant))

    def _shown(self, request: Request, form: Mapping[str, str]) -> str | None:
        """The client that asks, if it shows itself as it was registered to."""
        header = request.headers.get("authorization", "")
        if header.startswith("Basic "):
            name, _, secret = base64.b64decode(header[6:]).decode().partition(":")
            how, client_id, secret = "client_secret_basic", unquote(name), unquote(secret)
        else:
            client_id, secret = form.get("client_id", ""), form.get("client_secret", "")
            how = "client_secret_post" if secret else "none"
        client = self.clients.get(client_id)
        if client is None or client["token_endpoint_auth_method"] != how:
            return None
        return client_id if client.get("client_secret", "") == secret else None

    def _granted(self, form: Mapping[str, str]) -> Grant | None:
        if form["grant_type"] == "refresh_token":
            return self.refresh_tokens.pop(form["refresh_token"], None)  # each one is good once
        grant = self.codes.pop(form.get("code", ""), None)
        proof = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        shown = base64.urlsafe_b64encode(proof).decode().rstrip("=")
        if grant is None or grant.challenge != shown or grant.redirect_uri != form.get("redirect_uri"):
            return None
        return grant

    def _given(self, grant: Grant) -> Json:
        access, further = f"access-{secrets.token_urlsafe(24)}", f"refresh-{secrets.token_urlsafe(24)}"
        self.access_tokens[access] = grant
        told: Json = {"access_token": access, "token_type": "Bearer", "scope": " ".join(grant.scopes)}
        if self.lasts:
            told["expires_in"] = self.lasts
        if self.refreshes:
            self.refresh_tokens[further] = grant
            told["refresh_token"] = further
        return told

    async def _revoke(self, request: Request) -> Response:
        form = parse_qs((await request.body()).decode())
        self.revoked.append(form["token"][0])
        self.refresh_tokens.pop(form["token"][0], None)
        return Response()


def _spoil(back: Json, odd: str) -> None:
    if odd == "wrong iss":
        back["iss"] = "https://evil.example"
    elif odd == "no iss":
        del back["iss"]
    elif odd == "iss with a slash":
        back["iss"] += "/"
    elif odd == "wrong state":
        back["state"] = "of-somebody-else"


@dataclass
class Guarded:
    """A server of tools that lets in who has a token for it."""

    issuer: Issuer
    url: str = ""
    needs: Mapping[str, str] = field(default_factory=lambda: {"write": "write"})
    """By tool, the scope that calling it takes."""
    tells_where: bool = True
    resource: str = ""
    """Another name than its own, where a test wants it to claim one."""
    seen: list[str] = field(default_factory=list)
    """The tokens that it let in."""

    @property
    def metadata(self) -> Json:
        return {
            "resource": self.resource or self.url,
            "authorization_servers": [self.issuer.name],
            "scopes_supported": ["read"],
        }

    def guarding(self, inner: ASGIApp) -> ASGIApp:
        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                return await inner(scope, receive, send)
            request = Request(scope, receive)
            if request.url.path == "/.well-known/oauth-protected-resource/mcp":
                return await JSONResponse(self.metadata)(scope, receive, send)
            body = await request.body()
            refusal = self._refusal(request, body)
            if refusal is not None:
                return await refusal(scope, receive, send)
            return await inner(scope, _again(body, receive), send)

        return guarded

    def _refusal(self, request: Request, body: bytes) -> Response | None:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        grant = self.issuer.access_tokens.get(token)
        where = self.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
        told = f', resource_metadata="{where}"' if self.tells_where else ""
        if grant is None or grant.resource != self.url:
            challenge = f'Bearer error="invalid_token", scope="read"{told}'
            return Response(status_code=401, headers={"www-authenticate": challenge})
        for name, scope in self.needs.items():
            if f'"name":"{name}"'.encode() in body.replace(b" ", b"") and scope not in grant.scopes:
                challenge = f'Bearer error="insufficient_scope", scope="{scope}"{told}'
                return Response(status_code=403, headers={"www-authenticate": challenge})
        self.seen.append(token)
        return None


def _again(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read once more, then whatever comes."""
    given = [False]

    async def received() -> Any:
        if given[0]:
            return await receive()
        given[0] = True
        return {"type": "http.request", "body": body, "more_body": False}

    return received


def tools() -> MCPServer:
    """Two tools: one for everybody who is let in, one that takes more."""
    server = MCPServer("guarded", log_level="ERROR")

    @server.tool(structured_output=False)
    def look() -> str:
        """Look around."""
        return "It is quiet here."

    @server.tool(structured_output=False)
    def write() -> str:
        """Write something down."""
        return "It is written."

    return server


@asynccontextmanager
async def guarded(issuer: Issuer | None = None, **more: Any) -> AsyncIterator[Guarded]:
    """Serve a server of tools and who gives out its tokens."""
    issuer = issuer or Issuer()
    server = Guarded(issuer, **more)
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(listening(issuer.app))
        issuer.url = f"http://127.0.0.1:{port}"
        inner = tools().streamable_http_app()
        port = await stack.enter_async_context(listening(server.guarding(inner)))
        server.url = f"http://127.0.0.1:{port}/mcp"
        yield server
