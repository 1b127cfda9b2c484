"""Calls for models without native tool calling: told in words, forced by a schema (pure).

The tools stand in the system prompt, and a JSON schema leaves the model two answers: a final text, or calls.
What it wrote before goes back to it in the same form, and results go back as text.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from toolwright.backends.model_providers.json_fragments import written, written_input
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.models import ToolDefinition
from toolwright.contracts.tool import Schema

TEXT = "text"
CALLS = "calls"
_DEEPEST = 8
_MOST_CALLS = 8
_KEPT = ("type", "enum", "const", "required", "minItems", "maxItems", "minimum", "maximum")
"""What grammars made from schemas can hold; the pipeline validates the rest."""

_SENTENCE = re.compile(r"[^\n]*?[.!?](?=\s|\Z)|[^\n]{1,200}")

_INTRO = """Answer with one JSON object and nothing else.
To say something to the person: {"text": "..."}
To call tools first: {"calls": [{"name": "...", "input": {...}}]}
The results of your calls come in the next message. Call a tool only when you need it; when you know the \
answer, give it as text."""
_BRIEF_INTRO = """Answer with one JSON object and nothing else.
To do something, call tools: {"calls": [{"name": "...", "input": {...}}]}
The results of your calls come in the next message. To say what came of it: {"text": "..."}"""
"""For the smallest models: told of the text first, they talk of calls instead of making them."""
_NO_TOOLS = 'Answer with one JSON object and nothing else: {"text": "..."}'


def constrained_system(tools: Sequence[ToolDefinition], *, brief: bool = False) -> str:
    """Return the part of the system prompt that says how to answer and which tools there are.

    ``brief`` is for windows that do not hold more than a line about each.
    """
    if not tools:
        return _NO_TOOLS
    if brief:
        return "\n".join([_BRIEF_INTRO, "Tools:", *map(_in_one_line, tools)])
    return "\n\n".join([_INTRO, "Tools:", *map(_described, tools)])


def answer_schema(
    tools: Sequence[ToolDefinition], choice: Literal["auto", "none", "required"]
) -> dict[str, Any]:
    """Return the schema that an answer is forced into."""
    text = _object({TEXT: {"type": "string"}})
    if not tools or choice == "none":
        return text
    each = [_object({"name": {"const": tool.name}, "input": _input(tool.input_schema)}) for tool in tools]
    calls = {"type": "array", "items": {"anyOf": each}, "minItems": 1, "maxItems": _MOST_CALLS}
    asked = _object({CALLS: calls})
    return asked if choice == "required" else {"anyOf": [text, asked]}


def call_as_text(calls: Sequence[CallBlock]) -> str:
    """Return calls as the model wrote them."""
    each = (b'{"name":%b,"input":%b}' % (written(call.name), written_input(call.input)) for call in calls)
    return (b'{"calls":[%b]}' % b",".join(each)).decode()


def text_as_answer(text: str) -> str:
    """Return a text as the model wrote it."""
    return written({TEXT: text}).decode()


def result_as_text(number: int, content: str, *, failed: bool) -> str:
    """Return the result of a call as the model reads it; it knows its calls by their order, not by ids."""
    return f"{'Failure' if failed else 'Result'} of call {number}:\n{content}"


def _described(tool: ToolDefinition) -> str:
    schema = json.dumps(_input(tool.input_schema), ensure_ascii=False)
    return f"{tool.name}: {tool.description.strip()}\nInput: {schema}"


def _in_one_line(tool: ToolDefinition) -> str:
    """The first sentence, and the names of what the input must hold."""
    first = _SENTENCE.match(tool.description.strip())
    required = tool.input_schema.get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    return f"{tool.name}({', '.join(names)}): {first.group() if first is not None else ''}"


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _input(schema: Schema) -> dict[str, Any]:
    kept = _simple(schema, 0)
    return kept if kept.get("type") == "object" else {"type": "object"}


def _simple(schema: Any, depth: int) -> dict[str, Any]:
    """The schema without what grammars cannot hold: references, patterns, formats and the like."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return {}
    kept: dict[str, Any] = {name: schema[name] for name in _KEPT if name in schema}
    if depth and isinstance(schema.get("description"), str):
        kept["description"] = schema["description"]
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        kept["properties"] = {name: _simple(inner, depth + 1) for name, inner in properties.items()}
        kept["additionalProperties"] = False
    if isinstance(schema.get("items"), Mapping):
        kept["items"] = _simple(schema["items"], depth + 1)
    for name in ("anyOf", "oneOf"):
        if isinstance(schema.get(name), list) and "properties" not in kept:  # grammars take one or the other
            kept["anyOf"] = [_simple(inner, depth + 1) for inner in schema[name]]
    return kept
