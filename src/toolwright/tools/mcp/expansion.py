"""Variables in what people write: ``${NAME}`` and ``${NAME:-otherwise}`` (pure)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@dataclass(slots=True)
class Expansion:
    """Puts values in place of variables; remembers those that have none."""

    environ: Mapping[str, str]
    missing: set[str] = field(default_factory=set)

    def __call__(self, text: str) -> str:
        """Return the text with every variable that is set, or says what otherwise, written out.

        A value is never expanded again.
        """
        return _VARIABLE.sub(self._value, text)

    def _value(self, found: re.Match[str]) -> str:
        value = self.environ.get(found[1]) or found[2]
        if value is None:
            self.missing.add(found[1])
            return found[0]
        return value


def variables_in(text: str) -> tuple[str, ...]:
    """Return the names of the variables that a text takes."""
    return tuple(found[1] for found in _VARIABLE.finditer(text))
