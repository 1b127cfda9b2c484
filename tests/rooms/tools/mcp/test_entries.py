"""Entries of servers: every key, every refusal, and what a person is told."""

from typing import Any

import pytest

from toolwright.contracts.mcp import OAuthSettings, SamplingSettings, ServerSandbox, ServerScope
from toolwright.tools.mcp.entries import Place, Read, entry_digest, name_problem, read_entry
from toolwright.tools.mcp.expansion import Expansion, variables_in

ENVIRON = {"TOKEN": "t0ken", "EMPTY": "", "NESTED": "${TOKEN}"}


def read(entry: Any, *, name: str = "srv", scope: ServerScope = "user", **more: Any) -> Read:
    return read_entry(name, entry, Place(scope=scope, environ=ENVIRON, folder="/work/a", **more))


@pytest.mark.parametrize(
    ("text", "expanded", "missing"),
    [
        ("a ${TOKEN} b", "a t0ken b", set()),
        ("${TOKEN}${TOKEN}", "t0kent0ken", set()),
        ("${NOBODY}", "${NOBODY}", {"NOBODY"}),
        ("${NOBODY:-other}", "other", set()),
        ("${NOBODY:-}", "", set()),
        ("${EMPTY:-other}", "other", set()),
        ("${EMPTY}", "${EMPTY}", {"EMPTY"}),
        ("${TOKEN:-other}", "t0ken", set()),
        ("${NESTED}", "${TOKEN}", set()),
        ("$TOKEN ${to ken} ${}", "$TOKEN ${to ken} ${}", set()),
    ],
)
def test_variables_are_written_out_once(text: str, expanded: str, missing: set[str]) -> None:
    expand = Expansion(ENVIRON)
    assert (expand(text), expand.missing) == (expanded, missing)


def test_the_variables_of_a_text_can_be_named() -> None:
    assert variables_in("${A} ${B:-x} $C") == ("A", "B")


@pytest.mark.parametrize("name", ["a", "A-1", "my_server", "x" * 64])
def test_names_that_are_taken(name: str) -> None:
    assert name_problem(name) == ""


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("my server", "'my-server'"),
        ("a__b", "'a_b'"),
        ("-a-", "'a'"),
        ("é", ""),
        ("x" * 65, "'" + "x" * 64 + "'"),
        ("a.b", "'a-b'"),
        ("", ""),
        ("ide", "ide-server"),
        ("toolwright", "toolwright-server"),
    ],
)
def test_names_that_are_refused_with_a_better_one(name: str, better: str) -> None:
    assert better in name_problem(name)
    assert name_problem(name)
    assert read({"command": "x"}, name=name).server is None


def test_a_program_with_everything_it_may_say() -> None:
    entry = {
        "command": "run-${TOKEN}",
        "args": ["--key", "${TOKEN}", "${NOBODY:-none}"],
        "env": {"KEY": "${TOKEN}", "LEVEL": 3},
        "cwd": "below",
        "timeout": 90_000,
        "alwaysLoad": True,
        "trusted": True,
        "parallel": True,
        "shared": True,
        "handshake": True,
        "restart": "on_failure",
        "max_concurrency": 2,
        "enabled-tools": ["get_*"],
        "disabled_tools": ["get_secret"],
        "sandbox": {"allowed_hosts": ["example.com"], "writable": ["/tmp/x"]},
        "sampling": {"model": "small", "max_tokens": 100, "daily_limit": 3},
    }
    found = read(entry)
    assert found.notices == ()
    server = found.server
    assert server is not None
    assert (server.transport, server.command, server.args) == (
        "stdio",
        "run-t0ken",
        ("--key", "t0ken", "none"),
    )
    assert (server.env, server.cwd, server.timeout) == ({"KEY": "t0ken", "LEVEL": "3"}, "/work/a/below", 90.0)
    assert (server.always_load, server.trusted, server.parallel, server.shared) == (True, True, True, True)
    assert (server.handshake, server.restart, server.max_concurrency) == (True, True, 2)
    assert (server.enabled_tools, server.disabled_tools) == (("get_*",), ("get_secret",))
    assert server.sandbox == ServerSandbox(allowed_hosts=("example.com",), writable=("/tmp/x",))
    assert server.sampling == SamplingSettings(model="small", max_tokens=100, daily_limit=3)
    assert (server.scope, server.digest) == ("user", entry_digest(entry))


