"""One attempt at one case: a fresh workspace, a fresh session, and what came of it."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
from anyio.to_thread import run_sync

from toolwright.contracts.errors import ToolwrightError
from toolwright.contracts.evals import EvalCase
from toolwright.settings import Loaded, load
from toolwright.surfaces.engine import Engine, RunResult, Session
from toolwright.surfaces.evals.found import Check
from toolwright.surfaces.evals.judging import judged
from toolwright.surfaces.evals.masking import masked
from toolwright.surfaces.evals.observing import Observed, Tree, calls_of
from toolwright.surfaces.evals.preparing import EvalOptions, Prepared
from toolwright.surfaces.evals.results import Attempt
from toolwright.surfaces.evals.scoring import scored
from toolwright.surfaces.evals.tapes import tape, tape_folder
from toolwright.surfaces.evals.workspaces import furnish, texts, tree
from toolwright.wiring.furnishing import retries_of
from toolwright.wiring.models import Providers

_TOO_LONG = "The eval took too long."


@dataclass(slots=True)
class _Played:
    """What is known of an attempt so far."""

    session_id: str = ""
    observed: Observed = field(default_factory=lambda: Observed(end="idle"))
    late: bool = False
    notices: tuple[str, ...] = ()


class Player:
    """Tries cases. ``mask`` takes out of what is reported what must not be seen."""

    def __init__(
        self,
        options: EvalOptions,
        *,
        run_id: str,
        environ: Mapping[str, str],
        mask: Callable[[str], str],
    ) -> None:
        self._options = options
        self._run_id = run_id
        self._environ = environ
        self._mask = mask

    async def attempt(self, prepared: Prepared, number: int) -> Attempt:
        """Try a case once. What goes wrong is told by the attempt."""
        case = prepared.case
        words = {"run_id": self._run_id, "case_id": case.id, "attempt": str(number)}
        attempt = Attempt(number=number, task_id=filled(case.task_id, words))
        began = time.monotonic()
        folder = await run_sync(lambda: os.path.realpath(tempfile.mkdtemp(prefix="toolwright-eval-")))
        try:
            done = await self._tried(prepared, attempt, words, os.path.join(folder, "workspace"))
        except (ToolwrightError, OSError) as problem:
            done = replace(attempt, problem=str(problem) or type(problem).__name__)
        finally:
            with anyio.CancelScope(shield=True):
                await run_sync(lambda: self._put_away(folder, case, number))
        return masked(replace(done, seconds=time.monotonic() - began), self._mask)

    async def _tried(
        self, prepared: Prepared, attempt: Attempt, words: Mapping[str, str], workspace: str
    ) -> Attempt:
        case = prepared.case
        await run_sync(os.mkdir, workspace)
        await run_sync(furnish, workspace, case)
        before = await run_sync(tree, workspace)
        engine = await run_sync(lambda: self._engine(prepared, attempt.number, words, workspace))
        played = await self._played(engine, prepared, attempt.task_id)
        observed = await run_sync(lambda: _looked_at(played.observed, case, before, workspace))
        attempt = replace(attempt, session_id=played.session_id, observed=observed, notices=played.notices)
        if observed.end == "failed" and case.expected.end != "failed":
            return replace(attempt, problem=f"the model could not be asked: {observed.message}")
        checks = scored(case.expected, observed)
        if played.late:
            checks = (Check(f"ends within {case.timeout:g} s", "it did not"), *checks)
        elif case.expected.judge is not None:
            checks = (*checks, await self._judged(prepared, attempt, words, workspace))
        return replace(attempt, checks=checks)

    async def _played(self, engine: Engine, prepared: Prepared, task_id: str) -> _Played:
        played = _Played()
        async with engine:
            played.notices = engine.notices
            session = await engine.session(agent=prepared.agent or "", title=task_id)
            played.session_id = session.id
            result = await self._within(prepared.case, session, played)
            records = [record async for record in session.stream()]
        played.observed = Observed(
            end=result.end,
            message=result.message,
            text=result.text,
            calls=calls_of(records),
            rounds=result.rounds,
            usage=result.usage,
            cost=result.cost,
        )
        return played

    async def _within(self, case: EvalCase, session: Session, played: _Played) -> RunResult:
        with anyio.move_on_after(case.timeout) as scope:
            return await session.run(said(case))
        played.late = scope.cancelled_caught
        await session.interrupt(_TOO_LONG)
        return await session.quiet()

    def _engine(self, prepared: Prepared, number: int, words: Mapping[str, str], workspace: str) -> Engine:
        case, options = prepared.case, self._options
        settings: dict[str, Any] = {**prepared.settings}
        if options.replay_from:
            model = tape(options.replay_from, case, number)
        else:
            model = filled(prepared.model, words)
        if options.record_to:
            folder = os.path.abspath(tape_folder(options.record_to, case, number))
            settings["models"] = {**settings.get("models", {}), "record_to": folder}
        return Engine(
            model=model,
            workspace=workspace,
            tools=prepared.tools,
            allow=case.allow,
            ask=case.ask,
            deny=case.deny,
            mode=case.mode,
            settings=settings,
            durable=False,
            environ=self._environ,
        )

    # --- the judge ------------------------------------------------------------------------------

    async def _judged(
        self, prepared: Prepared, attempt: Attempt, words: Mapping[str, str], workspace: str
    ) -> Check:
        wanted = prepared.case.expected.judge
        assert wanted is not None
        loaded, written = await run_sync(lambda: self._judge(prepared, attempt.number, words, workspace))
        providers = Providers(loaded)
        try:
            model = await run_sync(providers.lookup, written)
            return await judged(
                wanted.question,
                prepared.case,
                attempt.observed,
                model,
                retries=retries_of(loaded),
            )
        finally:
            await providers.close()

    def _judge(
        self, prepared: Prepared, number: int, words: Mapping[str, str], workspace: str
    ) -> tuple[Loaded, str]:
        case, options = prepared.case, self._options
        models = dict(prepared.settings.get("models", {}))
        if options.record_to:
            models["record_to"] = os.path.abspath(tape_folder(options.record_to, case, number, judge=True))
        settings = {**prepared.settings, "models": models}
        loaded = load(workspace, environ=self._environ, cli=settings)
        if options.replay_from:
            return loaded, tape(options.replay_from, case, number, judge=True)
        return loaded, filled(prepared.judge, words)

    def _put_away(self, folder: str, case: EvalCase, number: int) -> None:
        """Remove what was made for an attempt, or keep the workspace where that is wanted."""
        workspace = os.path.join(folder, "workspace")
        if self._options.keep and os.path.isdir(workspace):
            kept = os.path.join(self._options.keep, f"{self._run_id}-{case.id}-{number}")
            os.makedirs(self._options.keep, exist_ok=True)
            shutil.move(workspace, kept)
        shutil.rmtree(folder, ignore_errors=True)


def filled(text: str, words: Mapping[str, str]) -> str:
    """Put words in place of their names in braces (pure). Other braces stay."""
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    return text


def said(case: EvalCase) -> str:
    """Return what is said to the agent (pure)."""
    if not case.context:
        return case.message
    return f"<context>\n{case.context}\n</context>\n\n{case.message}"


def _looked_at(observed: Observed, case: EvalCase, before: Tree, workspace: str) -> Observed:
    after = tree(workspace)
    return replace(observed, before=before, after=after, texts=texts(workspace, case.expected.files))
