"""Trying all cases, several at once, and putting together what came of them."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from secrets import token_hex

import anyio

from toolwright.contracts.evals import EvalCase
from toolwright.surfaces.evals.playing import Player
from toolwright.surfaces.evals.preparing import EvalOptions, Prepared
from toolwright.surfaces.evals.results import Attempt, CaseResult, EvalReport
from toolwright.tool_calls.credentials import Masking, secret_values

Told = Callable[[EvalCase, Attempt], None]
"""Told of every attempt when it is over."""


async def run_evals(
    cases: Sequence[Prepared],
    options: EvalOptions,
    *,
    told: Told = lambda _, __: None,
    environ: Mapping[str, str] | None = None,
) -> EvalReport:
    """Try every case as often as is wanted, at most ``options.concurrency`` at once.

    The report has the cases in their order, whichever was over first.
    """
    environ = dict(os.environ if environ is None else environ)
    began, started = datetime.now(UTC), time.monotonic()
    run_id = token_hex(4)
    mask = Masking(secret_values(environ), formats=True)
    player = Player(options, run_id=run_id, environ=environ, mask=mask)
    done: dict[tuple[int, int], Attempt] = {}
    limiter = anyio.CapacityLimiter(options.concurrency)

    async def one(place: int, number: int) -> None:
        async with limiter:
            attempt = await player.attempt(cases[place], number)
        done[place, number] = attempt
        told(cases[place].case, attempt)

    numbers = range(1, options.repeat + 1)
    async with anyio.create_task_group() as group:
        for place in range(len(cases)):
            for number in numbers:
                group.start_soon(one, place, number)
    return EvalReport(
        run_id=run_id,
        began=f"{began:%Y-%m-%dT%H:%M:%S}Z",
        seconds=time.monotonic() - started,
        results=tuple(
            CaseResult(case=prepared.case, attempts=tuple(done[place, number] for number in numbers))
            for place, prepared in enumerate(cases)
        ),
    )
