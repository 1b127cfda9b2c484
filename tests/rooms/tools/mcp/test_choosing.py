"""Which servers there are, of all places where some may be written down."""

from typing import Any

from toolwright.contracts.mcp import ServerScope
from toolwright.tools.mcp.choosing import Choice, Written, choose, named_only
from toolwright.tools.mcp.entries import Place


def at(scope: ServerScope, entries: Any, origin: str = "") -> Written:
    return Written(Place(scope=scope, origin=origin), entries)


def chosen(*written: Written, approved: tuple[str, ...] = ()) -> Choice:
    return choose(written, lambda server: server.name in approved)


def commands(choice: Choice) -> dict[str, str]:
    return {one.server.name: one.server.command for one in choice.servers}


def test_the_whole_entry_of_the_strongest_place_counts() -> None:
    order: tuple[ServerScope, ...] = ("user", "project", "local", "agent", "api", "code", "cli", "managed")
    places = [
        at(scope, {"srv": {"command": scope, "args": [scope]}, scope: {"command": "x"}}) for scope in order
    ]
    for count in range(1, len(order) + 1):
        found = chosen(*places[:count], approved=("srv",)).find("srv")
        assert found is not None
        assert (found.server.command, found.server.args) == (order[count - 1],) * 1 + ((order[count - 1],),)
    assert len(chosen(*places).servers) == 1 + len(order)


def test_fields_are_never_put_together() -> None:
    choice = chosen(
        at("local", {"srv": {"command": "mine"}}), at("user", {"srv": {"command": "x", "env": {"A": "1"}}})
    )
    found = choice.find("srv")
    assert found is not None
    assert (found.server.command, found.server.env, found.hides) == ("mine", {}, ("user",))


def test_an_entry_that_cannot_be_used_lets_no_weaker_one_through() -> None:
    choice = chosen(
        at("local", {"srv": {"url": "https://x"}}, "here.json"), at("user", {"srv": {"command": "x"}})
    )
    assert choice.servers == ()
    assert len(choice.problems) == 1
    assert choice.problems[0].startswith("here.json: server 'srv'")


def test_a_map_that_is_none_hurts_only_itself() -> None:
    choice = chosen(at("project", ["srv"], ".mcp.json"), at("user", {"srv": {"command": "x"}}))
    assert commands(choice) == {"srv": "x"}
    assert choice.problems == (".mcp.json: servers are written as an object, by their names.",)


def test_a_project_starts_nothing_that_nobody_approved() -> None:
    written = at("project", {"one": {"command": "x"}, "two": {"command": "y"}})
    assert {one.server.name: one.status for one in chosen(written, approved=("two",)).servers} == {
        "one": "pending_approval",
        "two": "connecting",
    }


def test_what_its_user_wrote_needs_no_approval() -> None:
    scopes: tuple[ServerScope, ...] = ("user", "local", "cli", "managed", "code", "agent", "api")
    for scope in scopes:
        assert [one.status for one in chosen(at(scope, {"srv": {"command": "x"}})).servers] == ["connecting"]


def test_servers_that_are_off_or_have_no_address_are_shown_and_not_started() -> None:
    entries = {"off": {"command": "x", "disabled": True}, "nowhere": {"type": "http", "url": ""}}
    assert {one.server.name: one.status for one in chosen(at("user", entries)).servers} == {
        "off": "disabled",
        "nowhere": "not_configured",
    }


def test_agents_may_name_servers_that_are_set_up_elsewhere() -> None:
    assert named_only({"github": {}, "own": {"command": "x"}}) == {"own": {"command": "x"}}
