"""Hook handlers that are web services: the JSON of the event is posted, the answer is JSON."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from toolwright.contracts.errors import SettingsError, ToolFailure
from toolwright.contracts.hooks import HookInput, HookReply, HookTransport
from toolwright.contracts.network import Egress, NetworkAccess, WebRequest

MOST_OUTPUT = 1024 * 1024
LONGEST_WAIT = 600.0
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)")


def http_transport(
    settings: Mapping[str, Any], *, egress: Egress, environ: Mapping[str, str]
) -> HookTransport:
    """Return the way to a web service. ``${NAME}`` in a header stands for a variable that
    ``allowedEnvVars`` lists; any other becomes empty. May raise SettingsError."""
    url = settings["url"]
    host = urlsplit(url).hostname if isinstance(url, str) else None
    if not host or urlsplit(url).scheme not in {"http", "https"}:
        raise SettingsError("url is no http or https address")
    headers = {"content-type": "application/json", **_headers(settings, environ)}

    async def transport(input: HookInput, body: bytes) -> HookReply:
        request = WebRequest(
            url=url,
            method="POST",
            headers=headers,
            body=body,
            timeout=LONGEST_WAIT,
            max_bytes=MOST_OUTPUT,
            max_redirects=0,
            upgrade=False,
            access=NetworkAccess("hosts", (host,)),
        )
        try:
            response = await egress.send(request)
        except ToolFailure as failure:
            return HookReply(problem=f"{input.event} could not be sent: {failure.message}")
        if not 200 <= response.status < 300:
            return HookReply(problem=f"answered with HTTP status {response.status}")
        return HookReply(stdout=response.body.decode("utf-8", "replace"))

    return transport


def _headers(settings: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, str]:
    written, allowed = settings.get("headers", {}), settings.get("allowedEnvVars", ())
    if not isinstance(written, Mapping) or not all(isinstance(value, str) for value in written.values()):
        raise SettingsError("headers is no object of texts")
    if not isinstance(allowed, list | tuple):
        raise SettingsError("allowedEnvVars is no list")
    known = {name: environ.get(name, "") for name in allowed}
    return {
        name.lower(): _VARIABLE.sub(lambda found: known.get(found[1] or found[2], ""), value)
        for name, value in written.items()
    }
