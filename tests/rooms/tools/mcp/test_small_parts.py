"""Texts, pace, environment, selection and forms: the small pure parts."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.mcp import Elicitation, ElicitationAnswer, ServerDefinition
from toolwright.tools.mcp import texts
from toolwright.tools.mcp.environment import program_environment
from toolwright.tools.mcp.forms import fit_to_ask, fit_to_send
from toolwright.tools.mcp.listing import is_wanted, name_fits
from toolwright.tools.mcp.throttle import Throttle

# --- texts ---


@pytest.mark.parametrize(
    ("text", "clean", "hidden"),
    [
        ("plain", "plain", 0),
        ("two\nlines\tand a tab", "two\nlines\tand a tab", 0),
        ("\x1b[31mred\x1b[0m", "[31mred[0m", 2),
        ("a\u202eb\u200bc", "abc", 2),
        ("tag\U000e0041\U000e0042", "tag", 2),
        ("  blank  ", "blank", 0),
        ("grüße 😀 漢字", "grüße 😀 漢字", 0),
        ("x\0y\x7f", "xy", 2),
        ("a\r\nb", "a\nb", 0),
        ("private \ue000 lone \ud800", "private  lone", 2),
    ],
)
def test_what_nobody_can_see_is_taken_out_and_counted(text: str, clean: str, hidden: int) -> None:
    assert texts.cleaned(text, 1_000) == clean
    assert texts.hidden_in(text) == hidden


@given(st.text(max_size=50), st.integers(min_value=1, max_value=60))
def test_no_text_is_longer_than_it_may_be(text: str, most: int) -> None:
    assert len(texts.cleaned(text, most)) <= most
    assert len(texts.one_line(text, most)) <= most
    assert "\n" not in texts.one_line(text, most)


def test_hidden_characters_are_found_anywhere_in_a_value() -> None:
    assert texts.hidden_in_any({"a\u200b": ["x", {"b": "\u202e"}], "n": 3}) == 2


# --- pace ---


def test_a_burst_goes_through_and_what_follows_is_spread() -> None:
    throttle = Throttle(burst=10, a_second=5)
    assert [throttle.wait(0.0) for _ in range(10)] == [0.0] * 10
    now = 0.0
    for _ in range(10):
        now += throttle.wait(now)
    assert now == pytest.approx(2.0)


def test_after_a_quiet_time_a_burst_goes_through_again() -> None:
    throttle = Throttle(burst=10, a_second=5)
    for _ in range(10):
        throttle.wait(0.0)
    assert [throttle.wait(100.0) for _ in range(10)] == [0.0] * 10


@given(st.lists(st.floats(min_value=0, max_value=0.01), min_size=100, max_size=300))
def test_nobody_is_read_faster_than_the_pace_for_long(gaps: list[float]) -> None:
    throttle, now = Throttle(burst=20, a_second=100), 0.0
    for gap in gaps:
        now += gap
        now += throttle.wait(now)
    assert len(gaps) <= 20 + now * 100 + 1


# --- environment ---


def test_a_program_sees_what_it_needs_and_nothing_of_the_engines_own() -> None:
    environ = {
        "PATH": "/bin", "HOME": "/home/me", "LANG": "C", "LC_ALL": "C", "TZ": "UTC", "TMPDIR": "/var/tmp",
        "ANTHROPIC_API_KEY": "secret", "TOOLWRIGHT_VAULT_KEY": "secret", "HTTPS_PROXY": "http://p",
        "LD_PRELOAD": "x",
    }  # fmt: skip
    found = program_environment(environ, {"KEY": "own", "LANG": "de"}, project="/work/a", sandboxed=False)
    assert found == {
        "PATH": "/bin", "HOME": "/home/me", "LANG": "de", "LC_ALL": "C", "TZ": "UTC", "TMPDIR": "/var/tmp",
        "KEY": "own", "TOOLWRIGHT_PROJECT_DIR": "/work/a",
    }  # fmt: skip
    inside = program_environment(environ, {}, project="/work/a", sandboxed=True)
    assert (inside["HOME"], "TMPDIR" in inside) == ("/tmp", False)
    assert program_environment({}, {}, project="/", sandboxed=False)["PATH"]


# --- selection ---


@pytest.mark.parametrize(
    ("enabled", "disabled", "name", "wanted"),
    [
        ((), (), "get", True),
        (("get_*",), (), "get_a", True),
        (("get_*",), (), "set_a", False),
        ((), ("set_*",), "set_a", False),
        (("get_*",), ("get_secret",), "get_secret", False),
    ],
)
def test_which_tools_are_taken(enabled: Any, disabled: Any, name: str, wanted: bool) -> None:
    server = ServerDefinition(name="s", transport="stdio", enabled_tools=enabled, disabled_tools=disabled)
    assert is_wanted(server, name) == wanted


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("a.b_c-D9", True),
        ("x" * 128, True),
        ("x" * 129, False),
        ("", False),
        ("a b", False),
        ("a/b", False),
        ("a\n", False),
    ],
)
def test_which_names_fit(name: str, fits: bool) -> None:
    assert name_fits(name) == fits


# --- forms ---


def form(**fields: Any) -> Elicitation:
    return Elicitation(message="?", schema={"type": "object", "properties": fields})


@pytest.mark.parametrize(
    "asked",
    [
        form(),
        form(
            name={"type": "string"},
            age={"type": "integer"},
            sure={"type": "boolean"},
            size={"type": "number"},
        ),
        form(kind={"enum": ["a", "b"]}, kinds={"type": "array", "items": {"enum": ["a"]}}),
        form(kind={"oneOf": [{"const": "a"}]}),
        Elicitation(message="?", url="https://example.com/sign-in"),
    ],
)
def test_what_a_person_may_be_asked(asked: Elicitation) -> None:
    assert fit_to_ask(asked)


@pytest.mark.parametrize(
    "asked",
    [
        form(password={"type": "string"}),
        form(x={"type": "string", "format": "password"}),
        form(x={"type": "string", "title": "Your API key"}),
        form(access_token={"type": "string"}),
        form(nested={"type": "object"}),
        form(list={"type": "array", "items": {"type": "string"}}),
        form(odd="text"),
        form(**{f"f{n}": {"type": "string"} for n in range(51)}),
        Elicitation(message="?", url="javascript:alert(1)"),
        Elicitation(message="?", url="file:///etc/passwd"),
        Elicitation(message="?", url="https://me:secret@example.com/"),
    ],
)
def test_what_no_person_is_asked(asked: Elicitation) -> None:
    assert not fit_to_ask(asked)


def test_only_what_fits_the_form_is_sent_back() -> None:
    def fitting(schema: Any) -> Callable[[Any], str]:
        return lambda value: "" if set(value) <= set(schema["properties"]) else "odd"

    def broken(schema: Any) -> Callable[[Any], str]:
        raise DefinitionError("no schema")

    asked = form(name={"type": "string"})
    assert fit_to_send(asked, ElicitationAnswer(action="accept", content={"name": "x"}), fitting)
    assert not fit_to_send(asked, ElicitationAnswer(action="accept", content={"other": "x"}), fitting)
    assert fit_to_send(asked, ElicitationAnswer(action="decline"), fitting)
    assert not fit_to_send(asked, ElicitationAnswer(action="accept", content={}), broken)
