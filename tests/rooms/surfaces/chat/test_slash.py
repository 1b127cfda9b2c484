"""Commands typed into a conversation."""

import pytest

from toolwright.surfaces.chat.slash import COMMANDS, Asked, Unknown, begun, read, unknown_text


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("/help", Asked("help")),
        ("/?", Asked("help")),
        ("/HELP  ", Asked("help")),
        ("/model ollama/qwen3", Asked("model", "ollama/qwen3")),
        ("/permissions allow Bash(make *)", Asked("permissions", "allow Bash(make *)")),
        ("/title  two  blanks ", Asked("title", "two  blanks")),
        ("/perm", Asked("permissions")),
        ("/q", Asked("quit")),
        ("/exit", Asked("quit")),
        ("/clear", Asked("new")),
        ("/context", Asked("usage")),
        ("/mo", Unknown("mo", ("mode", "model"))),
        ("/modle x", Unknown("modle", ("mode", "model"))),
        ("/xyzzy", Unknown("xyzzy")),
        ("/mcp", Asked("mcp")),
        ("/mcp__Sea__Poem of waves", Asked("mcp", "mcp__Sea__Poem of waves")),
    ],
)
def test_a_command_is_known_by_its_name_or_an_unmistakable_beginning(
    typed: str, meant: Asked | Unknown
) -> None:
    assert read(typed) == meant


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "help",
        " /help",
        "/",
        "/ help",
        "//help",
        "/usr/bin/env is missing",
        "/quit\nor not",
        "/etc/hosts",
        "/1",
        "a /b",
    ],
)
def test_all_else_is_for_the_model(typed: str) -> None:
    assert read(typed) is None


@pytest.mark.parametrize(
    ("unknown", "said"),
    [
        (Unknown("mo", ("mode", "model")), "there is no /mo: did you mean /mode or /model?"),
        (Unknown("xyzzy"), "there is no /xyzzy; /help shows what there is."),
    ],
)
def test_an_unknown_command_says_what_may_be_meant(unknown: Unknown, said: str) -> None:
    assert unknown_text(unknown) == said


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("/mo", ["model", "mode"]),
        ("/e", ["export", "quit"]),
        ("/new", ["new"]),
        ("/zzz", []),
        ("", []),
        ("mo", []),
        ("/model x", []),
        ("see /mo", []),
    ],
)
def test_a_beginning_offers_what_it_may_become(typed: str, offered: list[str]) -> None:
    assert [one.name for one in begun(typed)] == offered


def test_a_slash_offers_every_command() -> None:
    assert list(begun("/")) == list(COMMANDS)


def test_no_two_commands_have_a_name_in_common() -> None:
    names = [name for one in COMMANDS for name in (one.name, *one.also)]
    assert len(set(names)) == len(names)
