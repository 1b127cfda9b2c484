"""Hosts are judged label by label, and an operator's openings reach no further than they say."""

import pytest

from toolwright.contracts.errors import SettingsError, ToolFailure
from toolwright.contracts.network import NetworkAccess
from toolwright.workspaces.network import NetworkGate, host_matches, host_permitted

PUBLIC = NetworkAccess("public")


@pytest.mark.parametrize(
    ("host", "pattern", "matches"),
    [
        ("example.com", "example.com", True),
        ("EXAMPLE.com.", "example.COM", True),
        ("example.com", "example.com.", True),
        ("a.example.com", "example.com", False),
        ("a.example.com", "*.example.com", True),
        ("a.b.example.com", "*.example.com", True),
        ("example.com", "*.example.com", False),
        ("evilexample.com", "*.example.com", False),
        ("a.example.com.evil.net", "*.example.com", False),
        ("example.com.evil.net", "example.com", False),
        ("api.example.com", "api.*.com", True),
        ("api.a.b.com", "api.*.com", False),
        ("api-1.example.com", "api-*.example.com", True),
        ("api.example.com", "api-*.example.com", False),
        ("anything.at.all", "*", True),
        ("bücher.example", "xn--bcher-kva.example", True),
        ("xn--bcher-kva.example", "bücher.example", True),
        ("www.xn--bcher-kva.example", "*.bücher.example", True),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.*", False),
        ("10.0.0.1", "*.0.0.1", False),
        ("::1", "[::1]", True),
        ("0:0::1", "::1", True),
        ("example.com", "", False),
        ("", "example.com", False),
        ("exa mple.com", "*.com", False),
    ],
)
def test_hosts_match_by_label(host: str, pattern: str, matches: bool) -> None:
    assert host_matches(host, pattern) is matches


@pytest.mark.parametrize(
    ("access", "permitted"),
    [
        (NetworkAccess("none"), False),
        (NetworkAccess("none", ("example.com",)), False),
        (NetworkAccess("public"), True),
        (NetworkAccess("hosts"), False),
        (NetworkAccess("hosts", ("other.com", "*.example.com")), False),
        (NetworkAccess("hosts", ("other.com", "example.com")), True),
    ],
)
def test_access_names_hosts(access: NetworkAccess, permitted: bool) -> None:
    assert host_permitted("example.com", access) is permitted


def _rule_by_name(gate: NetworkGate, host: str, access: NetworkAccess = PUBLIC) -> str:
    try:
        gate.admit_host(host, access)
    except ToolFailure as refused:
        return str(refused.details["rule"])
    return "admitted"


def _rule_by_address(gate: NetworkGate, address: str, *, host: str = "x.example", port: int = 80) -> str:
    try:
        gate.admit_address(address, host=host, port=port)
    except ToolFailure as refused:
        return "names the address" if address in refused.message else str(refused.details["rule"])
    return "admitted"


@pytest.mark.parametrize(
    ("host", "rule"),
    [
        ("example.com", "admitted"),
        ("8.8.8.8", "admitted"),
        ("localhost", "local-name"),
        ("a.localhost", "local-name"),
        ("localhost.localdomain", "local-name"),
        ("ip6-localhost", "local-name"),
        ("127.0.0.1", "private-address"),
        ("169.254.169.254", "private-address"),
        ("::1", "private-address"),
        ("notlocalhost", "admitted"),
    ],
)
def test_names_of_this_machine_and_private_literals_are_refused(host: str, rule: str) -> None:
    assert _rule_by_name(NetworkGate(), host) == rule


def test_a_name_is_judged_by_the_session_first() -> None:
    gate = NetworkGate.opening(["127.0.0.0/8"])
    assert _rule_by_name(gate, "127.0.0.1", NetworkAccess("none")) == "network-off"
    assert _rule_by_name(gate, "127.0.0.1", NetworkAccess("hosts", ("a.example",))) == "host-not-allowed"
    assert _rule_by_name(gate, "127.0.0.1") == "admitted"


def test_an_opened_network_admits_its_addresses_under_every_name() -> None:
    gate = NetworkGate.opening(["10.0.0.0/8", "::1"])
    rules = [_rule_by_address(gate, text) for text in ("10.9.9.9", "::1", "192.168.0.1", "8.8.8.8")]
    assert rules == ["admitted", "admitted", "private-address", "admitted"]


def test_an_opened_host_admits_private_addresses_under_its_name_only() -> None:
    gate = NetworkGate.opening(["intranet.example", "*.lab.example", "localhost"])
    assert _rule_by_address(gate, "10.0.0.1", host="intranet.example") == "admitted"
    assert _rule_by_address(gate, "10.0.0.1", host="a.lab.example") == "admitted"
    assert _rule_by_address(gate, "10.0.0.1", host="lab.example") == "private-address"
    assert _rule_by_name(gate, "localhost") == "admitted"
    assert _rule_by_name(gate, "a.localhost") == "local-name"


@pytest.mark.parametrize("address", ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "0.0.0.0"])
def test_an_opened_host_never_admits_link_local_or_metadata(address: str) -> None:
    gate = NetworkGate.opening(["intranet.example", "0.0.0.0/0", "::/0"])
    assert _rule_by_address(gate, address, host="intranet.example") == "private-address"


def test_the_engine_itself_stays_closed() -> None:
    gate = NetworkGate.opening(["127.0.0.0/8"], own=[("127.0.0.1", 8080)])
    assert _rule_by_address(gate, "127.0.0.1", port=8080) == "own-address"
    assert _rule_by_address(gate, "127.0.0.1", port=8081) == "admitted"
    assert _rule_by_address(gate, "127.0.0.2", port=8080) == "admitted"


def test_an_engine_that_listens_everywhere_closes_its_port_on_every_local_address() -> None:
    gate = NetworkGate.opening(["127.0.0.0/8", "10.0.0.0/8"], own=[("0.0.0.0", 8080)])
    rules = [
        _rule_by_address(gate, text, port=8080) for text in ("127.0.0.1", "127.9.9.9", "10.0.0.5", "8.8.8.8")
    ]
    assert rules == ["own-address", "own-address", "own-address", "admitted"]


@pytest.mark.parametrize(
    ("entries", "host", "private"),
    [
        ([], "example.com", False),
        (["localhost"], "localhost", True),
        (["127.0.0.0/8"], "127.0.0.1", True),
        (["127.0.0.0/8"], "8.8.8.8", False),
        (["127.0.0.0/8"], "localhost", False),
        (["*.lab.example"], "a.lab.example", True),
    ],
)
def test_a_private_host_is_one_the_operator_opened(entries: list[str], host: str, private: bool) -> None:
    assert NetworkGate.opening(entries).is_private_host(host) is private


@pytest.mark.parametrize("entry", ["*", "", "10.0.0.0/40", "a b", "http://example.com", "300.1.1.1"])
def test_an_entry_that_opens_nothing_sensible_is_refused(entry: str) -> None:
    with pytest.raises(SettingsError):
        NetworkGate.opening([entry])
