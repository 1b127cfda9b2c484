"""Finding credentials."""

import base64
import html
import json
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.tool_calls.credentials import MASK, Masking, secret_values

SECRET = 'pa"ss/wörd+1'


@pytest.mark.parametrize(
    "spelled",
    [
        SECRET,
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        quote(SECRET),
        quote(SECRET, safe=""),
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        json.dumps(SECRET).replace("/", "\\/"),
        json.dumps(json.dumps(SECRET)[1:-1]),
        quote(SECRET, safe="").replace("%2F", "%2f").replace("%C3%B6", "%c3%b6").replace("%2B", "%2b"),
        html.escape(SECRET),
        repr(SECRET),
    ],
)
def test_a_known_value_is_masked_in_every_spelling(spelled: str) -> None:
    shown = Masking([SECRET])(f"before {spelled} after")

    assert "[redacted]" in shown
    assert "rd" not in shown.replace("redacted", "")


@settings(max_examples=100, deadline=None, derandomize=True)
@given(secret=st.binary(min_size=8, max_size=40), before=st.binary(max_size=7), after=st.binary(max_size=7))
def test_a_known_value_is_masked_inside_base64(secret: bytes, before: bytes, after: bytes) -> None:
    value = secret.hex()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(before + value.encode() + after).decode()

        assert "[redacted]" in Masking([value])(encoded)


def test_short_values_are_not_looked_for() -> None:
    assert Masking(["true"])("true") == "true"


FORMATS = [
    "sk-ant-api03-abcdefghijklmnopqrst",
    "sk-proj-abcdefghijklmnopqrstuv",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_" + "a" * 36,
    "github_pat_" + "a" * 30,
    "glpat-" + "a" * 20,
    "xoxb-123456789012-abc",
    "AIza" + "a" * 35,
    "sk_live_" + "a" * 24,
    "npm_" + "a" * 36,
    "hf_" + "a" * 34,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIE cut off",
]


@pytest.mark.parametrize("credential", FORMATS)
def test_known_formats_are_masked_only_where_asked_for(credential: str) -> None:
    assert Masking(formats=True)(f"x: {credential}") == "x: [redacted]"
    assert Masking()(f"x: {credential}") == f"x: {credential}"


@pytest.mark.parametrize(
    "text", ["sk-short", "a task-list-that-is-quite-long-indeed", "https://example.com/a:b@c"]
)
def test_what_is_no_credential_stays(text: str) -> None:
    assert Masking(formats=True)(text) == text


def test_passwords_in_urls_are_masked() -> None:
    assert Masking(formats=True)("postgres://me:hunter2@db/x") == "postgres://me:[redacted]@db/x"


def test_secret_values_are_known_by_their_names() -> None:
    environ = {
        "API_KEY": "k-1",
        "GITHUB_TOKEN": "t-1",
        "DB_PASSWORD": "correcthorsebatterystaple",
        "PATH": "/bin",
        "KEYBOARD": "us-1",
        "TOKEN": "development",
        "GOOGLE_APPLICATION_CREDENTIALS": "/home/me/key.json",
        "SSH_AUTH_SOCK": "/tmp/agent.1",
    }

    assert secret_values(environ) == ("k-1", "t-1", "correcthorsebatterystaple")


def test_a_value_that_becomes_known_later_is_found_from_then_on() -> None:
    masking = Masking(["first-secret-value"])
    text = "first-secret-value and second-secret-value"
    assert masking(text) == f"{MASK} and second-secret-value"
    masking.watch(["second-secret-value", "short"])
    masking.watch(["second-secret-value"])
    assert masking(text) == f"{MASK} and {MASK}"
    assert masking("short") == "short"
