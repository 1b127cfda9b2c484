"""Addresses are judged on their numbers; the oracle below knows only integers."""

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.contracts.errors import SettingsError
from toolwright.workspaces.addresses import networks, public_address

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:801::200e",
    "2001:4860:4860::8888",
    "2001:200::1",
    "2400::1",
]

NOT_PUBLIC = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.0",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.255",
    "169.254.0.0",
    "169.254.169.254",
    "169.254.255.255",
    "172.16.0.0",
    "172.31.255.255",
    "192.168.0.1",
    "192.168.255.255",
    "192.0.0.1",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.0",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
    "100.100.100.200",
    "::",
    "::1",
    "fc00::1",
    "fd00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "3fff::1",
    "5f00::1",
    "100::1",
    "4000::1",
    "8000::1",
    "1fff::1",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:8.8.8.8",
    "64:ff9b::127.0.0.1",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::10.0.0.1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2002:808:808::1",
    "2001:0:7f00:1::1",
    "2001:0:808:808:0:0:80ff:fffe",
    "2001:20::1",
    "2001:10::1",
    "2a00:1450::5efe:10.0.0.1",
    "2a00:1450::200:5efe:127.0.0.1",
    "localhost",
    "127.1",
    "0x7f.0.0.1",
    "017700000001",
    "2130706433",
    "8.8.8.8/32",
    "08.8.8.8",
    "8.8.8",
    "[::1]",
    "8.8.8.8%1",
]

NO_ADDRESSES = ["", "8.8.8.8 ", "\\u0661.1.1.1"]

NEVER = [
    "169.254.169.254",
    "169.254.0.1",
    "fe80::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "0.0.0.0",
    "::",
    "224.0.0.1",
    "ff02::1",
    "255.255.255.255",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "::ffff:169.254.169.254",
    "::169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "::ffff:0.0.0.0",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_ordinary_public_unicast_passes(address: str) -> None:
    assert public_address(address)


@pytest.mark.parametrize("address", [*NOT_PUBLIC, *NO_ADDRESSES])
def test_everything_else_is_refused(address: str) -> None:
    assert not public_address(address)


@pytest.mark.parametrize("address", NEVER)
def test_no_setting_opens_link_local_metadata_and_groups(address: str) -> None:
    assert not public_address(address, allowed=networks(["0.0.0.0/0", "::/0"]))


@pytest.mark.parametrize(
    ("address", "allowed", "passes"),
    [
        ("127.0.0.1", ["127.0.0.0/8"], True),
        ("127.0.0.1", ["::1/128"], False),
        ("::1", ["::1/128"], True),
        ("10.1.2.3", ["10.0.0.0/8"], True),
        ("10.1.2.3", ["10.1.2.4/32"], False),
        ("::ffff:10.1.2.3", ["10.0.0.0/8"], False),
        ("::ffff:10.1.2.3", ["10.0.0.0/8", "::ffff:0:0/96"], True),
        ("64:ff9b::8.8.8.8", ["64:ff9b::/96"], True),
        ("64:ff9b::10.0.0.1", ["64:ff9b::/96"], False),
        ("2002:a00:1::1", ["2002::/16"], False),
        ("2002:808:808::1", ["2002::/16"], True),
        ("fd12::1", ["fd12::/16"], True),
        ("8.8.8.8", ["10.0.0.0/8"], True),
    ],
)
def test_allowed_networks_open_what_they_hold_and_judge_what_is_carried(
    address: str, allowed: list[str], passes: bool
) -> None:
    assert public_address(address, allowed=networks(allowed)) is passes


@pytest.mark.parametrize("text", ["10.0.0.1/8", "here", "10.0.0.0/33", ""])
def test_a_setting_that_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(SettingsError):
        networks([text])


def _private_number(number: int) -> bool:
    """The oracle: private, loopback, link-local and shared space as ranges of integers."""
    ranges = (
        (0x00000000, 0x00FFFFFF),
        (0x0A000000, 0x0AFFFFFF),
        (0x64400000, 0x647FFFFF),
        (0x7F000000, 0x7FFFFFFF),
        (0xA9FE0000, 0xA9FEFFFF),
        (0xAC100000, 0xAC1FFFFF),
        (0xC0A80000, 0xC0A8FFFF),
        (0xE0000000, 0xFFFFFFFF),
    )
    return any(first <= number <= last for first, last in ranges)


def _near(number: int) -> st.SearchStrategy[int]:
    return st.integers(-3, 3).map(lambda step: (number + step) % 2**32)


NUMBERS = st.one_of(
    st.integers(0, 2**32 - 1),
    st.sampled_from(
        [0, 0x0A000000, 0x0AFFFFFF, 0x64400000, 0x647FFFFF, 0x7F000001, 0xA9FEA9FE, 0xAC100000, 0xC0A80000]
    ).flatmap(_near),
)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(NUMBERS)
def test_no_spelling_of_a_private_number_is_public(number: int) -> None:
    if not _private_number(number):
        return
    inverted = number ^ (2**32 - 1)
    spellings = (
        str(IPv4Address(number)),
        str(IPv6Address(number)),
        str(IPv6Address((0xFFFF << 32) + number)),
        str(IPv6Address((0x0064FF9B << 96) + number)),
        str(IPv6Address((0x0064FF9B0001 << 80) + number)),
        str(IPv6Address((0x2002 << 112) + (number << 80) + 1)),
        str(IPv6Address((0x20010000 << 96) + (number << 64) + 5)),
        str(IPv6Address((0x20010000 << 96) + inverted)),
        str(IPv6Address((0x2A001450 << 96) + (0x5EFE << 32) + number)),
    )
    assert [text for text in spellings if public_address(text)] == []


@settings(max_examples=400, derandomize=True, deadline=None)
@given(st.one_of(st.text(max_size=40), st.from_regex(r"[0-9a-fx.:%]{1,40}", fullmatch=True)))
def test_no_text_leads_to_a_private_address_judged_public(text: str) -> None:
    if not public_address(text):
        return
    try:
        number = int(IPv4Address(text))
    except ValueError:
        assert int(IPv6Address(text)) >> 125 == 1
    else:
        assert not _private_number(number)
