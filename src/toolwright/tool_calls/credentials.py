"""Finds credentials in text: values known to be secret, in every common spelling, and known formats."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping
from html import escape
from urllib.parse import quote

SHORTEST_SECRET = 8
"""Shorter values would be found by chance everywhere."""
MASK = "[redacted]"
_LONGEST_WORD = 20
_ESCAPED = re.compile(r"%[0-9A-F]{2}")

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_?KEY|KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH(?!_SOCK))(?:_|$|\d)",
    re.IGNORECASE,
)
_FORMATS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:"
    r"sk-[A-Za-z0-9_-]{20,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}"
    r"|gh[pousr]_[A-Za-z0-9]{36,}"
    r"|github_pat_[A-Za-z0-9_]{22,}"
    r"|glpat-[A-Za-z0-9_-]{20,}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}"
    r"|AIza[A-Za-z0-9_-]{35}"
    r"|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}"
    r"|npm_[A-Za-z0-9]{36}"
    r"|pypi-[A-Za-z0-9_-]{50,}"
    r"|hf_[A-Za-z0-9]{30,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+"
    r")",
    re.DOTALL,
)
_PASSWORD_IN_URL = re.compile(r"(?<=://)([^\s/:@]{0,256}):([^\s/@]{1,256})@")


def secret_values(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of environment variables whose names say that they hold a credential.

    Paths to key files and ordinary words (``TOKEN=development``) are not taken for secrets: masking
    them would mangle what has nothing to do with them.
    """
    return tuple(
        value for name, value in environ.items() if _SECRET_NAME.search(name) and _could_be_secret(value)
    )


def _could_be_secret(value: str) -> bool:
    is_word = value.isalpha() and len(value) < _LONGEST_WORD
    return not is_word and not value.startswith(("/", "~", "./"))


class Masking:
    """Replaces credentials in text. What it finds are exact spellings: a value that somebody reverses or
    writes in another case passes, so what must never leak must never be reachable."""

    def __init__(self, values: Iterable[str] = (), *, formats: bool = False) -> None:
        """``formats`` also finds what merely looks like a credential: right for a screen or a log, wrong
        for what a model reads and has to write back."""
        self._known: set[str] = set()
        self._spellings: list[str] = []
        self._formats = formats
        self.watch(values)

    def watch(self, values: Iterable[str]) -> None:
        """Find further values from now on; those that are known change nothing."""
        new = {value for value in values if len(value) >= SHORTEST_SECRET} - self._known
        if not new:
            return
        self._known |= new
        spellings = {*self._spellings, *(spelling for value in new for spelling in _spellings(value))}
        self._spellings = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))

    def __call__(self, text: str) -> str:
        """Return ``text`` with every credential replaced by a mark."""
        for spelling in self._spellings:
            if spelling in text:
                text = text.replace(spelling, MASK)
        if not self._formats:
            return text
        return _PASSWORD_IN_URL.sub(rf"\1:{MASK}@", _FORMATS.sub(MASK, text))


def redacting(*maskings: Masking | None) -> Callable[[str], str] | None:
    """Return what replaces the credentials of all of these; None where there are none."""
    there = [masking for masking in maskings if masking is not None]
    if len(there) < 2:
        return there[0] if there else None

    def redact(text: str) -> str:
        for masking in there:
            text = masking(text)
        return text

    return redact


def _spellings(value: str) -> set[str]:
    raw = value.encode("utf-8", "surrogatepass")
    found = {
        value,
        raw.hex(),
        raw.hex().upper(),
        quote(value, safe="", errors="replace"),
        quote(value, errors="replace"),
    }
    found |= {_ESCAPED.sub(lambda mark: mark.group().lower(), spelling) for spelling in found}
    written = json.dumps(value)[1:-1]
    found |= {written, written.replace("/", "\\/"), json.dumps(written)[1:-1]}
    found |= {json.dumps(value, ensure_ascii=False)[1:-1], escape(value), repr(value)[1:-1]}
    for shift in range(3):
        for encoded in (base64.b64encode(bytes(shift) + raw), base64.urlsafe_b64encode(bytes(shift) + raw)):
            found.add(_own_part(encoded.decode("ascii"), shift, len(raw)))
    return {spelling for spelling in found if len(spelling) >= SHORTEST_SECRET}


def _own_part(encoded: str, shift: int, length: int) -> str:
    """The characters of a base64 text that depend on the value alone, not on its neighbours."""
    first = (0, 2, 3)[shift]
    whole_sextets = (shift + length) * 8 // 6
    return encoded[first:whole_sextets]
