"""The rules of the linter, each a small function that yields findings."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolwright.contracts.errors import DefinitionError
from toolwright.tools import lint_texts, naming
from toolwright.tools.definitions import Definition
from toolwright.tools.schema_reading import malformed, properties_of, words_of

Severity = Literal["error", "warning", "advice"]

_SHORT = 40
_LONG = 6_000
_MANY = 20
_TYPE_WORDS = ("type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a model may stumble over, and what to do about it."""

    rule: str
    severity: Severity
    property: str
    """Dotted path of the property, empty when the tool as a whole is meant."""
    message: str
    fix: str


class Names:
    """Every name that the tools judged together claim, and those they stand beside."""

    def __init__(self, definitions: Sequence[Definition], others: Collection[str]) -> None:
        self.judged = Counter(definition.name for definition in definitions)
        self.all = {*others, *self.judged}
        self.wire = Counter(naming.wire_name(name) for name in self.all)
        self.aliases = Counter(alias for definition in definitions for alias in set(definition.aliases))


def findings(definition: Definition, names: Names, *, strict: bool) -> Iterator[Finding]:
    """Everything that can be said about one definition."""
    yield from _name(definition, names)
    yield from _aliases(definition, names)
    problem = next(malformed(definition.schema), "")
    if problem:
        yield Finding("schema-malformed", "error", "", f"The schema is none: {problem}.", "Correct it.")
        return
    yield from _description(definition)
    yield from _documented(definition, names)
    yield from _root(definition)
    for path, schema in properties_of(definition.schema):
        yield from _property(path, schema, strict=strict)
    yield from _required(definition)


def _name(definition: Definition, names: Names) -> Iterator[Finding]:
    name = definition.name
    try:
        naming.check_name(name)
    except DefinitionError as problem:
        yield Finding("name-form", "error", "", str(problem), "Rename the tool.")
    if names.judged[name] > 1:
        yield Finding("name-twice", "error", "", f"Two tools are named {name!r}.", "Rename one of them.")
    if names.wire[naming.wire_name(name)] > 1:
        yield Finding(
            "name-on-the-wire",
            "error",
            "",
            f"Another tool is {naming.wire_name(name)!r} too where names hold no dots.",
            "Rename one of them.",
        )
        return
    near = sorted(other for other in names.all if other != name and _one_edit(name, other))
    if near:
        yield Finding(
            "name-similar",
            "warning",
            "",
            f"The name differs from {near[0]!r} by one character.",
            "Give one of the two a name that cannot be mistaken.",
        )


def _aliases(definition: Definition, names: Names) -> Iterator[Finding]:
    for alias in definition.aliases:
        if (alias in names.all and alias != definition.name) or names.aliases[alias] > 1:
            yield Finding(
                "alias-taken",
                "warning",
                "",
                f"The alias {alias!r} is a name of another tool too.",
                "Remove it from one of them.",
            )


def _description(definition: Definition) -> Iterator[Finding]:
    text = definition.description.strip()
    if not text:
        yield Finding(
            "description-missing",
            "error",
            "",
            "There is no description.",
            "Say what it does and when to use it.",
        )
        return
    if len(text) < _SHORT:
        yield Finding(
            "description-short",
            "warning",
            "",
            f"The description has {len(text)} characters.",
            "Say what it does, what it takes, what comes back, and when to use it.",
        )
    if len(text) > _LONG:
        yield Finding(
            "description-long",
            "advice",
            "",
            f"The description has {len(text):,} characters, sent with every request.",
            "Keep what decides between this tool and others.",
        )
    if not lint_texts.says_what(definition.name, text):
        yield Finding(
            "what-it-does",
            "warning",
            "",
            "The first sentence says no more than the name.",
            'Begin with what it does: "Search the notes by words."',
        )
    yield from _left_out(text)
    yield from _stability("description", "", definition.description)


def _left_out(text: str) -> Iterator[Finding]:
    if not lint_texts.WHEN.search(text):
        message = "It is not said when to use it."
        yield Finding("when-to-use", "warning", "", message, 'Add "Use this when ...".')
    if not lint_texts.WHEN_NOT.search(text):
        message = "It is not said when not to use it."
        yield Finding("when-not-to-use", "advice", "", message, 'Add "Do not use this for ...".')
    if not lint_texts.COMES_BACK.search(text):
        message = "It is not said what comes back."
        yield Finding("what-comes-back", "advice", "", message, 'Add "Returns ...".')


