"""What a file is, told by its first bytes and never by its name alone."""

from typing import Literal

from toolwright.workspaces.text import looks_binary

Kind = Literal["text", "image", "pdf", "notebook", "binary"]

_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF87a", "GIF image"),
    (b"GIF89a", "GIF image"),
    (b"II*\0", "TIFF image"),
    (b"MM\0*", "TIFF image"),
    (b"\0\0\1\0", "ICO image"),
)
_OTHERS = (
    (b"%PDF-", "PDF document"),
    (b"\x7fELF", "ELF program"),
    (b"MZ", "Windows program"),
    (b"PK\x03\x04", "ZIP archive (or office document)"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\0", "xz archive"),
    (b"7z\xbc\xaf", "7z archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"OggS", "Ogg media"),
    (b"fLaC", "FLAC audio"),
    (b"ID3", "MP3 audio"),
    (b"\0asm", "WebAssembly module"),
    (b"\xca\xfe\xba\xbe", "Java class"),
)


def kind_of(head: bytes, path: str) -> Kind:
    """The kind of a file. A notebook is JSON text that calls itself one by its name."""
    if _image_name(head):
        return "image"
    if head.startswith(b"%PDF-"):
        return "pdf"
    if looks_binary(head):
        return "binary"
    return "notebook" if path.endswith(".ipynb") else "text"


def type_name(head: bytes) -> str:
    """A name for the content, as far as it is known."""
    return _image_name(head) or next((name for magic, name in _OTHERS if head.startswith(magic)), "unknown")


def _image_name(head: bytes) -> str:
    for magic, name in _IMAGES:
        if head.startswith(magic):
            return name
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WebP image"
    # "BM" may start a text as well; a bitmap has reserved NULs after its size.
    if head[:2] == b"BM" and head[6:10] == b"\0\0\0\0":
        return "BMP image"
    return ""
