"""What an answer of a web server is, and its text. Pure, but slow for long pages: called in a thread."""

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from toolwright.tools.pdf_text import text_of_pdf

Format = Literal["markdown", "text", "html", "raw"]
Kind = Literal["html", "text", "pdf", "image", "binary"]

MOST_CHARS = 100_000
_DEPTH = 200
_SNIFFED = 8192
_SUBSTANTIAL = 200
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
)
_TEXT_TYPES = re.compile(
    r"text/.*|application/(?:.*\+)?(?:json|xml|yaml|javascript|ecmascript|toml|sql|graphql|x-sh|x-ndjson)"
    r"|application/x-www-form-urlencoded"
)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_KNOWN_CHARSET = re.compile(
    r"utf-?(?:8|16|32).*|ascii|iso8859-\d+|latin.*|cp\d+|koi8-[rtu]|mac-.*|gb.*|big5.*|euc.*|shift.*|iso2022.*|hz|tis-620"
)
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MAIN_PARTS = tuple(
    (re.compile(rf"<{tag}\b[^<>]{{0,2000}}>", re.IGNORECASE), re.compile(rf"</{tag}\b", re.IGNORECASE))
    for tag in ("main", "article")
)
_ASIDE = ("footer", "aside", "nav", "[role=navigation]", "[role=contentinfo]", "[role=complementary]", "svg")


@dataclass(frozen=True, slots=True)
class WebContent:
    """An answer by what it really is; ``media_type`` is what the server says, or what the bytes say."""

    kind: Kind
    media_type: str
    body: bytes
    charset: str = "utf-8"

    @property
    def text(self) -> str:
        """The body as text; bytes that are none become replacement characters."""
        return self.body.decode(self.charset, errors="replace").removeprefix("\ufeff")


def content_of(body: bytes, headers: Mapping[str, str]) -> WebContent:
    """Tell what a body is: by its first bytes where these are sure, else by the type it is sent with."""
    declared = headers.get("content-type", "")
    media_type = declared.partition(";")[0].strip().lower()
    if body.startswith(b"%PDF-"):
        return WebContent("pdf", "application/pdf", body)
    if image := _image_type(body):
        return WebContent("image", image, body)
    if media_type in {"text/html", "application/xhtml+xml"} or (not media_type and _looks_like_html(body)):
        return WebContent("html", media_type or "text/html", body, _charset(body, declared, html=True))
    if _TEXT_TYPES.fullmatch(media_type) or _looks_like_text(body):
        return WebContent("text", media_type or "text/plain", body, _charset(body, declared))
    return WebContent("binary", media_type or "application/octet-stream", body)


def readable(content: WebContent, form: Format, *, url: str) -> str:
    """The text of HTML, text or PDF in the format asked for. May raise ToolFailure ``unsupported``."""
    if content.kind == "pdf":
        return text_of_pdf(content.body, most_chars=MOST_CHARS)
    if content.kind == "text" or form in {"html", "raw"}:
        return content.text
    return html_text(content.text, url=url, plain=form == "text")


def html_text(html: str, *, url: str, plain: bool = False) -> str:
    """HTML as Markdown (or plain text): what is hidden is gone, links are absolute, main content goes first.

    A page with a ``<main>`` or ``<article>`` of some length is that part and nothing else.
    """
    for start, end in _MAIN_PARTS:
        opening = start.search(html)
        closings = [closing.start() for closing in end.finditer(html)]
        if opening is None or not closings:
            continue
        text = _converted(html[opening.end() : closings[-1]], url=url, plain=plain)
        if len(text) >= _SUBSTANTIAL:
            return text
    return _converted(html, url=url, plain=plain)


def cut(text: str, most: int = MOST_CHARS) -> str:
    """At most so much of a text, with a notice where it was cut."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n\n[Cut: the first {most:,} of {len(text):,} characters.]"


def _converted(html: str, *, url: str, plain: bool) -> str:
    from html_to_markdown import ConversionOptions, convert

    options = ConversionOptions(
        base_url=url,
        extract_metadata=False,
        exclude_selectors=list(_ASIDE),
        hidden_content="drop",
        inline_data_media="drop_element",
        max_depth=_DEPTH,
        output_format="plain" if plain else "markdown",
    )
    return (convert(html, options).content or "").strip()


def _image_type(body: bytes) -> str | None:
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return "image/webp"
    if body[:2] == b"BM" and body[6:10] == b"\0\0\0\0":
        return "image/bmp"
    return next((media_type for magic, media_type in _IMAGES if body.startswith(magic)), None)


def _looks_like_html(body: bytes) -> bool:
    start = body[:512].lstrip().lower()
    return start.startswith((b"<!doctype html", b"<html", b"<head", b"<body"))


def _looks_like_text(body: bytes) -> bool:
    start = body[:_SNIFFED]
    if b"\0" in start:
        return False
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(start, final=len(start) == len(body))
    except UnicodeDecodeError:
        return False
    return True


def _charset(body: bytes, declared: str, *, html: bool = False) -> str:
    """The encoding by byte order mark, header, or ``<meta>``; UTF-8 when nobody says a known one."""
    for mark, name in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return name
    places = [declared, body[:2048].decode("ascii", errors="replace")] if html else [declared]
    for place in places:
        match = _CHARSET.search(place)
        known = _known_charset(match[1]) if match else None
        if known:
            return known
    return "utf-8"


def _known_charset(name: str) -> str | None:
    """A codec for text. Python has others (compression, escapes), and a stranger does not choose these."""
    try:
        found = codecs.lookup(name).name
    except LookupError:
        return None
    return found if _KNOWN_CHARSET.fullmatch(found) else None
