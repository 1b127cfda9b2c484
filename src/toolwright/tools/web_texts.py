"""What the tools of the web say about an answer, to a model and to a person."""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from toolwright.contracts.errors import ToolFailure
from toolwright.workspaces.urls import parse_url


def host_of(url: Any) -> str:
    """The host of a URL that may be unfinished; empty when there is none yet."""
    try:
        return parse_url(url).host if isinstance(url, str) else ""
    except ToolFailure:
        return ""


def status_text(status: int) -> str:
    """``200 OK``."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def size_text(size: int) -> str:
    """``34 KB``."""
    amount = float(size)
    for unit in ("B", "KB", "MB"):
        if amount < 1024 or unit == "MB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if amount >= 10 or unit == "B" else f"{amount:.1f} {unit}"


def retry_after(headers: Mapping[str, str], *, now: float) -> float | None:
    """Seconds to wait by the header Retry-After, which holds seconds or a date."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now) if text else None
    except (ValueError, OverflowError):
        return None
