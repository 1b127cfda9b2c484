"""Servers that offer tools over the Model Context Protocol, and the port behind which connections stand.

Nothing here knows the library that speaks the protocol. What a server says is a stranger's word: texts are
bounded and cleaned, promises are hints, and no schema is followed to another place.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from toolwright.contracts.errors import ToolwrightError
from toolwright.contracts.tool import Input, Schema

Transport = Literal["stdio", "http", "sse", "ws", "sdk"]
ServerScope = Literal["managed", "cli", "local", "project", "user", "agent", "api", "code"]
"""Where a server was written down. ``project`` alone is a stranger's word until somebody approved it."""


# --- how a server is written down ------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthSettings:
    """What is known beforehand of a server that wants a person to sign in; the rest is discovered."""

    client_id: str = ""
    callback_port: int | None = None
    scopes: tuple[str, ...] = ()
    metadata_url: str = ""
    """Where the server that gives out tokens describes itself."""
    client_metadata_url: str = ""
    """Where we are described as a client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingSettings:
    """Whether a server may ask our model, and how much."""

    model: str = ""
    max_tokens: int = 1_024
    daily_limit: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSandbox:
    """What a program that runs locked in may reach: hosts through the gate, and folders."""

    allowed_hosts: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDefinition:
    """One server, checked, with variables expanded."""

    name: str
    transport: Transport
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    sandbox: ServerSandbox | None = None
    """A stdio server runs locked in like a command."""
    restart: bool = False
    """A stdio server that dies is started again, a few times."""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    headers_helper: str = ""
    """A program that prints a JSON object of headers, run at each connect."""
    oauth: OAuthSettings | None = None
    instance: object | None = None
    """A server object in this process."""
    handshake: bool = False
    """Met by the older handshake at once: for servers that do not answer what they do not know."""
    timeout: float | None = None
    """Seconds one call may take."""
    always_load: bool = False
    """Its tools are never deferred."""
    trusted: bool = False
    """Its word that a tool only reads is taken."""
    parallel: bool = False
    """Its tools may run side by side."""
    shared: bool = False
    """One connection serves all sessions that use the same credential."""
    max_concurrency: int | None = None
    enabled_tools: tuple[str, ...] = ()
    """Patterns of the server's own names; empty means all."""
    disabled_tools: tuple[str, ...] = ()
    sampling: SamplingSettings | None = None
    disabled: bool = False
    scope: ServerScope = "user"
    origin: str = ""
    """The file it was written in, or empty."""
    digest: str = ""
    """Of the entry as it was written, variables not expanded: what an approval is given for."""
    target: str = ""
    """What it runs or where it leads, as it was written."""
    takes: tuple[str, ...] = ()
    """Variables of the environment that its entry takes."""


# --- what a server says of itself -------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What a server said when it was met."""

    name: str = ""
    version: str = ""
    protocol: str = ""
    instructions: str = ""
    tools: bool = False
    resources: bool = False
    subscriptions: bool = False
    prompts: bool = False


NO_FACTS = ServerFacts()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTool:
    """A tool as its server describes it."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: Schema = field(default_factory=lambda: {"type": "object"})
    output_schema: Schema | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    """``readOnlyHint`` and its like."""
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolListing:
    """The tools of a server, and in words what was left out of its list."""

    tools: tuple[ListedTool, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedResource:
    """Something a server can be asked to read out; with ``template`` its address has gaps to fill."""

    uri: str
    name: str = ""
    title: str = ""
    description: str = ""
    media_type: str = ""
    size: int | None = None
    template: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPrompt:
    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


# --- what comes back ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPart:
    """One block of an answer. ``data`` is base64."""

    kind: Literal["text", "image", "audio", "resource", "link"]
    text: str = ""
    data: str = ""
    media_type: str = ""
    uri: str = ""
    name: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAnswer:
    """What a server answered to a call."""

    parts: tuple[McpPart, ...] = ()
    structured: Any = None
    is_error: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMessage:
    role: Literal["user", "assistant"]
    part: McpPart


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptAnswer:
    description: str = ""
    messages: tuple[PromptMessage, ...] = ()


@dataclass(frozen=True, slots=True)
class McpProgress:
    done: float
    total: float | None = None
    text: str = ""


McpFaultCode = Literal[
    "unreachable",  # nobody there, or the process cannot be started
    "timeout",  # no answer, or no sign of life, for too long
    "closed",  # the connection ended in the middle of something
    "auth",  # 401 or 403: a credential is missing, wrong or too weak
    "not_found",  # 404 at the address, or no such tool, resource or prompt
    "protocol",  # what came is not what the protocol says
    "refused",  # the server answered with an error of its own
    "too_large",  # an answer over the bound
    "egress",  # the address may not be reached from here
    "unsupported",  # the server does not offer this
]


class McpFault(ToolwrightError):
    """A server could not do what was asked. The message is bounded and names no secret."""

    def __init__(
        self,
        code: McpFaultCode,
        message: str,
        *,
        error_code: int | None = None,
        status: int | None = None,
        challenge: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code: McpFaultCode = code
        self.message = message
        self.error_code = error_code
        """Of the protocol, where the server gave one."""
        self.status = status
        self.challenge = challenge
        """``WWW-Authenticate`` of a 401 or 403."""
        self.retry_after = retry_after


# --- what a server tells and asks ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListChanged:
    """The server's tools, resources or prompts are others now."""

    what: Literal["tools", "resources", "prompts"]


