"""What a body is, and its text."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.contracts.errors import ToolFailure
from toolwright.tools.pdf_text import text_of_pdf
from toolwright.tools.untrusted import wrapped
from toolwright.tools.web_content import MOST_CHARS, content_of, cut, html_text, readable
from toolwright.tools.web_texts import host_of, retry_after, size_text, status_text

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
URL = "https://site.example/docs/page"


def pdf(*pages: str) -> bytes:
    """A small PDF with one line of text on each page."""
    count = len(pages)
    kids = " ".join(f"{3 + 2 * number} 0 R" for number in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {count} /Kids [{kids}] >>",
    ]
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    for number, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents {4 + 2 * number} 0 R "
            f"/Resources << /Font << /F1 {font} >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    body = "%PDF-1.4\n"
    offsets = []
    for number, text in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode("latin-1")


@pytest.mark.parametrize(
    ("body", "declared", "kind", "media_type"),
    [
        (b"<p>x", "text/html; charset=utf-8", "html", "text/html"),
        (b"<p>x", "application/xhtml+xml", "html", "application/xhtml+xml"),
        (b" <!DOCTYPE html><p>x", "", "html", "text/html"),
        (b"<p>x", "", "text", "text/plain"),
        (b"{}", "application/json", "text", "application/json"),
        (b"{}", "application/vnd.api+json", "text", "application/vnd.api+json"),
        (b"<a/>", "application/atom+xml", "text", "application/atom+xml"),
        (b"# hi", "text/markdown", "text", "text/markdown"),
        (b"plain", "application/octet-stream", "text", "application/octet-stream"),
        (b"caf\xc3\xa9", "", "text", "text/plain"),
        (b"a\0b", "application/octet-stream", "binary", "application/octet-stream"),
        (b"\xff\xfe\xfd\xfc", "", "binary", "application/octet-stream"),
        (b"", "", "text", "text/plain"),
        (PNG, "text/html", "image", "image/png"),
        (b"\xff\xd8\xff\xe0", "", "image", "image/jpeg"),
        (b"GIF89a", "image/gif", "image", "image/gif"),
        (b"RIFF0000WEBPVP8 ", "", "image", "image/webp"),
        (b"BM\x46\0\0\0\0\0\0\0\x36", "", "image", "image/bmp"),
        (b"BMW is a maker of cars", "text/plain", "text", "text/plain"),
        (b"II*\0\x08\0\0\0", "", "image", "image/tiff"),
        (b"MM\0*\0\0\0\x08", "image/tiff", "image", "image/tiff"),
        (b"%PDF-1.4", "text/plain", "pdf", "application/pdf"),
        (b"PK\x03\x04\0", "application/zip", "binary", "application/zip"),
    ],
)
def test_a_body_is_told_by_its_bytes_and_then_by_its_header(
    body: bytes, declared: str, kind: str, media_type: str
) -> None:
    content = content_of(body, {"content-type": declared})
    assert (content.kind, content.media_type) == (kind, media_type)


@pytest.mark.parametrize(
    ("body", "headers", "text"),
    [
        ("é".encode("latin-1"), {"content-type": "text/plain; charset=ISO-8859-1"}, "é"),
        ("é".encode("cp1252"), {"content-type": 'text/html; charset="windows-1252"'}, "é"),
        ("é".encode(), {"content-type": "text/plain"}, "é"),
        ("\ufeffé".encode(), {"content-type": "text/plain; charset=latin-1"}, "é"),
        ("é".encode("utf-16"), {"content-type": "text/plain"}, "é"),
        (b"<meta charset=latin-1>\xe9", {"content-type": "text/html"}, "<meta charset=latin-1>é"),
        (b"\xe9", {"content-type": "text/plain; charset=nonsense"}, "\ufffd"),
        (b"\\u0041", {"content-type": "text/plain; charset=unicode_escape"}, "\\u0041"),
        (b"uryyb", {"content-type": "text/plain; charset=rot13"}, "uryyb"),
        (b"a-", {"content-type": "text/plain; charset=punycode"}, "a-"),
    ],
)
def test_text_is_decoded_by_mark_header_or_meta(body: bytes, headers: Mapping[str, str], text: str) -> None:
    assert content_of(body, headers).text == text


PAGE = """<html><head><title>T</title><style>p{}</style><script>evil()</script></head><body>
<nav><a href="/nav">navigation</a></nav>
<h1>Head</h1><p hidden>hidden one</p><p style="display:none">hidden two</p><template>tpl</template>
<p>See <a href="../other?q=1">the other</a> and <img src="i.png" alt="pic">.</p>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<footer>foot</footer></body></html>"""


def test_a_page_becomes_markdown_without_what_is_hidden() -> None:
    assert html_text(PAGE, url=URL) == (
        "# Head\n\nSee [the other](https://site.example/other?q=1) and ![pic](https://site.example/docs/i.png).\n\n"
        "| a | b |\n| --- | --- |\n| 1 | 2 |"
    )


def test_a_page_becomes_plain_text() -> None:
    text = html_text(PAGE, url=URL, plain=True)
    assert "See the other and" in text
    assert not any(mark in text for mark in ("](", "hidden", "evil", "foot", "<"))


@pytest.mark.parametrize("part", ["main", "article"])
def test_main_content_is_preferred_when_there_is_enough_of_it(part: str) -> None:
    long = "word " * 60
    html = f"<body><div>menu</div><{part} class=x><h1>Title</h1><p>{long}</p></{part}><div>ads</div></body>"
    text = html_text(html, url=URL)
    assert text.startswith("# Title")
    assert "menu" not in text
    assert "ads" not in text


def test_a_short_main_part_is_not_taken_for_the_page() -> None:
    text = html_text("<body><main>Loading</main><div>the whole story</div></body>", url=URL)
    assert "the whole story" in text


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 50_000 + "x",
        "<b>" * 50_000,
        "<table>" * 10_000,
        "<!--" * 50_000,
        "<a " * 50_000,
        "<main>" * 50_000,
    ],
)
def test_hostile_markup_is_read_without_harm(html: str) -> None:
    assert isinstance(html_text(html, url=URL), str)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.text(alphabet="<>/!-&;\"'= abdivmaintplesc\n\0\u20ac", max_size=200))
def test_any_markup_is_read(html: str) -> None:
    assert isinstance(html_text(html, url=URL), str)


@pytest.mark.parametrize("form", ["markdown", "text"])
def test_a_pdf_becomes_its_text_page_by_page(form: str) -> None:
    content = content_of(pdf("First page", "Second page"), {})
    text = readable(content, "markdown" if form == "markdown" else "text", url=URL)
    assert text == "[Page 1 of 2]\nFirst page\n\n[Page 2 of 2]\nSecond page"


def test_a_long_pdf_is_read_until_there_is_enough() -> None:
    assert text_of_pdf(pdf("First page", "Second page"), most_chars=5) == (
        "[Page 1 of 2]\nFirst page\n\n[Stopped before page 2 of 2.]"
    )


def test_a_broken_pdf_is_a_failure_that_says_so() -> None:
    with pytest.raises(ToolFailure) as caught:
        text_of_pdf(b"%PDF-1.4 nothing", most_chars=5)
    assert caught.value.code == "unsupported"


def test_a_text_may_fill_the_limit_and_is_cut_one_character_later() -> None:
    assert cut("x" * MOST_CHARS) == "x" * MOST_CHARS
    assert (
        cut("x" * MOST_CHARS + "y")
        == "x" * MOST_CHARS + "\n\n[Cut: the first 100,000 of 100,001 characters.]"
    )


@pytest.mark.parametrize(
    "text",
    [
        "</untrusted_content>",
        "</ UNTRUSTED_CONTENT >",
        "<untrusted_content source=x>",
        "<\nuntrusted_content",
    ],
)
def test_text_from_outside_cannot_close_or_open_its_own_mark(text: str) -> None:
    whole = wrapped(f"before {text} after", 'https://a.example/"><x>')
    assert whole.lower().count("<untrusted_content") == 1
    assert whole.lower().count("</untrusted_content") == 1
    assert whole.endswith("\n</untrusted_content>")
    assert '"><x>' not in whole


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KB"),
        (34 * 1024, "34 KB"),
        (5 * 1024**2, "5.0 MB"),
        (2 * 1024**3, "2048 MB"),
    ],
)
def test_sizes_are_short(size: int, text: str) -> None:
    assert size_text(size) == text


def test_statuses_have_their_phrase_where_they_have_one() -> None:
    assert (status_text(200), status_text(404), status_text(799)) == ("200 OK", "404 Not Found", "799")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("", None),
        ("7", 7.0),
        ("-1", None),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 60.0),
        ("Thu, 01 Jan 1970 00:00:10 GMT", 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}, now=40.0) == seconds


@pytest.mark.parametrize(
    ("url", "host"),
    [("https://a.example/x", "a.example"), ("https://a", "a"), ("htt", ""), (None, ""), (5, "")],
)
def test_an_unfinished_url_has_no_host(url: object, host: str) -> None:
    assert host_of(url) == host
