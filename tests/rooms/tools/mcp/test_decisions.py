"""The table of what happens when something goes wrong with a server."""

from dataclasses import replace
from typing import Any

import pytest

from toolwright.contracts.mcp import McpFault, ServerDefinition, Transport
from toolwright.contracts.mcp_servers import ServerStatus
from toolwright.tools.mcp import decisions
from toolwright.tools.mcp.decisions import Breaker, CallTimes, GiveUp, TryAgain


def server(transport: Transport = "http", **more: Any) -> ServerDefinition:
    return ServerDefinition(name="srv", transport=transport, **more)


def fault(code: Any, **more: Any) -> McpFault:
    return McpFault(code, "why", **more)


MEETINGS: list[tuple[ServerDefinition, str, list[Any]]] = [
    # of one kind of fault at every try: how long to wait, or how it ends
    (server("http"), "unreachable", [1, 2, "failed"]),
    (server("sse"), "timeout", [1, 2, "failed"]),
    (server("ws"), "closed", [1, 2, "failed"]),
    (server("http"), "auth", ["needs_auth"]),
    (server("http"), "not_found", ["failed"]),
    (server("http"), "protocol", ["failed"]),
    (server("http"), "egress", ["failed"]),
    (server("http"), "refused", ["failed"]),
    (server("http"), "unsupported", ["failed"]),
    (server("http"), "too_large", ["failed"]),
    (server("stdio"), "closed", ["failed"]),
    (server("stdio"), "unreachable", ["failed"]),
    (server("stdio"), "timeout", ["failed"]),
    (server("stdio", restart=True), "closed", [1, 2, 4, "failed"]),
    (server("stdio", restart=True), "protocol", ["failed"]),
    (server("sdk"), "closed", ["failed"]),
]
LOSSES: list[tuple[ServerDefinition, str, list[Any]]] = [
    (server("http"), "closed", [1, 2, 4, 8, 16, "failed"]),
    (server("ws"), "unreachable", [1, 2, 4, 8, 16, "failed"]),
    (server("sse"), "timeout", [1, 2, 4, 8, 16, "failed"]),
    (server("http"), "auth", ["needs_auth"]),
    (server("ws"), "protocol", ["failed"]),
    (server("ws"), "too_large", ["failed"]),
    (server("stdio"), "closed", ["failed"]),
    (server("stdio", restart=True), "closed", [1, 2, 4, "failed"]),
    (server("sdk"), "closed", ["failed"]),
]


def told(then: decisions.Next) -> Any:
    return then.wait if isinstance(then, TryAgain) else then.status


@pytest.mark.parametrize(("kind", "code", "steps"), MEETINGS)
def test_a_server_that_cannot_be_met(kind: ServerDefinition, code: str, steps: list[Any]) -> None:
    found = [told(decisions.after_failed_meeting(kind, fault(code), n)) for n in range(1, len(steps) + 1)]
    assert found == steps


@pytest.mark.parametrize(("kind", "code", "steps"), LOSSES)
def test_a_server_that_is_lost(kind: ServerDefinition, code: str, steps: list[Any]) -> None:
    assert [told(decisions.after_loss(kind, fault(code), n)) for n in range(1, len(steps) + 1)] == steps


def test_whoever_is_given_up_says_why() -> None:
    assert decisions.after_loss(server("stdio"), fault("closed"), 1) == GiveUp("failed", "why")


def test_a_server_may_ask_for_a_longer_wait_but_not_for_any() -> None:
    asked = fault("unreachable", status=503, retry_after=20.0)
    assert decisions.after_failed_meeting(server(), asked, 1) == TryAgain(20.0)
    assert decisions.after_loss(server(), fault("unreachable", retry_after=9_999.0), 1) == TryAgain(60.0)


@pytest.mark.parametrize(
    ("status", "admission"),
    [
        ("connected", "go"),
        ("connecting", "wait"),
        ("reconnecting", "wait"),
        ("failed", "refuse"),
        ("needs_auth", "refuse"),
        ("pending_approval", "refuse"),
        ("disabled", "refuse"),
        ("not_configured", "refuse"),
    ],
)
def test_whether_a_call_is_made(status: ServerStatus, admission: str) -> None:
    assert decisions.admission(status) == admission
    if admission == "refuse":
        assert decisions.told_absence("srv", status, "").message.startswith("MCP server srv: ")


CALLS: list[tuple[str, str, bool]] = [
    # of what a connection met with: the code of the call, and whether to try it again
    ("unreachable", "mcp_disconnected", True),
    ("timeout", "timeout", True),
    ("closed", "mcp_disconnected", False),
    ("auth", "auth_required", False),
    ("not_found", "mcp_error", False),
    ("protocol", "mcp_error", False),
    ("refused", "mcp_error", False),
    ("too_large", "output_limit", False),
    ("egress", "permission_denied", False),
    ("unsupported", "unsupported", False),
]


@pytest.mark.parametrize(("code", "as_code", "again"), CALLS)
def test_a_call_that_fails_says_so_in_words_of_calls(code: str, as_code: str, again: bool) -> None:
    found = decisions.told_fault("srv", fault(code))
    assert (found.code, found.retryable, found.message) == (as_code, again, "MCP server srv: why")


def test_too_many_requests_are_told_with_their_wait() -> None:
    found = decisions.told_fault("srv", fault("unreachable", status=429, retry_after=7.0))
    assert (found.code, found.retryable, found.retry_after) == ("rate_limited", True, 7.0)