@dataclass(frozen=True, slots=True)
class ResourceChanged:
    uri: str


@dataclass(frozen=True, slots=True)
class ServerLogged:
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    """Nothing more comes over this connection; ``reason`` may quote the last words of a process."""

    reason: str
    code: McpFaultCode = "closed"


McpNews = ListChanged | ResourceChanged | ServerLogged | ConnectionLost


@dataclass(frozen=True, slots=True, kw_only=True)
class Elicitation:
    """A server wants something from a person: a form to fill in, or an address to visit."""

    message: str
    schema: Schema | None = None
    url: str = ""
    elicitation_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElicitationAnswer:
    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingRequest:
    """A server wants our model to say something."""

    messages: tuple[PromptMessage, ...]
    system: str = ""
    max_tokens: int = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingAnswer:
    text: str
    model: str
    stop: str = "endTurn"


class McpHost(Protocol):
    """What a connection may turn to on our side."""

    @property
    def can_elicit(self) -> bool:
        """Whether anybody could answer; a server is told when it is met."""
        ...

    @property
    def can_sample(self) -> bool:
        """Whether this server may ask our model at all."""
        ...

    def told(self, news: McpNews) -> None:
        """Must be quick and must not raise."""
        ...

    def roots(self) -> Sequence[str]:
        """Folders that the session works in, as absolute paths."""
        ...

    async def elicit(self, asked: Elicitation) -> ElicitationAnswer:
        """Bring it to a person; ``cancel`` where nobody can answer. Must not raise."""
        ...

    async def sample(self, asked: SamplingRequest) -> SamplingAnswer:
        """May raise McpFault ``refused``: sampling is off, used up, or not approved."""
        ...


Headers = Callable[[], Awaitable[Mapping[str, str]]]
"""Headers of the next request, credentials included; asked for each request so that rotation counts.
May raise ToolFailure, which ends that request."""
Refused = Callable[[Mapping[str, str]], Awaitable[bool]]
"""Told what a server did not accept. True when there is something else to send now. Must not raise."""


class McpConnection(Protocol):
    """One open connection. Every ``async`` method may raise McpFault; cancelling tells the server so."""

    @property
    def facts(self) -> ServerFacts: ...

    async def list_tools(self) -> ToolListing:
        """All pages. A definition that is none is left out, and the others stay."""
        ...

    async def call_tool(
        self, name: str, input: Input, *, on_progress: Callable[[McpProgress], None] | None = None
    ) -> CallAnswer:
        """Call once; never repeated by the connection itself."""
        ...

    async def list_resources(self) -> Sequence[ListedResource]:
        """Resources and templates, all pages."""
        ...

    async def read_resource(self, uri: str) -> Sequence[McpPart]: ...

    async def subscribe(self, uri: str) -> None: ...

    async def unsubscribe(self, uri: str) -> None: ...

    async def list_prompts(self) -> Sequence[ListedPrompt]: ...

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> PromptAnswer: ...

    async def roots_changed(self) -> None:
        """Tell the server that ``McpHost.roots`` gives other folders now."""
        ...

    async def ping(self) -> None: ...

    async def close(self) -> None:
        """End it in the order the transport wants. Safe to repeat. Must not raise."""
        ...


class McpConnector(Protocol):
    """Opens connections. The library that speaks the protocol is first imported here."""

    async def connect(
        self,
        server: ServerDefinition,
        host: McpHost,
        *,
        headers: Headers | None = None,
        refused: Refused | None = None,
    ) -> McpConnection:
        """Meet a server. May raise McpFault. Safe to cancel: nothing stays behind."""
        ...
