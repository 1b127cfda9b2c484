"""Epochs of the preamble: what a model is told before all else stays the same, byte for byte, within one."""

from toolwright.contracts.events import PreambleChanged
from toolwright.turns.parts import TurnParts


def open_epoch(parts: TurnParts) -> None:
    """Offer from now on what there is now; the log shows when that is not what it was."""
    reason = parts.renew()
    known = parts.log.conversation.preamble
    if known is not None and known.fingerprint == parts.preamble.fingerprint:
        return
    changed = PreambleChanged(
        fingerprint=parts.preamble.fingerprint,
        tools=tuple(tool.name for tool in parts.preamble.tools),
        tools_fingerprint=parts.offered.fingerprint,
        reason="" if known is None else reason or _difference(known, parts),
        surroundings=parts.surroundings,
    )
    parts.log.record(changed)


def _difference(known: PreambleChanged, parts: TurnParts) -> str:
    """What is another than it was; a session that is opened again may find other tools and other files."""
    same_tools = known.tools_fingerprint == parts.offered.fingerprint
    return "the system prompt is another" if same_tools else "the tools are others"
