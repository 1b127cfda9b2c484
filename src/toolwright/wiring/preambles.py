"""What a model is told before all else, made of what a session offers: once for each epoch."""

import hashlib
from collections.abc import Iterator

from toolwright.contracts.models import Preamble, ToolDefinition
from toolwright.contracts.tool import Offered, OfferedTool, ToolSpec
from toolwright.turns.prompt import PromptInputs, system_parts
from toolwright.wiring.house import House
from toolwright.wiring.shelf import Shelf


def is_same(before: Offered, now: Offered) -> bool:
    """Whether a model would be told the same of both."""
    if before is now:
        return True
    if before.fingerprint != now.fingerprint or len(before.names) != len(now.names):
        return False
    pairs = zip(_not_sent(before), _not_sent(now), strict=False)
    return all(one is other for one, other in pairs)


def _not_sent(offered: Offered) -> Iterator[ToolSpec]:
    return (tool.tool.spec for tool in offered.tools if not tool.sent)


def preamble_of(house: House, prompt: PromptInputs) -> Preamble:
    """What a model is told first; what it keeps aside changes nothing of that, and so not the fingerprint."""
    offered, search = house.offered, search_of(house)
    aside = [_definition(tool) for tool in offered.tools if not tool.sent] if search else []
    return Preamble(
        system_parts(prompt),
        tuple(_definition(tool) for tool in offered.tools if tool.sent),
        _fingerprint(offered, prompt),
        search=search,
        aside={definition.name: definition for definition in aside},
    )


def plain_preamble(house: House, prompt: PromptInputs) -> Preamble | None:
    """The same for a model that keeps nothing aside, should one be asked instead."""
    if not search_of(house):
        return None
    offered = house.offered
    loaded = sorted((tool for tool in offered.tools if tool.loaded), key=lambda tool: not tool.sent)
    return Preamble(system_parts(prompt), tuple(map(_definition, loaded)), _fingerprint(offered, prompt))


def search_of(house: House) -> str:
    """Return the wire name of the tool that finds those kept aside; empty where none are."""
    return house.shelf.search_name if isinstance(house.shelf, Shelf) else ""


def _definition(tool: OfferedTool) -> ToolDefinition:
    spec = tool.tool.spec
    return ToolDefinition(tool.wire_name, tool.description, spec.input_schema, strict=spec.strict)


def _fingerprint(offered: Offered, prompt: PromptInputs) -> str:
    digest = hashlib.sha256(offered.fingerprint.encode())
    for part in system_parts(prompt):
        digest.update(b"\0" + part.encode())
    return digest.hexdigest()
