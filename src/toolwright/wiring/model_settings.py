"""Settings and environment, turned into what providers of models are made with."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolwright.contracts.models import Prices
from toolwright.settings import AbilitySettings, ProviderSettings

if TYPE_CHECKING:
    from toolwright.backends.model_providers.anthropic import AnthropicSettings
    from toolwright.backends.model_providers.line import Timeouts
    from toolwright.backends.model_providers.openai import OpenAISettings


def anthropic_settings(
    name: str, settings: ProviderSettings, environ: Mapping[str, str]
) -> "AnthropicSettings":
    """Return how a server that speaks Anthropic's protocol is reached.

    The variables of Anthropic's own clients count for the provider of that name, and for no other: a key goes
    only to whom it was given for.
    """
    from toolwright.backends.model_providers.anthropic import OFFICIAL_URL, AnthropicSettings

    own = name == "anthropic"
    url = settings.base_url or (environ.get("ANTHROPIC_BASE_URL", "") if own else "")
    key = environ.get(settings.key_env or ("ANTHROPIC_API_KEY" if own else ""), "")
    token = environ.get("ANTHROPIC_AUTH_TOKEN", "") if own and not settings.key_env and not key else ""
    more = _header_lines(environ.get("ANTHROPIC_CUSTOM_HEADERS", "")) if own else {}
    url = url or OFFICIAL_URL
    return AnthropicSettings(
        base_url=url,
        api_key=key,
        auth_token=token,
        headers=_together(more, settings.headers),
        timeouts=_line_timeouts(settings),
        proxy=settings.proxy or proxy_of(url, environ),
        stated=stated_by_model(settings),
        cached=settings.cache_marks,
        betas=settings.trial_features,
    )


def openai_settings(
    name: str, settings: ProviderSettings, environ: Mapping[str, str], *, usual: str = ""
) -> "OpenAISettings":
    """Return how a server that speaks OpenAI's protocols is reached; ``usual`` is its address by default."""
    from toolwright.backends.model_providers.openai import OFFICIAL_URL, OpenAISettings

    own = name == "openai"
    url = settings.base_url or usual or (environ.get("OPENAI_BASE_URL", "") if own else "") or OFFICIAL_URL
    key = environ.get(settings.key_env or ("OPENAI_API_KEY" if own else ""), "")
    more = {header: environ.get(name, "") for name, header in _ACCOUNTS.items()} if own and key else {}
    given = OpenAISettings(
        base_url=url,
        api_key=key,
        headers=_together({header: value for header, value in more.items() if value}, settings.headers),
        timeouts=_line_timeouts(settings),
        proxy=settings.proxy or proxy_of(url, environ),
        stated=stated_by_model(settings),
        tools=settings.tools,
    )
    probes = not given.is_official if settings.probe is None else settings.probe
    return replace(given, probes=probes)


_ACCOUNTS = {"OPENAI_ORG_ID": "openai-organization", "OPENAI_PROJECT_ID": "openai-project"}
"""Which account a key works for, where it could be several."""


def proxy_of(url: str, environ: Mapping[str, str]) -> str | None:
    """Return the proxy that the environment names for an address; never one for this machine itself (pure).

    Lower case names count before upper case ones, as with most programs.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return None  # told by whoever opens the connection
    if _is_here(host) or _is_excepted(host, _variable(environ, "no_proxy")):
        return None
    found = _variable(environ, f"{parts.scheme}_proxy") or _variable(environ, "all_proxy")
    return (found if "://" in found else f"http://{found}") if found else None


def _variable(environ: Mapping[str, str], name: str) -> str:
    return (environ.get(name) or environ.get(name.upper()) or "").strip()


def _is_here(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_excepted(host: str, written: str) -> bool:
    """Whether a list of names says that a host needs no proxy: itself, a domain it is in, or all."""
    names = (name.strip().lower().removeprefix("*").removeprefix(".") for name in written.split(","))
    said = "*" in (name.strip() for name in written.split(","))
    return said or any(host == name or host.endswith(f".{name}") for name in names if name)


def _header_lines(text: str) -> dict[str, str]:
    """Headers written as lines ``Name: value``."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, colon, value in pairs if colon and name.strip()}


def _together(environment: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Headers of both; those of the settings count first, however they are spelled."""
    said = {name.lower() for name in settings}
    return {**{name: value for name, value in environment.items() if name.lower() not in said}, **settings}


def stated_by_model(settings: ProviderSettings) -> dict[str, dict[str, Any]]:
    """Return what a person says of models, as members of ``ModelProfile``; ``*`` counts for all of them."""
    return {"*": _stated(settings), **{model: _stated(one) for model, one in settings.models.items()}}


def _line_timeouts(settings: ProviderSettings) -> "Timeouts":
    """Return how long a provider is waited for."""
    from toolwright.backends.model_providers.line import Timeouts

    return Timeouts(**settings.timeouts.model_dump(exclude_none=True))


def _stated(said: AbilitySettings) -> dict[str, Any]:
    members: dict[str, Any] = {
        "context_window": said.window,
        "max_output": said.max_output,
        "images": said.images,
        "documents": said.documents,
        "tool_search": said.tool_search,
        "prices": None if said.prices is None else Prices(**said.prices.model_dump()),
    }
    return {name: value for name, value in members.items() if value is not None}
