"""What is offered: invariants of the payload, marks, names, order."""

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.contracts.tool import McpOrigin, OfferedTool, Source, Tool, ToolSpec
from toolwright.tools import registry, toolsets, visibility
from toolwright.tools.define import FunctionTool, build_tool
from toolwright.tools.visibility import Selection

SOURCES: tuple[Source, ...] = ("runtime", "builtin", "custom", "catalog", "skill")


def made(name: str, **members: Any) -> FunctionTool:
    members.setdefault("description", f"Does {name}.")
    return build_tool(name=name, input_schema={}, call=lambda input: str(input), **members)


def foreign(server: str, name: str) -> FunctionTool:
    return made(f"mcp.{server}.{name}", source="mcp", mcp=McpOrigin(server, name))


names = st.text(alphabet="abXY1", min_size=1, max_size=4).filter(lambda name: name[0] != "1")
own_tools = st.lists(
    st.builds(
        lambda name, source, text: made(name, source=source, description=text),
        names,
        st.sampled_from(SOURCES),
        st.sampled_from(["One.", "Two.", "See {tool:ab}.\nMore.", "Three."]),
    ),
    max_size=8,
)
foreign_tools = st.lists(st.builds(foreign, names, names), max_size=6)
shipped = st.sampled_from(
    [toolsets.TOOLSETS["default"], toolsets.TOOLSETS["engine"], toolsets.TOOLSETS["harness"]]
)
bounded = settings(max_examples=60, deadline=None)


@given(st.data(), own_tools, foreign_tools, shipped)
@bounded
def test_i1_order_of_arrival_changes_no_byte(
    data: st.DataObject, own: list[Tool], theirs: list[Tool], toolset: toolsets.Toolset
) -> None:
    tools = [*own, *theirs]
    shuffled = data.draw(st.permutations(tools))

    first, second = (visibility.offer(registry.merged(order), toolset) for order in (tools, shuffled))

    assert (first.payload, first.offered.fingerprint) == (second.payload, second.offered.fingerprint)


@given(own_tools, foreign_tools, foreign_tools, shipped)
@bounded
def test_i2_tools_of_servers_change_no_byte_of_our_own(
    own: list[Tool], before: list[Tool], after: list[Tool], toolset: toolsets.Toolset
) -> None:
    first, second = (
        visibility.offer(registry.merged(own, theirs), toolset).groups[0] for theirs in (before, after)
    )

    assert first == second


@given(own_tools, foreign_tools, shipped)
@bounded
def test_i3_rules_that_remove_nothing_change_no_byte(
    own: list[Tool], theirs: list[Tool], toolset: toolsets.Toolset
) -> None:
    asked: list[str] = []

    def content_rules_only(spec: ToolSpec, name: str) -> bool:
        asked.append(f"{spec.name} {name}")
        return False

    merged = registry.merged(own, theirs)

    assert (
        visibility.offer(merged, toolset, Selection(removed=content_rules_only)).payload
        == visibility.offer(merged, toolset).payload
    )


@given(own_tools, foreign_tools, shipped)
@bounded
def test_i4_no_two_entries_share_a_wire_name(
    own: list[Tool], theirs: list[Tool], toolset: toolsets.Toolset
) -> None:
    payload = json.loads(visibility.offer(registry.merged(own, theirs), toolset).payload)
    sent = [entry["name"] for entry in payload]

    assert len(sent) == len(set(sent))
    assert not any("." in name for name in sent)


@given(own_tools, foreign_tools, shipped)
@bounded
def test_i5_texts_are_the_same_every_time(
    own: list[Tool], theirs: list[Tool], toolset: toolsets.Toolset
) -> None:
    merged = registry.merged(own, theirs)

    first, second = (
        [item.description for item in visibility.offered(merged, toolset).tools] for _ in range(2)
    )

    assert first == second


@given(own_tools, foreign_tools, shipped, st.data())
@bounded
def test_i6_removed_tool_appears_nowhere(
    own: list[Tool], theirs: list[Tool], toolset: toolsets.Toolset, data: st.DataObject
) -> None:
    merged = registry.merged(own, theirs)
    gone = data.draw(st.sets(st.sampled_from([tool.spec.name for tool in merged.tools] or ["none"])))
    speaking = made(
        "zz", description="\n".join(f"{{tool:{name}}} <{name}>" for name in sorted(gone)) + "\nEnd."
    )
    merged = registry.merged(merged.tools, [speaking])

    offer = visibility.offer(merged, toolset, Selection(removed=lambda spec, _: spec.name in gone))

    reachable = {item.tool.spec.name for item in offer.offered.names.values()}
    assert not gone & reachable
    assert not any(f"<{name}>".encode() in offer.payload for name in gone)
    assert len(json.loads(offer.payload)) == len(offer.offered.tools)


