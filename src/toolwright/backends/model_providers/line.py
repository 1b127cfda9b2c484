"""How long a provider is waited for, and what it means when the line to it breaks."""

import os
import socket
import ssl
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from toolwright.backends.model_providers.faults import quoted
from toolwright.contracts.models import ModelFault

if TYPE_CHECKING:
    import httpx2


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds."""

    connect: float = 10.0
    first_byte: float = 300.0
    """Until the headers of an answer: a local server may read a long conversation before it sends them."""
    stall: float = 120.0
    """Until the next piece of an answer, whatever is in it."""
    whole: float = 3600.0
    """For a whole answer, looked at when a piece comes: with silence at its end it is ``stall`` more."""


DEFAULT_TIMEOUTS = Timeouts()


class Line:
    """The line over which one answer comes: its time limits, and its faults in the engine's words."""

    def __init__(self, timeouts: Timeouts, where: str) -> None:
        self.where = where
        self.request_id = ""
        self.begun = False
        """Whether the headers of the answer have come."""
        self.limits: dict[str, float] = {
            "connect": timeouts.connect,
            "pool": timeouts.connect,
            "write": timeouts.stall,
            "read": min(timeouts.first_byte, timeouts.whole),
        }
        """As the HTTP client reads them: once before the headers, once after."""
        self._timeouts = timeouts
        self._end = monotonic() + timeouts.whole

    def begin(self, request_id: str) -> None:
        """Note that the headers have come."""
        self.begun = True
        self.request_id = request_id
        self.limits["read"] = min(self._timeouts.stall, self._timeouts.whole)

    def check_time(self) -> None:
        """May raise ModelFault "timeout"."""
        if monotonic() > self._end:
            raise self.fault_of_time()

    def fault_of_time(self) -> ModelFault:
        text = f"the answer of {self.where} took longer than {self._timeouts.whole:g} seconds"
        return ModelFault("timeout", text, request_id=self.request_id)

    def fault(self, problem: "httpx2.TransportError") -> ModelFault:
        """Return what an error of the HTTP client means.

        The client's own words stay out of it where they may quote what was sent.
        """
        import httpx2

        if isinstance(problem, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol):
            return ModelFault(
                "bad_request", f"the request to {self.where} cannot be sent as it is configured"
            )
        if isinstance(problem, httpx2.ConnectError | httpx2.ProxyError):
            return ModelFault("connection", f"{self.where} cannot be reached: {_why(problem)}")
        if isinstance(problem, httpx2.ConnectTimeout | httpx2.PoolTimeout):
            seconds = self.limits["connect"]
            return ModelFault("connection", f"{self.where} cannot be reached within {seconds:g} seconds")
        if isinstance(problem, httpx2.ReadTimeout):
            return self._fault_of_silence()
        if isinstance(problem, httpx2.TimeoutException):
            return ModelFault("connection", f"{self.where} did not take the request in time")
        if isinstance(problem, httpx2.RemoteProtocolError) and not _broke(problem):
            text = f"{self.where} does not answer in HTTP: {quoted(str(problem))}"
            return ModelFault("garbage", text, request_id=self.request_id)
        if self.begun:
            return ModelFault("cut", f"{self.where} broke off its answer", request_id=self.request_id)
        return ModelFault("connection", f"{self.where} hung up before it answered")

    def _fault_of_silence(self) -> ModelFault:
        if monotonic() > self._end:
            return self.fault_of_time()
        text = f"{self.where} sent nothing for {self.limits['read']:g} seconds"
        return ModelFault("stalled", text, request_id=self.request_id)


def _broke(problem: Exception) -> bool:
    """Whether the other side went away; otherwise it sent what is no HTTP."""
    words = str(problem)
    return "disconnected" in words or "closed" in words


def _why(problem: BaseException) -> str:
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            told = getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or "TLS failed"
            return f"no connection that can be trusted ({told})"
        if isinstance(cause, socket.gaierror):
            return "its name is not known"
        if isinstance(cause, OSError) and cause.errno:
            return os.strerror(cause.errno).lower()
        cause = cause.__cause__ or cause.__context__
    return quoted(str(problem)) or "no connection"
