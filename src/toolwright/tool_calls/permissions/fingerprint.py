"""What an approval is bound to: this tool, this version, this validated input, and nothing else."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest


def fingerprint(tool: str, version: str, input: Mapping[str, Any]) -> str:
    """Return a digest that changes with any part of a call; the order of keys does not matter."""
    text = json.dumps(
        [tool, version, input], sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def accepts(request: ApprovalRequest, answer: ApprovalAnswer) -> str | None:
    """Return why an answer does not count for a request, or None when it does."""
    if answer.request_id != request.request_id:
        return "The answer names another request."
    if not hmac.compare_digest(answer.fingerprint.encode(), request.fingerprint.encode()):
        return "The answer was given for another input."
    if request.one_time_only and answer.changes:
        return "This request can be answered once only; the answer must not change any rule."
    return None
