"""The sections of the settings, typed, with their defaults."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from toolwright.contracts.definitions import RunLimits
from toolwright.contracts.models import Effort
from toolwright.contracts.permissions import Mode

Delivery = Literal["auto", "append", "native", "dispatch"]
Count = Annotated[int, Field(ge=1)]
Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PermissionSettings(_Section):
    mode: Annotated[Mode, BeforeValidator(lambda word: "default" if word == "manual" else word)] = "default"
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    additional_directories: tuple[str, ...] = ()
    managed_rules_only: bool = False
    disable_bypass: bool = False
    bypass_as_root: bool = False
    disable_auto: bool = False


class ToolSettings(_Section):
    toolset: str = "default"
    only: tuple[str, ...] | None = None
    disabled: tuple[str, ...] = ()


class ToolSearchSettings(_Section):
    """From when on models are told only the names of most tools, and how those come to them."""

    mode: str = "auto"
    """``auto``, ``auto:N`` (percent of the window), ``count:N``, ``always`` or ``never``."""
    delivery: Delivery = "auto"
    """How definitions come to the model; ``auto``: ``native`` where the provider has it, else ``append``."""
    max_results: int = Field(default=5, ge=1, le=50)
    wait_seconds: float = Field(default=10.0, ge=0.0)
    """For servers that are being connected, when a search finds nothing good without them."""


class ConcurrencySettings(_Section):
    max: int = Field(default=10, ge=1)
    mode: Literal["partitioned", "all"] = "partitioned"
    sibling_policy: Literal["independent", "abort_on_shell_error"] = "independent"


class OutputSettings(_Section):
    max_chars: int = Field(default=50_000, ge=1_000)
    preview_chars: int = Field(default=2_000, ge=100)
    turn_budget_chars: int = Field(default=200_000, ge=1_000)
    unit: Literal["chars", "bytes"] = "chars"


class BashSettings(_Section):
    persistent: bool = False
    benign_exit_codes: dict[str, tuple[int, ...]] = {}
    destructive: tuple[str, ...] = ()
    allow_unsandboxed: bool = False


class SandboxSettings(_Section):
    kind: Literal["bubblewrap", "unsafe_plain_process"] = "bubblewrap"
    allowed_hosts: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()


class PackageSettings(_Section):
    """Where the package managers of sessions find what an environment asks for."""

    hosts: tuple[str, ...] = ()
    """Where packages come from: reached where an environment allows package managers."""
    environ: dict[str, str] = {}
    """Variables for package managers: a mirror, for example."""


class NetworkSettings(_Section):
    preapproved: tuple[str, ...] = ()
    allow_private: tuple[str, ...] = ()
    respect_robots: bool = False


class McpSettings(_Section):
    """Servers that offer tools, by name, and how long they are waited for."""

    servers: dict[str, Any] = {}
    sandbox: bool = False
    """Programs of servers run locked in where their entry does not say otherwise."""
    connect_timeout_ms: Count = 30_000
    tool_timeout_ms: Count | None = None
    """All of one call; null: as the entry says, else as long as any call may take."""
    tool_idle_timeout_ms: int = Field(default=60_000, ge=0)
    """Without an answer or a sign of progress; 0: no limit."""
    max_output_tokens: Count = 25_000
    vaults: tuple[str, ...] = ("default",)
    """Names of the vaults whose credentials servers are shown; over HTTP each session names its own."""
    client_metadata_url: str = ""
    """Where we are described as a client, for signing in at servers that read such documents."""


class FileSettings(_Section):
    read_before_write: Literal["always", "when_readable_without_prompt", "never"] = (
        "when_readable_without_prompt"
    )
    respect_gitignore: bool = True


class LoopGuardSettings(_Section):
    warn: int = Field(default=3, ge=2)
    stop: int = Field(default=5, ge=2)


class QuotaSettings(_Section):
    calls_per_run: int | None = None
    calls_per_tool: dict[str, int] = {}
    rounds: int | None = None

    def run_limits(self) -> RunLimits:
        """The same as the sessions know it: behind the last round of calls stands one more answer."""
        rounds = None if self.rounds is None else self.rounds + 1
        return RunLimits(rounds=rounds, calls=self.calls_per_run, calls_per_tool=self.calls_per_tool)


class LimitSettings(_Section):
    """How much one run may use, its children included. An agent may have tighter ones. Null: no limit."""

    rounds: Count | None = 200
    calls: Count | None = None
    calls_per_tool: dict[str, Count] = {}
    tokens: Count | None = None
    cost: Amount | None = None
    seconds: Amount | None = None

    def run_limits(self) -> RunLimits:
        """The same as the sessions know it."""
        return RunLimits(**self.model_dump())


class RetrySettings(_Section):
    """Asking a model again after a fault that may heal: waits grow from ``base_seconds``."""

    attempts: int = Field(default=5, ge=1, le=20)
    base_seconds: Amount = 1.0
    cap_seconds: Amount = 30.0
    deadline_seconds: Amount = 600.0


class CompactionSettings(_Section):
    """Shortening the history once it fills a fraction of the model's window."""

    auto: bool = True
    at: float = Field(default=0.8, ge=0.1, le=0.95)
    keep_messages: int = Field(default=6, ge=1)
    keep_tokens: int = Field(default=20_000, ge=0)


