"""How fast a server is listened to (pure: the time is given to it)."""

from dataclasses import dataclass

BURST = 2_000
A_SECOND = 500


@dataclass(slots=True)
class Throttle:
    """Lets bursts of messages through at once; who goes on and on is read at a steady pace.

    What is not read waits in the pipe or the socket, and the server with it.
    """

    burst: float = BURST
    a_second: float = A_SECOND
    _left: float = -1.0
    _at: float = 0.0

    def wait(self, now: float) -> float:
        """Return how many seconds to wait before one more message is taken."""
        if self._left < 0:
            self._left, self._at = self.burst, now
        self._left = min(self.burst, self._left + (now - self._at) * self.a_second)
        self._at = now
        if self._left >= 1:
            self._left -= 1
            return 0.0
        wait = (1 - self._left) / self.a_second
        self._left, self._at = 0.0, now + wait
        return wait
