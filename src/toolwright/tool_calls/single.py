"""The one call of a message: nobody stands in its way and nobody waits for it, so it needs no scheduling."""

from toolwright.contracts.tool import CallResult, Done, Failed, Outcome, ToolCall, Waiting
from toolwright.tool_calls.early import EarlyCall
from toolwright.tool_calls.live import LiveCall, Turn
from toolwright.tool_calls.message import BatchResult, Standing, handed_over
from toolwright.tool_calls.order import ALONE
from toolwright.tool_calls.pipeline import Answered, Pipeline, asked_about


class Single:
    """One call on its way, in the task of whoever runs it; what comes of it is that of a batch of one.

    ``standing`` says how it stands already, ``early`` that it began while the model spoke.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        call: ToolCall,
        turn: Turn,
        *,
        standing: Standing | None = None,
        early: EarlyCall | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._parts = pipeline.parts
        self._call = call
        self._turn = turn
        self._standing = standing
        self._early = early
        self._started = pipeline.parts.clock.monotonic()
        self._judged_anew = False
        self._most = 0

    async def run(self) -> BatchResult:
        """Run it and hand over its result. May raise EngineFault."""
        with self._parts.in_force.telling(self._judge_anew):
            result = await self._result()
        outcome = result.outcome
        if isinstance(outcome, Done) and outcome.new_cwd:
            self._parts.in_force.move(outcome.new_cwd)
        return await handed_over(self._parts, self._turn, (result,), most=self._most, started=self._started)

    async def _result(self) -> CallResult:
        if isinstance(self._standing, CallResult):
            return self._standing
        live = self._opened()
        while True:
            result = await self._pipeline.ended(live, self._outcome(live))
            self._most = max(self._most, int(live.began))
            if not self._may_be_settled(result):
                return result
            self._early = None
            live = self._reopened()

    def _opened(self) -> LiveCall:
        if self._early is not None:
            return self._early.live
        if self._standing is not None:
            return self._reopened()
        return self._pipeline.open_all((self._call,), self._turn)[0]

    def _reopened(self) -> LiveCall:
        """Open a call that was counted before."""
        standing = self._standing
        call = asked_about(standing.request) if isinstance(standing, Answered) else self._call
        return self._pipeline.open(call, self._turn, counted=True)

    async def _outcome(self, live: LiveCall) -> Outcome:
        if self._early is not None:
            return await self._early.outcome(ALONE)
        standing = self._standing
        if isinstance(standing, Done | Failed):
            self._pipeline.taken_over(live)
            return standing
        answered = standing if isinstance(standing, Answered) else None
        return await self._pipeline.carry_out(live, ALONE, answered=answered)

    # --- a policy that changes meanwhile ---

    def _judge_anew(self) -> None:
        self._judged_anew = True

    def _may_be_settled(self, result: CallResult) -> bool:
        """Whether the call put a question that a change of policy may have answered since."""
        judged_anew, self._judged_anew = self._judged_anew, False
        outcome = result.outcome
        return judged_anew and isinstance(outcome, Waiting) and outcome.request is not None
