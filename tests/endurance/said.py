"""What workers said before they died: everything that they acknowledged must hold for ever."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Said:
    """What was acknowledged, over all lives."""

    sent: dict[str, str] = field(default_factory=dict)
    """Input → session."""
    told: dict[tuple[str, str], str] = field(default_factory=dict)
    """Session and question, or session and call of the client → the answer that was said to count."""
    problems: list[str] = field(default_factory=list)

    def take(self, lines: Iterable[bytes]) -> None:
        """Take note of lines; one that a kill cut off says nothing."""
        for line in lines:
            if line.endswith(b"\n"):
                self._take(line.decode().split())

    def _take(self, words: list[str]) -> None:
        match words:
            case ["sent", session_id, input_id]:
                self.sent[input_id] = session_id
            case ["told", session_id, name, word]:
                if (session_id, name) in self.told:
                    self.problems.append(f"two answers to {name} were said to count")
                self.told[session_id, name] = word
            case ["twice" | "stopped", *_]:
                self.problems.append(" ".join(words))
