"""What the linter finds, and that every built-in tool passes it."""

import importlib
from collections.abc import Mapping
from typing import Any, cast

import jsonschema
import pytest

from toolwright.tools import lint
from toolwright.tools.define import tool
from toolwright.tools.definitions import Definition, definition_of
from toolwright.tools.manifest import MANIFEST
from toolwright.tools.services import Services

GOOD = "Search the notes by words. Use this when asked about notes; do not use it for files. Returns lines."
NOTHING = cast(Any, None)


def schema(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def found(definition: Definition, **options: Any) -> list[tuple[str, str, str]]:
    (report,) = lint.linted([definition], **options)
    return [(finding.severity, finding.rule, finding.property) for finding in report.findings]


TEXT = {"type": "string", "description": "Words to look for."}
MALFORMED = ("error", "schema-malformed", "")


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        (Definition("search", GOOD, schema(query=TEXT)), []),
        (Definition("search", "", schema()), [("error", "description-missing", "")]),
        (
            Definition("search", "Search.", schema()),
            [
                ("warning", "description-short", ""),
                ("warning", "what-it-does", ""),
                ("warning", "when-to-use", ""),
                ("advice", "what-comes-back", ""),
                ("advice", "when-not-to-use", ""),
            ],
        ),
        (Definition("1search", GOOD, schema()), [("error", "name-form", "")]),
        (Definition("search", f"{GOOD} See /tmp/x.", schema()), [("error", "description-unstable", "")]),
        (Definition("search", GOOD, {"type": "string"}), [("error", "root-object", "")]),
        (
            Definition("search", GOOD, {"type": "object", "properties": {"query": TEXT}}),
            [("advice", "additional-properties", "")],
        ),
        (
            Definition("search", GOOD, schema(query={"type": "string"})),
            [("warning", "property-undescribed", "query")],
        ),
        (
            Definition("search", GOOD, schema(query={"description": "Words."})),
            [("warning", "property-untyped", "query")],
        ),
        (
            Definition(
                "search", GOOD, schema(kind={"type": "string", "description": 'One of "a", "b" or "c".'})
            ),
            [("warning", "closed-set", "kind")],
        ),
        (
            Definition(
                "search", GOOD, schema(kind={"type": "string", "description": "Use {tool:grep} first."})
            ),
            [("error", "mark-in-property", "kind")],
        ),
        (
            Definition("search", GOOD, schema(query={**TEXT, "default": "/tmp/tmpab12"})),
            [("error", "default-unstable", "query")],
        ),
        (
            Definition("search", GOOD, schema(query={**TEXT, "default": "2026-01-02T03:04:05"})),
            [("error", "default-unstable", "query")],
        ),
        (
            Definition("search", f"{GOOD} Run 123e4567-e89b-12d3-a456-426614174000.", schema()),
            [("error", "description-unstable", "")],
        ),
        (Definition("search", GOOD, {"type": "object", "required": "query"}), [MALFORMED]),
        (Definition("search", GOOD, schema(query={"type": "text"})), [MALFORMED]),
        (
            Definition("search", GOOD, schema(query=TEXT), written=True),
            [("advice", "required-unsaid", "")],
        ),
        (Definition("search", GOOD, {**schema(query=TEXT), "required": []}, written=True), []),
        (
            Definition("search", GOOD, {**schema(query=TEXT), "required": ["other"]}),
            [("error", "required-unknown", "other")],
        ),
        (
            Definition("search", GOOD, schema(query={"type": "string", "description": "Required. Words."})),
            [("warning", "required-unmarked", "query")],
        ),
        (
            Definition("search", GOOD, schema(query=TEXT), frozenset({"query", "limit"})),
            [("warning", "unknown-parameter", "limit")],
        ),
        (
            Definition(
                "search",
                GOOD,
                schema(
                    all={"type": "array", "description": "Some.", "items": schema(inner={"type": "string"})}
                ),
            ),
            [("warning", "property-undescribed", "all[].inner")],
        ),
        (
            Definition(
                "search",
                GOOD,
                {
                    **schema(tree={"$ref": "#/$defs/Tree", "description": "Where."}),
                    "$defs": {"Tree": {"additionalProperties": schema(leaf={"type": "string"})}},
                },
            ),
            [("warning", "property-undescribed", "Tree.*.leaf")],
        ),
    ],
)
def test_each_rule(definition: Definition, expected: list[tuple[str, str, str]]) -> None:
    assert found(definition) == expected


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("Set `limit` for more.", ["limit"]),
        ("Pass the `limit` parameter.", ["limit"]),
        ("Narrow it with `due_date`.", ["due_date"]),
        ("Narrow it with `dueDate`.", ["dueDate"]),
        ("Ask again with `offset=20`.", ["offset"]),
        ('Start with `output_mode: "content"`.', ["output_mode"]),
        ("Set `query` first, then pass `limit` and `due_date`.", ["due_date", "limit"]),
        ("Set `query`, or `inner` of `all`.", []),
        ("Give `kind` as `one_way`.", []),
        ("Results hold `due_date`.", []),
        ("Returns `due_date`.", []),
        ("Files that `git` ignores or `TMP_DIR` holds are left out; use `web_fetch` for pages.", []),
    ],
)
def test_parameter_that_does_not_exist_is_found_in_the_text(text: str, missing: list[str]) -> None:
    properties: dict[str, Any] = {
        "query": TEXT,
        "kind": {"enum": ["one_way"], "description": "Which."},
        "all": {"type": "array", "description": "Some.", "items": schema(inner=TEXT)},
    }
    definition = Definition("search", f"{GOOD} {text}\n\nReturns: `task_id`.", schema(**properties))

    expected = [("warning", "unknown-parameter", name) for name in missing]
    assert found(definition, others=["web_fetch"]) == expected