@given(own_tools, foreign_tools)
@bounded
def test_i7_what_was_sent_is_what_can_be_called(own: list[Tool], theirs: list[Tool]) -> None:
    arriving = list(theirs)
    offer = visibility.offer(registry.merged(own, arriving))
    arriving.append(foreign("late", "tool"))

    sent = {entry["name"] for entry in json.loads(offer.payload)}

    assert {offer.offered.names[name].wire_name for name in sent} == sent
    assert {item.wire_name for item in offer.offered.names.values()} == sent
    with pytest.raises(TypeError):
        cast(Any, offer.offered.names)["late"] = "tool"
    with pytest.raises(dataclasses.FrozenInstanceError):
        cast(Any, offer.offered).tools = ()


def test_payload_holds_exactly_what_a_provider_wants() -> None:
    offer = visibility.offer(registry.merged([made("b.c"), made("a", source="builtin")]))

    schema = {"type": "object", "properties": {}}
    assert json.loads(offer.payload) == [
        {"name": "a", "description": "Does a.", "input_schema": schema},
        {"name": "b_c", "description": "Does b.c.", "input_schema": schema},
    ]
    canonical = json.dumps(json.loads(offer.payload), sort_keys=True, separators=(",", ":"))
    assert offer.offered.fingerprint == hashlib.sha256(canonical.encode()).hexdigest()


def test_order_is_own_then_others_then_those_loaded_later() -> None:
    tools = [made("zeta", source="builtin"), made("beta"), foreign("s", "a"), made("alpha", source="builtin")]
    selection = Selection(appended=("mcp.s.a", "alpha"))

    offered = visibility.offered(registry.merged(tools), selection=selection)

    assert canonical(offered.tools) == ["zeta", "beta", "mcp.s.a", "alpha"]


def test_deferred_tool_can_be_named_but_is_not_sent() -> None:
    tools = [made("a", description="{tool:b} helps."), made("b")]

    offer = visibility.offer(registry.merged(tools), selection=Selection(deferred=frozenset({"b"})))

    assert [(item.name, item.loaded, item.description) for item in offer.offered.tools] == [
        ("a", True, "b helps."),
        ("b", False, "Does b."),
    ]
    assert [entry["name"] for entry in json.loads(offer.payload)] == ["a"]


def test_marks_are_written_out_and_lines_about_absent_tools_left_out() -> None:
    text = "Reads.\n\nPrefer {tool:grep} or {tool:glob}.\nNot {tool:gone}.\n\nEnd."

    rendered = visibility.rendered(text, {"grep": "Grep", "glob": "Glob"})

    assert rendered == "Reads.\n\nPrefer Grep or Glob.\n\nEnd."


def test_model_reads_what_comes_back() -> None:
    tool = made("a", description="Does it.", output_schema={"description": "A number."})

    (item,) = visibility.offered(registry.merged([tool])).tools

    assert item.description == "Does it.\n\nReturns: A number."


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(), ["bash", "read", "mine", "mcp.gh.get"]),
        (Selection(only=("Read", "mcp__gh__*")), ["read", "mcp.gh.get"]),
        (Selection(only=()), []),
        (Selection(disabled=("Bash", "mine")), ["read", "mcp.gh.get"]),
        (Selection(removed=lambda spec, name: name == "Read"), ["bash", "mine", "mcp.gh.get"]),
    ],
    ids=["all", "only", "nothing", "disabled", "removed"],
)
def test_selection_takes_any_spelling(selection: Selection, expected: list[str]) -> None:
    tools = [
        made("read", source="builtin", aliases=("View",)),
        made("bash", source="builtin"),
        made("mine"),
        foreign("gh", "get"),
    ]

    offered = visibility.offered(registry.merged(tools), toolsets.TOOLSETS["harness"], selection)

    assert sorted(canonical(offered.tools)) == sorted(expected)


@pytest.mark.parametrize(
    ("toolset", "expected"),
    [
        ("default", ["read", "task_create", "mine.own", "mcp__gh__get"]),
        ("agent_toolset_20260401", ["read", "mine.own", "mcp__gh__get"]),
        ("engine", ["read_file", "task_create", "mine.own", "gh.get"]),
        ("harness", ["Read", "TaskCreate", "mine.own", "mcp__gh__get"]),
        ("workspace", ["mine.own", "mcp__gh__get"]),
    ],
)
def test_toolset_decides_names(toolset: str, expected: list[str]) -> None:
    tools = [
        made("read", source="builtin"),
        made("task_create", source="builtin"),
        made("mine.own"),
        foreign("gh", "get"),
    ]

    offered = visibility.offered(registry.merged(tools), toolsets.toolset(toolset))

    assert sorted(item.name for item in offered.tools) == sorted(expected)


def test_every_name_resolves_and_what_a_model_was_told_comes_first() -> None:
    read = made("read", source="builtin", aliases=("View", "mine"))
    mine = made("mine")

    offered = visibility.offered(registry.merged([read, mine]), toolsets.TOOLSETS["engine"])

    assert {name: item.tool.spec.name for name, item in offered.names.items()} == {
        "read_file": "read",
        "mine": "mine",
        "read": "read",
        "View": "read",
    }


def canonical(tools: Sequence[OfferedTool]) -> list[str]:
    return [item.tool.spec.name for item in tools]
