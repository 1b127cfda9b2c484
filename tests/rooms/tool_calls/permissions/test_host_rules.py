"""Hosts: wildcards by label, addresses by their text, names in any script."""

import pytest

from toolwright.contracts.errors import RuleError
from toolwright.tool_calls.permissions.host_rules import check_host_pattern, host_matches, host_pattern


@pytest.mark.parametrize(
    ("pattern", "host", "expected"),
    [
        ("example.com", "example.com", True),
        ("Example.COM", "eXample.com", True),
        ("example.com", "example.com.", True),
        ("example.com.", "example.com", True),
        ("example.com", "www.example.com", False),
        ("example.com", "notexample.com", False),
        ("example.com", "example.com.evil.org", False),
        ("*.example.com", "a.example.com", True),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", ".example.com", False),
        ("*.example.com", "aexample.com", False),
        ("api.*.com", "api.x.com", True),
        ("api.*.com", "api.x.y.com", False),
        ("api-*.example.com", "api-eu.example.com", True),
        ("api-*.example.com", "api-eu.x.example.com", False),
        ("exam*e.com", "example.com", True),
        ("*", "anything.org", True),
        ("*", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.*", "10.0.0.1", False),
        ("*.0.0.1", "10.0.0.1", False),
        ("::1", "::1", True),
        ("::1", "[::1]", True),
        ("*:1", "::1", False),
        ("bücher.de", "xn--bcher-kva.de", True),
        ("xn--bcher-kva.de", "BÜCHER.de", True),
        ("*.bücher.de", "a.xn--bcher-kva.de", True),
        ("example.com", "еxample.com", False),
        ("example.com", "example。com", True),
    ],
)
def test_hosts(pattern: str, host: str, expected: bool) -> None:
    assert host_matches(pattern, host) is expected


@pytest.mark.parametrize("pattern", ["", "http://x", "a/b", "a:1", "a b", "a..b", "user@h", ".a"])
def test_what_can_be_no_host_is_refused(pattern: str) -> None:
    with pytest.raises(RuleError):
        check_host_pattern(pattern)


@pytest.mark.parametrize(
    "pattern", ["a", "*", "*.a.b", "a-*.b", "10.0.0.1", "::1", "[::1]", "bücher.de", "a.b."]
)
def test_what_can_be_a_host_is_accepted(pattern: str) -> None:
    check_host_pattern(pattern)


def test_only_the_domain_form_is_about_hosts() -> None:
    assert host_pattern("domain: example.com") == "example.com"
    assert host_pattern("example.com") is None
    assert host_pattern(None) is None
