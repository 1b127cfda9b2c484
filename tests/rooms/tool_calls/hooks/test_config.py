"""Hooks as people write them."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.hooks import HookInput, HookOutput, HookReply, HookTransport
from toolwright.tool_calls.hooks.config import (
    HookSettings,
    HookSource,
    TransportMaker,
    load_hooks,
    parse_hooks,
    python_hook,
)

MADE: list[Mapping[str, Any]] = []


def maker(settings: Mapping[str, Any]) -> HookTransport:
    MADE.append(settings)

    async def transport(_: HookInput, __: bytes) -> HookReply:
        return HookReply(exit_code=0)

    return transport


MAKERS: dict[str, TransportMaker] = {"command": maker, "http": maker, "mcp_tool": maker}


async def listen(_: HookInput) -> HookOutput | None:
    return None


def section(handler: Any, *, event: str = "PreToolUse", matcher: Any = "Bash|Edit") -> dict[str, Any]:
    return {event: [{"matcher": matcher, "hooks": [handler]}]}


def test_a_command_hook_is_read_with_everything_it_says() -> None:
    written = {
        "type": "command",
        "command": "./check.sh\n  --strict",
        "timeout": 30,
        "if": "Bash(git push *)",
        "once": True,
        "statusMessage": "Checking",
    }

    (hook,) = parse_hooks(section(written), MAKERS)

    assert (
        hook.event,
        hook.label,
        hook.matcher,
        hook.condition,
        hook.timeout,
        hook.once,
        hook.status_message,
    ) == (
        "PreToolUse",
        "./check.sh --strict",
        "Bash|Edit",
        "Bash(git push *)",
        30.0,
        True,
        "Checking",
    )
    assert (hook.in_process, hook.background, hook.wakes) == (False, False, False)
    assert MADE[-1] == written


@pytest.mark.parametrize(
    ("written", "timeout"),
    [
        ({"type": "command", "command": "true"}, 600),
        ({"type": "http", "url": "http://localhost/hook"}, 600),
        ({"type": "mcp_tool", "server": "s", "tool": "t"}, 600),
        ({"type": "python", "handler": listen}, 60),
    ],
)
def test_each_handler_has_its_time(written: dict[str, Any], timeout: float) -> None:
    (hook,) = parse_hooks(section(written), MAKERS)

    assert hook.timeout == timeout


@pytest.mark.parametrize(("kind", "timeout"), [("prompt", 30), ("agent", 60)])
def test_handlers_that_ask_a_model_are_given_by_a_service(kind: str, timeout: float) -> None:
    (hook,) = parse_hooks(section({"type": kind, "prompt": "Is this safe? $ARGUMENTS"}), {kind: maker})

    assert (hook.timeout, hook.label) == (timeout, "Is this safe? $ARGUMENTS")


@pytest.mark.parametrize("matcher", [None, "", "*"])
def test_an_absent_matcher_takes_everything(matcher: str | None) -> None:
    (hook,) = parse_hooks(section({"type": "command", "command": "true"}, matcher=matcher), MAKERS)

    assert hook.matcher == "*"


@pytest.mark.parametrize(
    ("words", "background", "wakes"),
    [
        ({"async": True}, True, False),
        ({"async_rewake": True}, True, True),
        ({"asyncRewake": True}, True, True),
    ],
)
def test_background_hooks(words: dict[str, bool], background: bool, wakes: bool) -> None:
    (hook,) = parse_hooks(section({"type": "command", "command": "true", **words}), MAKERS)

    assert (hook.background, hook.wakes) == (background, wakes)


def test_a_python_handler_may_be_named_by_where_it_is() -> None:
    (hook,) = parse_hooks(section({"type": "python", "handler": "json:dumps"}), {})

    assert (hook.label, hook.in_process) == ("json:dumps", True)


def test_identical_handlers_have_one_identity_and_different_ones_have_not() -> None:
    first, second, third = (
        parse_hooks(section({"type": "command", "command": command}, matcher=matcher), MAKERS)[0]
        for command, matcher in (("a", "Bash"), ("a", "Edit"), ("b", "Bash"))
    )

    assert first.identity == second.identity != third.identity


def test_events_that_nothing_sends_yet_are_passed_over() -> None:
    assert parse_hooks(section({"type": "command", "command": "true"}, event="SessionStart"), MAKERS) == ()


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"PreToolUser": []}, "there is no event 'PreToolUser'"),
        ({"PreToolUse": {}}, "hooks.PreToolUse is no list."),
        ({"PreToolUse": ["x"]}, "hooks.PreToolUse[0] is no object."),
        ({"PreToolUse": [{"matcher": "*"}]}, "hooks.PreToolUse[0].hooks is no list."),
        ({"PreToolUse": [{"match": "*", "hooks": []}]}, "match is not known"),
        (section({"type": "command", "command": "x"}, matcher="(["), "is no regular expression"),
        (section({"command": "x"}), "hooks[0].type is no text."),
        (section({"type": "telepathy"}), "'telepathy' is none of command, http"),
        (section({"type": "command"}), "a command handler needs 'command'."),
        (section({"type": "command", "command": "x", "matcher": "Bash"}), "matcher is not known"),
        (section({"type": "command", "command": "x", "timeout": 0}), "no number of seconds above 0."),
        (section({"type": "command", "command": "x", "timeout": True}), "no number of seconds above 0."),
        (section({"type": "command", "command": "x", "once": 1}), ".once is neither true nor false."),
        (section({"type": "prompt", "prompt": "x"}), "prompt handlers cannot be used here"),
        (section({"type": "agent", "prompt": "x"}), "agent handlers cannot be used here"),
        (section({"type": "python", "handler": "no.such:thing"}), "cannot be imported"),
        (section({"type": "python", "handler": 3}), "nothing that can be called"),
    ],
)
def test_what_cannot_be_used_is_refused_and_says_where(written: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_hooks(written, MAKERS)

    assert message in str(caught.value)


def test_a_maker_that_refuses_is_quoted_with_the_place() -> None:
    def refuse(_: Mapping[str, Any]) -> HookTransport:
        raise SettingsError("url is no http or https address")

    with pytest.raises(SettingsError, match=r"hooks\.PreToolUse\[0\]\.hooks\[0\]: url is no http"):
        parse_hooks(section({"type": "http", "url": "x"}), {"http": refuse})


def sources(*names: str, disabling: str = "") -> list[HookSettings]:
    return [
        HookSettings(
            source=cast(HookSource, name),
            hooks=section({"type": "command", "command": name}),
            disable_all=name == disabling,
        )
        for name in names
    ]


@pytest.mark.parametrize(
    ("disabling", "labels"),
    [
        ("", ["managed", "user", "project", "local", "listen"]),
        ("project", ["managed", "listen"]),
        ("managed", ["listen"]),
    ],
)
def test_sources_stand_in_order_and_only_the_managed_one_switches_off_its_own(
    disabling: str, labels: list[str]
) -> None:
    written = sources("local", "project", "managed", "user", disabling=disabling)

    hooks = load_hooks(written, MAKERS, in_process=(python_hook("PreToolUse", listen),))

    assert [hook.label for hook in hooks] == labels