class ChildSettings(_Section):
    """Agents that agents start."""

    max_depth: int = Field(default=3, ge=0, le=10)
    max_running: int = Field(default=20, ge=1, le=100)
    max_result_chars: int = Field(default=32_000, ge=100, le=160_000)


class ContextFileSettings(_Section):
    enabled: bool = True
    max_chars: int = Field(default=40_000, ge=0)


class SkillSettings(_Section):
    enabled: bool = True
    disabled: tuple[str, ...] = ()
    """Names of skills that are not there."""


class TimeoutSettings(_Section):
    """Seconds to wait for a provider. Null: as it is usually done."""

    connect: Amount | None = None
    first_byte: Amount | None = None
    stall: Amount | None = None
    whole: Amount | None = None


class PriceSettings(_Section):
    """Dollars for a million tokens."""

    input: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    output: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    cache_read: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    cache_write: float = Field(default=0.0, ge=0, allow_inf_nan=False)


class AbilitySettings(_Section):
    """What a model can do. Null: as it is known by its name, or found out."""

    window: Count | None = None
    max_output: Count | None = None
    images: bool | None = None
    documents: bool | None = None
    tool_search: bool | None = None
    """Whether it takes definitions of tools that are kept aside until a search names them."""
    prices: PriceSettings | None = None


class ProviderSettings(AbilitySettings):
    """A server that models are asked at. What is said of a model here counts for all of its models."""

    kind: Literal["anthropic", "openai", "local"] | None = None
    base_url: str = ""
    key_env: str = ""
    """The variable that holds the key."""
    headers: dict[str, str] = {}
    proxy: str = ""
    timeouts: TimeoutSettings = TimeoutSettings()
    api: Literal["auto", "chat", "responses"] = "auto"
    tools: Literal["auto", "native", "constrained"] = "auto"
    probe: bool | None = None
    """Whether the server is asked what its models can do; null: unless it is the provider's own."""
    cache_marks: bool = True
    """Off for servers of Anthropic's protocol that refuse marks for their cache."""
    trial_features: bool = True
    """Off for servers of Anthropic's protocol that refuse the header of features in trial."""
    models: dict[str, AbilitySettings] = {}


class ModelSettings(_Section):
    """Providers by the name before the slash; ``record_to`` is a folder for recordings."""

    providers: dict[str, ProviderSettings] = {}
    names: dict[str, str] = {}
    """What names stand for; ``*`` is every name that is not listed."""
    record_to: str = ""
    replay: Literal["conversation", "strict", "order"] = "conversation"
    """What of a request must equal the recorded one: all but the system prompt, all, or its place alone."""


class Settings(_Section):
    """The settings in force, all layers merged."""

    agent: str = Field(default="main", min_length=1)
    model: str = ""
    fallback_model: str = ""
    light_model: str = ""
    """For small jobs, such as skills that ask a model; empty: the session's own."""
    models: ModelSettings = ModelSettings()
    effort: Effort = "off"
    max_tokens: Count | None = None
    limits: LimitSettings = LimitSettings()
    retries: RetrySettings = RetrySettings()
    compaction: CompactionSettings = CompactionSettings()
    children: ChildSettings = ChildSettings()
    context_files: ContextFileSettings = ContextFileSettings()
    skills: SkillSettings = SkillSettings()
    data_dir: str = ""
    permissions: PermissionSettings = PermissionSettings()
    tools: ToolSettings = ToolSettings()
    features: dict[str, bool] = {}
    tool_search: ToolSearchSettings = ToolSearchSettings()
    concurrency: ConcurrencySettings = ConcurrencySettings()
    tool_output: OutputSettings = OutputSettings()
    bash: BashSettings = BashSettings()
    sandbox: SandboxSettings = SandboxSettings()
    network: NetworkSettings = NetworkSettings()
    packages: PackageSettings = PackageSettings()
    mcp: McpSettings = McpSettings()
    files: FileSettings = FileSettings()
    hooks: dict[str, Any] = {}
    disable_all_hooks: bool = False
    hooks_fail_closed: bool = False
    loop_guard: LoopGuardSettings = LoopGuardSettings()
    quotas: QuotaSettings = QuotaSettings()
    trusted_projects: tuple[str, ...] = ()
    cleanup_days: int = Field(default=30, ge=1)
