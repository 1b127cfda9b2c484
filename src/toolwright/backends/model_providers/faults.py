"""What a provider's refusal means: a status, headers and a body become one ModelFault (pure).

Providers say the same thing in different words and places. What they say is quoted in the message, bounded,
on one line, and without the secrets that were sent to them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from toolwright.contracts.models import FaultCode, ModelFault

LONGEST_QUOTE = 500
_LONGEST_KIND = 60
_LONGEST_WAIT = 24 * 3600.0
_MOST_FIELDS = 20

_BY_STATUS: Mapping[int, FaultCode] = {
    401: "unauthorized",
    402: "billing",
    403: "unauthorized",
    404: "not_found",
    408: "timeout",
    413: "too_large",
    429: "rate_limited",
    503: "overloaded",
    529: "overloaded",
}
_BY_KIND: Mapping[str, FaultCode] = {
    "api_error": "server_error",
    "authentication_error": "unauthorized",
    "billing_error": "billing",
    "billing_hard_limit_reached": "billing",
    "billing_not_active": "billing",
    "context_length_exceeded": "too_large",
    "exceed_context_size_error": "too_large",
    "insufficient_quota": "billing",
    "internal_error": "server_error",
    "internal_server_error": "server_error",
    "invalid_api_key": "unauthorized",
    "invalid_request_error": "bad_request",
    "model_not_found": "not_found",
    "not_found_error": "not_found",
    "overloaded_error": "overloaded",
    "permission_error": "unauthorized",
    "rate_limit_error": "rate_limited",
    "rate_limit_exceeded": "rate_limited",
    "request_too_large": "too_large",
    "server_error": "server_error",
    "server_overloaded": "overloaded",
    "timeout_error": "timeout",
}
_NARROWER: frozenset[FaultCode] = frozenset({"billing", "too_large", "overloaded"})
"""What a body may say more exactly than the status does."""

_NO_CREDIT = re.compile(
    r"credit balance is too low|insufficient (?:credit|quota|balance|funds)", re.IGNORECASE
)
_TOO_LONG = re.compile(
    r"prompt is too long"
    r"|maximum context length"
    r"|exceeds? (?:the )?(?:available |model'?s? |maximum )?context"
    r"|context (?:length|window|limit|size) (?:is |was )?exceeded"
    r"|exceed context limit",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a provider says went wrong: kinds from the most exact one on, and its own words."""

    kinds: tuple[str, ...] = ()
    message: str = ""
    status: int | None = None
    """A status that is told in the middle of a stream, where there is no other."""


def complaint(body: bytes) -> Complaint | None:
    """Return what the JSON ``body`` of an error says, or None when it is none that we know."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return complaint_of(value)


def complaint_of(value: Any) -> Complaint | None:
    """Return what a parsed error says: ``{"error": {...}}``, ``{"error": "text"}``, or the inside alone.

    One family of servers puts it into a list.
    """
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return None
    inner = value.get("error", value)
    if isinstance(inner, str):
        return Complaint(message=inner)
    if not isinstance(inner, dict):
        return None
    kinds = tuple(kind for key in ("code", "type") if isinstance(kind := inner.get(key), str))
    code = inner.get("code")
    status = code if type(code) is int and 400 <= code <= 599 else None
    for key in ("message", "detail"):
        if text := _words_of(inner.get(key)):
            return Complaint(kinds, text, status)
    return Complaint(kinds, "", status) if inner is not value and (kinds or status) else None


def _words_of(value: Any) -> str:
    """What a message says that is no plain text: some servers list each field that they do not take."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "; ".join(filter(None, map(_words_of, value[:_MOST_FIELDS])))
    if not isinstance(value, dict):
        return ""
    if "msg" not in value:
        return _words_of(value.get("detail"))
    place = value.get("loc")
    named = ".".join(map(str, place)) if isinstance(place, list) else ""
    return f"{named}: {value['msg']}" if named else str(value["msg"])


def code_of(said: Complaint, status: int | None = None) -> FaultCode:
    """Return the code for what a provider said, with a status or in the middle of a stream."""
    by_kind = next((_BY_KIND[kind] for kind in said.kinds if kind in _BY_KIND), None)
    if _NO_CREDIT.search(said.message):
        by_kind = "billing"
    elif by_kind in {None, "bad_request"} and _TOO_LONG.search(said.message):
        by_kind = "too_large"
    if status is None:
        return by_kind or ("server_error" if said.status is None else code_of_status(said.status))
    by_status = code_of_status(status)
    return by_kind if by_kind in _NARROWER else by_status


def code_of_status(status: int) -> FaultCode:
    """Return the code for a status that is no success."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return "server_error"
    return "bad_request" if status >= 400 else "not_found"


def fault_of_answer(
    status: int, headers: Mapping[str, str], body: bytes, *, where: str, secrets: tuple[str, ...] = ()
) -> ModelFault:
    """Return the fault that an answer with an error status, or an error in place of a stream, stands for."""
    said = complaint(body)
    failed = status >= 300
    shown = quoted(said.message if said is not None else "", secrets)
    kind = f" ({quoted_kind(said, secrets)})" if said is not None and said.kinds else ""
    text = f"{where} answered {status}{kind}" + (f": {shown}" if shown else "")
    if 300 <= status < 400:
        text = f"{where} answered {status}: it sends elsewhere, and redirects are not followed"
    return ModelFault(
        code_of(said or Complaint(), status if failed else None),
        text,
        status=status,
        retry_after=retry_after(headers, datetime.now(UTC)),
        request_id=request_id(headers),
    )


def quoted_kind(said: Complaint, secrets: tuple[str, ...] = ()) -> str:
    """Return the provider's word for what went wrong, bounded; empty when it has none."""
    return quoted(said.kinds[0], secrets)[:_LONGEST_KIND] if said.kinds else ""


def request_id(headers: Mapping[str, str]) -> str:
    """Return the provider's name for a request, to be quoted to its support; empty without one."""
    found = headers.get("request-id") or headers.get("x-request-id") or ""
    return found if re.fullmatch(r"[\w.:/-]{1,200}", found) else ""


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that the provider asks to wait, at most a day; None when it says nothing usable."""
    exact = _seconds(headers.get("retry-after-ms", ""))
    if exact is not None:
        return min(exact / 1000, _LONGEST_WAIT)
    written = headers.get("retry-after", "")
    seconds = _seconds(written)
    if seconds is None:
        seconds = _seconds_until(written, now)
    return None if seconds is None else min(seconds, _LONGEST_WAIT)


def quoted(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Return a stranger's ``text`` on one line, bounded, printable, without what must stay secret."""
    for secret in secrets:
        text = text.replace(secret, "[hidden]")
    line = "".join(char if char.isprintable() else " " for char in text[: 4 * LONGEST_QUOTE])
    line = " ".join(line.split())
    return line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1] + "…"


def _seconds(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\s*[0-9]{1,12}(?:\.[0-9]{1,12})?\s*", text) else None


def _seconds_until(text: str, now: datetime) -> float | None:
    try:
        then = parsedate_to_datetime(text)
    except ValueError:
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max(0.0, (then - now).total_seconds())