def _stability(part: str, path: str, text: str) -> Iterator[Finding]:
    """Text that changes from run to run breaks the prompt cache."""
    found = lint_texts.unstable_part(text)
    if found:
        yield Finding(
            f"{part}-unstable",
            "error",
            path,
            f"The {part} holds {found!r}, which may differ in another run.",
            "Leave out times, random values, temporary paths and addresses.",
        )


def _documented(definition: Definition, names: Names) -> Iterator[Finding]:
    known = {*names.all, *names.aliases, *words_of(definition.schema)}
    spoken = {name for name in lint_texts.named_inputs(definition.description) if name not in known}
    for name in sorted((definition.documented - set(definition.schema.get("properties", {}))) | spoken):
        yield Finding(
            "unknown-parameter",
            "warning",
            name,
            f"The text describes {name!r}, which the tool does not take.",
            "Remove it or rename it to the parameter that is meant.",
        )


def _root(definition: Definition) -> Iterator[Finding]:
    schema = definition.schema
    if schema.get("type") != "object" or any(word in schema for word in ("anyOf", "oneOf", "allOf", "$ref")):
        yield Finding(
            "root-object",
            "error",
            "",
            "The root of the schema is not one plain object.",
            'Write "type": "object" with "properties".',
        )
    properties = schema.get("properties", {})
    if properties and schema.get("additionalProperties", True) is True:
        yield Finding(
            "additional-properties",
            "advice",
            "",
            "Properties that do not exist are accepted in silence.",
            'Add "additionalProperties": false.',
        )
    if len(properties) > _MANY:
        yield Finding(
            "many-properties",
            "advice",
            "",
            f"The tool takes {len(properties)} properties.",
            "Part it into several tools.",
        )


def _required(definition: Definition) -> Iterator[Finding]:
    properties = definition.schema.get("properties", {})
    required = definition.schema.get("required", ())
    if properties and definition.written and "required" not in definition.schema:
        yield Finding(
            "required-unsaid",
            "advice",
            "",
            "It is not said which properties are required.",
            'Add "required", an empty list when none is.',
        )
    for name in required:
        if name not in properties:
            yield Finding(
                "required-unknown",
                "error",
                name,
                f"{name!r} is required but is no property.",
                "Correct the name.",
            )
    for name, schema in properties.items():
        if name not in required and lint_texts.SAYS_REQUIRED.search(_text(schema)):
            yield Finding(
                "required-unmarked",
                "warning",
                name,
                "The description says required, the schema does not.",
                'Add it to "required".',
            )


def _property(path: str, schema: Mapping[str, Any], *, strict: bool) -> Iterator[Finding]:
    text = _text(schema)
    element = path.endswith("[]")
    if not text and not element:
        yield Finding(
            "property-undescribed",
            "error" if strict else "warning",
            path,
            "The property has no description.",
            "Say what it holds, in which form, with an example.",
        )
    if not any(word in schema for word in _TYPE_WORDS):
        yield Finding(
            "property-untyped", "warning", path, "The property has no type.", 'Give "type" or "enum".'
        )
    if _takes_any_text(schema) and lint_texts.lists_values(text):
        yield Finding(
            "closed-set",
            "warning",
            path,
            "The description lists the values, the schema takes any text.",
            'Write the values as "enum".',
        )
    if lint_texts.MARK.search(text):
        yield Finding(
            "mark-in-property",
            "error",
            path,
            "A mark of a tool stands in the description of a property.",
            "Marks are written out in the description of the tool only.",
        )

    if isinstance(schema.get("default"), str):
        yield from _stability("default", path, schema["default"])


def _takes_any_text(schema: Any) -> bool:
    """Whether a property is a text, or a list of texts, of which the schema says no more."""
    if not isinstance(schema, Mapping):
        return False
    if schema.get("type") == "array":
        return _takes_any_text(schema.get("items"))
    return schema.get("type") == "string" and not schema.keys() & {"enum", "const", "pattern"}


def _text(schema: Any) -> str:
    text = schema.get("description", "") if isinstance(schema, Mapping) else ""
    return text.strip() if isinstance(text, str) else ""


def _one_edit(first: str, second: str) -> bool:
    """Whether one inserted, removed or replaced character makes the two equal."""
    if abs(len(first) - len(second)) > 1:
        return False
    short, long = sorted((first, second), key=len)
    start = next((place for place in range(len(short)) if short[place] != long[place]), len(short))
    rest = start + 1 if len(short) == len(long) else start
    return short[rest:] == long[start + 1 :]