@pytest.mark.parametrize(
    ("transport", "code", "ends"),
    [
        ("http", "closed", True),
        ("http", "unreachable", True),
        ("http", "auth", True),
        ("http", "timeout", False),
        ("http", "refused", False),
        ("stdio", "closed", True),
        ("ws", "unreachable", False),
    ],
)
def test_which_failed_calls_show_that_the_connection_is_no_more(
    transport: Transport, code: str, ends: bool
) -> None:
    assert decisions.ends_connection(server(transport), fault(code)) == ends


@pytest.mark.parametrize(
    ("transport", "status", "seconds", "again"),
    [
        ("http", "failed", 31, True),
        ("ws", "failed", 31, True),
        ("http", "failed", 29, False),
        ("stdio", "failed", 3_000, False),
        ("http", "needs_auth", 3_000, False),
        ("http", "connected", 3_000, False),
    ],
)
def test_who_was_given_up_is_tried_once_more_when_somebody_wants_it(
    transport: Transport, status: ServerStatus, seconds: float, again: bool
) -> None:
    assert decisions.tries_again(server(transport), status, seconds) == again


@pytest.mark.parametrize(
    ("entry", "whole", "silence", "times"),
    [
        (None, None, None, CallTimes(60.0, None)),
        (300.0, None, None, CallTimes(300.0, 300.0)),
        (10.0, None, None, CallTimes(60.0, 10.0)),
        (None, 120.0, None, CallTimes(120.0, 120.0)),
        (30.0, 120.0, None, CallTimes(60.0, 30.0)),
        (None, None, 600.0, CallTimes(600.0, None)),
        (None, None, 0.0, CallTimes(None, None)),
        (300.0, None, 0.0, CallTimes(None, 300.0)),
    ],
)
def test_how_long_a_call_may_take(
    entry: float | None, whole: float | None, silence: float | None, times: CallTimes
) -> None:
    assert decisions.call_times(server(timeout=entry), whole=whole, silence=silence) == times


@pytest.mark.parametrize(
    ("transport", "protocol", "pinged"),
    [
        ("stdio", "2026-07-28", True),
        ("ws", "2025-11-25", True),
        ("sse", "2025-11-25", True),
        ("http", "2025-11-25", True),
        ("http", "2026-07-28", False),
        ("sdk", "2026-07-28", False),
    ],
)
def test_which_connections_are_tried_in_quiet_hours(
    transport: Transport, protocol: str, pinged: bool
) -> None:
    assert decisions.is_pinged(server(transport), protocol) == pinged


# --- the breaker ---


def test_five_failures_in_a_row_break_it_and_one_answer_mends_it() -> None:
    breaker = Breaker()
    for _ in range(4):
        breaker.note(fault("timeout"), 0.0)
    assert breaker.refused_for(0.0) == 0.0
    breaker.note(None, 0.0)
    for _ in range(4):
        breaker.note(fault("closed"), 0.0)
    assert breaker.refused_for(0.0) == 0.0
    breaker.note(fault("protocol"), 1.0)
    assert breaker.refused_for(2.0) == 29.0


def test_after_a_while_one_call_may_try_it() -> None:
    breaker = Breaker()
    for _ in range(5):
        breaker.note(fault("unreachable"), 0.0)
    assert breaker.refused_for(30.0) == 0.0
    assert breaker.refused_for(30.0) == 1.0  # only one at a time
    breaker.note(fault("unreachable"), 31.0)
    assert breaker.refused_for(32.0) == 29.0
    assert breaker.refused_for(61.0) == 0.0
    breaker.note(None, 62.0)
    assert breaker.refused_for(62.0) == 0.0


def test_a_trial_that_is_given_up_leaves_room_for_the_next() -> None:
    breaker = Breaker()
    for _ in range(5):
        breaker.note(fault("timeout"), 0.0)
    assert breaker.refused_for(30.0) == 0.0
    breaker.forget()
    assert breaker.refused_for(30.0) == 0.0


def test_errors_of_the_tools_themselves_do_not_count() -> None:
    breaker = Breaker()
    for _ in range(50):
        breaker.note(fault("refused"), 0.0)
    assert breaker.refused_for(0.0) == 0.0


def test_a_server_that_let_nobody_in_says_what_a_person_does() -> None:
    refused = fault("auth", status=401, challenge='Bearer resource_metadata="https://h/x"')
    given_up = decisions.after_failed_meeting(server(), refused, 1)
    assert isinstance(given_up, GiveUp)
    assert given_up.status == "needs_auth"
    assert "toolwright mcp login srv" in given_up.reason
    written = replace(server(), headers={"authorization": "Bearer x"})
    assert decisions.after_loss(written, refused, 1) == GiveUp("needs_auth", "why")


def test_a_call_that_is_not_permitted_costs_nobody_the_connection() -> None:
    assert not decisions.ends_connection(server(), fault("auth", status=403))
    assert decisions.ends_connection(server(), fault("auth", status=401))


@pytest.mark.parametrize(
    ("wanted", "command"),
    [
        ("files:write files.read", "toolwright mcp login srv --again --scope files:write --scope files.read"),
        ("a;rm `x` $(y) 'z'", "toolwright mcp login srv --again"),
    ],
)
def test_how_to_permit_more_is_said_without_the_words_of_a_stranger(wanted: str, command: str) -> None:
    narrow = fault("auth", status=403, challenge=f'Bearer error="insufficient_scope", scope="{wanted}"')
    assert decisions.told_fault("srv", narrow).hint.endswith(command)