@pytest.mark.parametrize(
    ("description", "closed"),
    [
        ('One of "a", "b" or "c".', True),
        ("How to sort: name, size or age.", True),
        ("Order: asc or desc", True),
        ("Either bug, feature or chore.", True),
        ("open | closed", True),
        ("open|closed|any", True),
        ("Name, path or pattern.", False),
        ("A file or folder.", False),
        ("Path, either absolute or relative.", False),
        ("Regular expression. Example: `open|closed`.", False),
        ("A colour. Example: red or blue.", False),
        ("Where to start. Default: home or root.", False),
    ],
)
def test_closed_set_that_is_only_described(description: str, closed: bool) -> None:
    definition = Definition("search", GOOD, schema(kind={"type": "string", "description": description}))

    assert found(definition) == ([("warning", "closed-set", "kind")] if closed else [])


def test_elements_of_a_closed_set_that_is_only_described() -> None:
    kinds = {"type": "array", "description": 'Any of "a", "b" or "c".', "items": {"type": "string"}}
    closed = {**kinds, "items": {"enum": ["a", "b", "c"]}}

    assert found(Definition("search", GOOD, schema(kinds=kinds))) == [("warning", "closed-set", "kinds")]
    assert found(Definition("search", GOOD, schema(kinds=closed))) == []


@pytest.mark.parametrize(
    ("name", "first", "said"),
    [
        ("task_create", "Create a task.", True),
        ("grep", "Search files.", True),
        ("search", "Search.", False),
        ("task_create", "Task create.", False),
        ("taskCreate", "Task create\n", False),
    ],
)
def test_first_sentence_says_what_a_tool_does(name: str, first: str, said: bool) -> None:
    definition = Definition(name, f"{first} {GOOD.partition('. ')[2]}", schema())

    assert found(definition) == ([] if said else [("warning", "what-it-does", "")])


def test_names_that_two_tools_claim() -> None:
    def named(name: str, *aliases: str) -> Definition:
        return Definition(name, GOOD, schema(), aliases=aliases)

    reports = lint.linted(
        [
            named("notes"),
            named("notes"),
            named("task.create"),
            named("task_create"),
            named("find", "grep", "q"),
        ],
        others=["grep", "notes"],
    )

    assert [(report.tool, [finding.rule for finding in report.findings]) for report in reports] == [
        ("notes", ["name-twice"]),
        ("notes", ["name-twice"]),
        ("task.create", ["name-on-the-wire"]),
        ("task_create", ["name-on-the-wire"]),
        ("find", ["alias-taken"]),
    ]
    assert lint.exit_code(reports) == 1
    first, second = lint.linted([named("one", "x"), named("two", "x")])
    assert [finding.rule for finding in (*first.findings, *second.findings)] == ["alias-taken"] * 2


def test_property_without_description_is_an_error_when_strict() -> None:
    definition = Definition("search", GOOD, schema(query={"type": "string"}))

    assert found(definition, strict=True) == [("error", "property-undescribed", "query")]


@pytest.mark.parametrize("other", ["serch", "searchs", "seerch", "search2"])
def test_names_that_can_be_mistaken(other: str) -> None:
    assert found(Definition("search", GOOD, schema()), others=[other]) == [("warning", "name-similar", "")]


@pytest.mark.parametrize("other", ["search", "find", "searches", "reserch"])
def test_names_that_cannot_be_mistaken(other: str) -> None:
    assert found(Definition("search", GOOD, schema()), others=[other]) == []


def test_parameter_that_does_not_exist_is_found_in_the_docstring_of_a_function() -> None:
    @tool
    def search(query: str) -> str:
        """Search the notes by words. Use this when asked about notes, do not use it for files.

        Args:
            query: Words.
            limit: How many.

        Returns:
            Lines.
        """
        return query

    assert found(definition_of(search)) == [("warning", "unknown-parameter", "limit")]


def test_score_and_exit_code() -> None:
    good, bad = lint.linted([Definition("search", GOOD, schema()), Definition("x", "", schema())])

    assert (good.score, good.worst, bad.score, bad.worst) == (100, "none", 75, "error")
    assert (lint.exit_code([good]), lint.exit_code([good, bad]), lint.exit_code([good], min_score=100)) == (
        0,
        1,
        0,
    )
    assert (
        lint.exit_code(
            lint.linted([Definition("x", GOOD, {"type": "object", "properties": {"a": TEXT}})]), min_score=99
        )
        == 1
    )


@pytest.mark.parametrize("entry", MANIFEST, ids=lambda entry: entry.name)
def test_every_built_in_tool_passes(entry: Any) -> None:
    ports = ("sandbox", "background", "egress", "blobs", "clock")
    services = Services(**dict.fromkeys(ports, NOTHING), session_dir="/nowhere")
    built = importlib.import_module(entry.module).build(services, {})

    (report,) = lint.linted([definition_of(built)], others=[other.name for other in MANIFEST], strict=True)

    jsonschema.Draft202012Validator.check_schema(built.spec.input_schema)
    said = [
        f"{finding.rule} {finding.property}: {finding.message} {finding.fix}" for finding in report.findings
    ]
    assert (built.spec.name, said) == (entry.name, [])
    source = "runtime" if entry.name == "task_return" else "builtin"  # of children alone, and never left out
    assert (built.spec.category, built.spec.source) == (entry.category, source)
