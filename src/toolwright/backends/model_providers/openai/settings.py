"""Where a server that speaks OpenAI's protocols is reached, and what is known of it beforehand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolwright.backends.model_providers.line import DEFAULT_TIMEOUTS, Timeouts

OFFICIAL_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAISettings:
    """The address ends where ``/chat/completions`` begins. Secrets stay out of its repr."""

    base_url: str = OFFICIAL_URL
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeouts: Timeouts = DEFAULT_TIMEOUTS
    proxy: str | None = field(default=None, repr=False)
    stated: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Members of ``ModelProfile`` by model, ``*`` for all: better known than by names or by asking."""
    tools: Literal["native", "constrained", "auto"] = "auto"
    """Whether models call tools natively, are forced into a form, or are tried."""
    probes: bool = False
    """Ask the server once about a model before its first answer: how large its window is, what it takes."""

    @property
    def is_official(self) -> bool:
        return self.base_url.rstrip("/") == OFFICIAL_URL

    def all_headers(self) -> dict[str, str]:
        """Return the headers of every request."""
        headers = {"accept": "text/event-stream"}
        if self.api_key:
            headers["authorization"] = f"Bearer {self.api_key}"
        return {**headers, **{name.lower(): value for name, value in self.headers.items()}}
