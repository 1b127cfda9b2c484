"""A URL is read one way or not at all."""

from ipaddress import ip_address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import JudgedUrl
from toolwright.workspaces.urls import LONGEST_URL, parse_url

READ = [
    ("http://example.com", JudgedUrl("http", "example.com", 80, "/", "http://example.com/")),
    (
        "HTTPS://EXAMPLE.COM/A?b=C#frag",
        JudgedUrl("https", "example.com", 443, "/A?b=C", "https://example.com/A?b=C"),
    ),
    ("https://example.com.", JudgedUrl("https", "example.com", 443, "/", "https://example.com/")),
    ("http://example.com:80/", JudgedUrl("http", "example.com", 80, "/", "http://example.com/")),
    ("http://example.com:1/", JudgedUrl("http", "example.com", 1, "/", "http://example.com:1/")),
    ("http://example.com:65535/", JudgedUrl("http", "example.com", 65535, "/", "http://example.com:65535/")),
    ("https://example.com?q=1", JudgedUrl("https", "example.com", 443, "/?q=1", "https://example.com/?q=1")),
    ("https://example.com#top", JudgedUrl("https", "example.com", 443, "/", "https://example.com/")),
    (
        "https://bücher.example/",
        JudgedUrl("https", "xn--bcher-kva.example", 443, "/", "https://xn--bcher-kva.example/"),
    ),
    ("https://8.8.8.8/x", JudgedUrl("https", "8.8.8.8", 443, "/x", "https://8.8.8.8/x")),
    (
        "http://[2001:4860:4860:0::8888]:8080/",
        JudgedUrl("http", "2001:4860:4860::8888", 8080, "/", "http://[2001:4860:4860::8888]:8080/"),
    ),
    (
        "https://my_bucket.s3.example.com/a%20b",
        JudgedUrl(
            "https", "my_bucket.s3.example.com", 443, "/a%20b", "https://my_bucket.s3.example.com/a%20b"
        ),
    ),
    (
        "https://a-b.example/@user:x",
        JudgedUrl("https", "a-b.example", 443, "/@user:x", "https://a-b.example/@user:x"),
    ),
    ("http://127.0.0.1/", JudgedUrl("http", "127.0.0.1", 80, "/", "http://127.0.0.1/")),
]

REFUSED = {
    "url-length": [
        "",
    ],
    "url-scheme": [
        "example.com",
        "//example.com",
        "ftp://example.com",
        "file:///etc/passwd",
        "gopher://x/",
        "javascript:alert(1)",
        "http:example.com",
        "http:/example.com",
        "data:text/html,x",
        "view-source:http://example.com",
        "ws://example.com",
    ],
    "url-host": [
        "http:///example.com",
        "http://",
        "http:///",
        "http://./",
        "http://.example.com/",
        "http://example..com/",
        "http://example.com../",
        "http://-a.example/",
        "http://a-.example/",
        "http://exa%6dple.com/",
        "http://%31%32%37.0.0.1/",
        "http://[::1%25lo]/",
        "http://[fe80::1%eth0]/",
        "http://[::1/",
        "http://[::1]x/",
        "http://::1/",
        "http://[127.0.0.1]/",
        "http://[v1.x]/",
        "http://[]/",
        "http://a,b/",
        "http://a*b.example/",
        "http://" + "a" * 64 + ".example/",
        "http://" + ".".join(["a" * 50] * 6) + "/",
        "http://127\u30020\u30020\u30021/",
        "http://127\uff0e0\uff0e0\uff0e1/",
        "http://example\u3002com/",
        "http://ex\xadample\u200b.\xdf\xad-/",
    ],
    "url-characters": [
        " http://example.com",
        "http://example.com ",
        "http://exa mple.com",
        "http://example.com/\t",
        "http://exam\nple.com/",
        "http://example.com\r\n/",
        "http://example.com/\x00",
        "http://example.com/\x7f",
        "http://example.com\\@127.0.0.1/",
        "http:\\\\example.com",
        "http://example.com/caf\xe9",
        "http://example.com/\u202e",
    ],
    "url-userinfo": [
        "http://user@example.com/",
        "http://user:pw@example.com/",
        "http://@example.com/",
        "http://example.com@127.0.0.1/",
        "http://8.8.8.8@[::1]/",
    ],
    "url-port": [
        "http://example.com:0/",
        "http://example.com:65536/",
        "http://example.com:080/",
        "http://example.com:/",
        "http://example.com:80:80/",
        "http://example.com:+80/",
        "http://example.com:8a/",
        "http://[::1]:/",
        "http://example.com:\uff18\uff10/",
        "http://127.0.0.1:11211:80/",
        "http://example.com:99999999999/",
    ],
    "url-numeric-host": [
        "http://127.1/",
        "http://0/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.0.0.1/",
        "http://017700000001/",
        "http://127.0.1/",
        "http://2852039166/",
        "http://0177.0.0.1/",
        "http://127.0.0.1./",
        "http://1.2.3.4.5/",
        "http://256.1.1.1/",
        "http://127.0.0.0x1/",
        "http://0x/",
        "http://example.0x7f/",
        "http://example.123/",
        "http://00.0.0.0/",
        "http://127.0.0.01/",
        "http://\uff11\uff12\uff17.0.0.1/",
        "http://\u2460\u2461\u2466.0.0.1/",
        "http://0X7F.1/",
        "http://0xx/",
    ],
}


@pytest.mark.parametrize(("text", "expected"), READ)
def test_a_plain_url_is_read(text: str, expected: JudgedUrl) -> None:
    assert parse_url(text) == expected


@pytest.mark.parametrize(
    ("text", "rule"), [(text, rule) for rule, texts in REFUSED.items() for text in texts]
)
def test_an_odd_url_is_refused_by_rule(text: str, rule: str) -> None:
    with pytest.raises(ToolFailure) as caught:
        parse_url(text)
    assert (caught.value.code, caught.value.details) == ("permission_denied", {"rule": rule})


def test_other_schemes_are_read_where_they_are_asked_for() -> None:
    assert parse_url("wss://example.com/x", schemes=("ws", "wss")).origin == ("wss", "example.com", 443)


def test_the_longest_url_passes_and_one_more_character_does_not() -> None:
    start = "https://example.com/"
    longest = start + "a" * (LONGEST_URL - len(start))
    assert parse_url(longest).url == longest
    with pytest.raises(ToolFailure, match="url-length"):
        parse_url(longest + "a")


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.text(max_size=60).map(lambda text: f"http://{text}"))
def test_what_is_read_is_read_the_same_again(text: str) -> None:
    try:
        once = parse_url(text)
    except ToolFailure:
        return
    assert parse_url(once.url) == once
    assert once.url.isascii()


@settings(max_examples=400, derandomize=True, deadline=None)
@given(st.from_regex(r"[0-9a-fx.]{1,20}", fullmatch=True))
def test_a_host_ending_in_a_number_is_one_canonical_address(host: str) -> None:
    try:
        read = parse_url(f"http://{host}/").host
    except ToolFailure:
        return
    last = read.rpartition(".")[2]
    if last.isdigit() or last.startswith("0x"):
        assert str(ip_address(read)) == host