@pytest.mark.parametrize(
    ("kind", "transport"),
    [("http", "http"), ("streamable-http", "http"), ("sse", "sse"), ("ws", "ws"), ("websocket", "ws")],
)
def test_an_address_with_everything_it_may_say(kind: str, transport: str) -> None:
    entry = {
        "type": kind,
        "url": "https://example.com/${TOKEN}",
        "headers": {"Authorization": "Bearer ${TOKEN}"},
        "headersHelper": "helper --say ${TOKEN}",
        "oauth": {"clientId": "me", "callback_port": 8123, "scopes": ["read"], "metadataUrl": "https://m/"},
    }
    server = read(entry).server
    assert server is not None
    assert (server.transport, server.url) == (transport, "https://example.com/t0ken")
    assert server.headers == {"Authorization": "Bearer t0ken"}
    assert server.headers_helper == "helper --say ${TOKEN}"  # the program expands for itself
    assert server.oauth == OAuthSettings(
        client_id="me", callback_port=8123, scopes=("read",), metadata_url="https://m/"
    )


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("text", "an entry is an object"),
        ({}, "it has no command"),
        ({"command": 1}, "'command' takes a text"),
        ({"command": "x", "args": "one"}, "'args' takes a list of texts"),
        ({"command": "x", "env": ["a"]}, "'env' takes names with texts"),
        ({"command": "x", "env": {"A": None}}, "'A' of 'env' takes a text"),
        ({"command": "x", "parallel": "yes"}, "'parallel' is true or false"),
        ({"command": "x", "max_concurrency": 0}, "'max_concurrency' takes a whole number from 1 on"),
        ({"command": "x", "sandbox": {"hosts": []}}, "'sandbox' knows no 'hosts'"),
        ({"command": "x", "sandbox": 1}, "'sandbox' is true, false or an object"),
        ({"command": "x", "sampling": 3}, "'sampling' is true or an object"),
        ({"url": "https://example.com"}, "it has an address and no type"),
        ({"type": "carrier-pigeon", "url": "x"}, "there is no type 'carrier-pigeon'"),
        ({"type": "http", "url": 3}, "'url' takes a text"),
        ({"type": "http", "url": "x", "oauth": 1}, "'oauth' is an object"),
        ({"type": "sdk"}, "given as an object by a program"),
        ({"type": "sdk", "instance": object()}, "given as an object by a program"),
    ],
)
def test_what_cannot_be_used_is_refused_and_never_guessed(entry: Any, says: str) -> None:
    found = read(entry)
    assert found.server is None
    assert says in found.problem
    assert found.problem.startswith("server 'srv': ")


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"command": "x", "timeout": 999}, "its timeout is not used"),
        ({"command": "x", "timeout": True}, "its timeout is not used"),
        ({"command": " x"}, "the value of 'command' begins or ends with a blank"),
        ({"command": "x", "env": {"KEY": "s3cret "}}, "the value of 'env.KEY' begins or ends with a blank"),
        ({"command": "${NOBODY}"}, "the variable NOBODY is not set"),
        ({"command": "x", "paralel": True}, "'paralel' means nothing here; did you mean 'parallel'?"),
        ({"command": "x", "url": "y", "type": "stdio"}, "'url' means nothing here"),
    ],
)
def test_what_is_odd_is_told_without_values(entry: Any, says: str) -> None:
    found = read(entry)
    assert found.server is not None
    assert any(says in notice for notice in found.notices), found.notices
    assert not any("s3cret" in notice or "t0ken" in notice for notice in found.notices)


def test_keys_in_use_elsewhere_are_read_over() -> None:
    assert read({"command": "x", "description": "y", "autoApprove": []}).notices == ()


def test_a_project_may_not_vouch_for_its_own_servers() -> None:
    found = read({"command": "x", "trusted": True, "sampling": True}, scope="project")
    assert found.server is not None
    assert (found.server.trusted, found.server.sampling) == (False, None)
    assert [notice for notice in found.notices if "does not count in a project's own file" in notice]


def test_a_program_that_makes_headers_waits_for_a_trusted_project() -> None:
    entry = {"type": "http", "url": "https://x/", "headers_helper": "run me"}
    held = read(entry, trusted=False)
    assert held.server is not None
    assert held.server.headers_helper == ""
    assert "toolwright trust" in held.notices[0]
    free = read(entry, trusted=True).server
    assert free is not None
    assert free.headers_helper == "run me"


@pytest.mark.parametrize(
    ("usual", "said", "locked_in"),
    [(False, None, False), (True, None, True), (True, False, False), (False, True, True)],
)
def test_a_program_runs_locked_in_where_somebody_says_so(
    usual: bool, said: bool | None, locked_in: bool
) -> None:
    entry = {"command": "x", **({} if said is None else {"sandbox": said})}
    server = read(entry, sandboxed=usual).server
    assert server is not None
    assert (server.sandbox is not None) == locked_in


def test_an_object_of_the_program_is_a_server() -> None:
    thing = object()
    server = read({"instance": thing}, scope="code").server
    assert server is not None
    assert (server.transport, server.instance) == ("sdk", thing)


def test_a_digest_is_of_what_is_written() -> None:
    one = entry_digest({"command": "x", "env": {"A": "${TOKEN}"}})
    assert one == entry_digest({"env": {"A": "${TOKEN}"}, "command": "x"})
    assert one != entry_digest({"command": "x", "env": {"A": "t0ken"}})


def test_what_is_shown_of_an_entry_holds_no_value_of_a_variable() -> None:
    program = read({"command": "run", "args": ["--key", "${TOKEN}"], "env": {"A": "${NOBODY:-x}"}}).server
    assert program is not None
    assert (program.target, program.takes) == ("run --key ${TOKEN}", ("TOKEN", "NOBODY"))
    place = read({"type": "http", "url": "https://x/${TOKEN}"}).server
    assert place is not None
    assert (place.target, place.takes) == ("https://x/${TOKEN}", ("TOKEN",))


def test_an_empty_address_is_no_error() -> None:
    server = read({"type": "http", "url": ""}).server
    assert server is not None
    assert server.url == ""
