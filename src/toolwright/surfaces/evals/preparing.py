"""Getting cases ready: what they name is found and looked at before the first one is tried."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from toolwright.catalog.agents import ENDINGS, read_agent
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import DefinitionError, SettingsError
from toolwright.contracts.evals import EvalCase
from toolwright.contracts.tool import Tool
from toolwright.settings import Loaded
from toolwright.tool_calls.validation import check_schema
from toolwright.wiring import describe_builtins
from toolwright.wiring.agents import project_agents
from toolwright.wiring.models import FILES, default_choice, meant

LoadTools = Callable[[str], Sequence[Tool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalOptions:
    """How a person wants cases to be tried."""

    model: str = ""
    """Asked instead of what the cases name."""
    judge_model: str = ""
    tools: tuple[str, ...] = ()
    """Files with tools that every case has besides its own."""
    repeat: int = 1
    concurrency: int = 4
    record_to: str = ""
    """A folder: what models say is recorded into it."""
    replay_from: str = ""
    """A folder with such recordings, which are played instead of asking a model."""
    keep: str = ""
    """A folder in which the workspaces stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A case that can be tried."""

    case: EvalCase
    agent: AgentDefinition | None
    tools: tuple[Tool | str, ...] | None
    model: str
    """As a person would write it; may still name the case and the attempt in braces."""
    judge: str
    settings: Mapping[str, Any]


def selected(cases: Sequence[EvalCase], patterns: Sequence[str]) -> tuple[EvalCase, ...]:
    """Return the cases whose name holds one of the texts, or fits one of the patterns (pure).

    Raises SettingsError when there is none.
    """
    found = tuple(case for case in cases if not patterns or any(_is_meant(one, case) for one in patterns))
    if not found:
        names = ", ".join(case.name for case in cases[:10])
        raise SettingsError(f"no case is named like {' or '.join(patterns)}; there are {names}.")
    return found


def _is_meant(pattern: str, case: EvalCase) -> bool:
    return pattern in case.name or fnmatchcase(case.name, pattern) or fnmatchcase(case.id, pattern)


def prepared(
    cases: Sequence[EvalCase], options: EvalOptions, loaded: Loaded, load_tools: LoadTools
) -> tuple[Prepared, ...]:
    """Find what the cases name. Blocking. Raises DefinitionError with everything that is wrong."""
    preparing = _Preparing(options, loaded, load_tools)
    done: list[Prepared] = []
    problems: list[str] = []
    for case in cases:
        try:
            done.append(preparing.case(case))
        except (DefinitionError, SettingsError) as problem:
            problems.append(f"{case.origin}: the case {case.id!r}: {problem}")
    if problems:
        raise DefinitionError("\n".join(problems))
    return tuple(done)


class _Preparing:
    def __init__(self, options: EvalOptions, loaded: Loaded, load_tools: LoadTools) -> None:
        self._options = options
        self._loaded = loaded
        self._load_tools = load_tools
        self._modules: dict[str, Sequence[Tool]] = {}
        self._builtins = [spec.name for spec in describe_builtins()]
        self._agents = project_agents(loaded)

    def case(self, case: EvalCase) -> Prepared:
        """Look at one case. Raises DefinitionError, SettingsError."""
        for schema in _schemas(case):
            check_schema(schema)
        model = self._model(case)
        return Prepared(
            case=case,
            agent=self._agent(case),
            tools=self._tools(case),
            model=model,
            judge=self._judge(case, model),
            settings=self._settings(case),
        )

    def _agent(self, case: EvalCase) -> AgentDefinition | None:
        if not case.agent:
            return None
        if case.agent.endswith(ENDINGS):
            path = _beside(case, case.agent)
            try:
                with open(path, "rb") as file:
                    found = read_agent(path, file.read()).definition
            except OSError as problem:
                raise DefinitionError(f"the agent {path} cannot be read: {problem.strerror}.") from problem
        else:
            found = self._agents.find(case.agent).definition
        here = tuple(agent for agent in self._agents.definitions if agent.name != found.name)
        return replace(found, roster=(*found.roster, *here))

    def _tools(self, case: EvalCase) -> tuple[Tool | str, ...] | None:
        own = [tool for path in self._options.tools for tool in self._module(path)]
        if case.tools is None:
            return (*self._builtins, *own) if own else None
        found: list[Tool | str] = []
        for name in case.tools:
            found += self._module(_beside(case, name)) if name.endswith(".py") else [name]
        return (*found, *own)

    def _module(self, path: str) -> Sequence[Tool]:
        if path not in self._modules:
            self._modules[path] = self._load_tools(path)
        return self._modules[path]

    def _model(self, case: EvalCase) -> str:
        if self._options.replay_from:
            return ""  # its recording says which
        written = self._options.model or case.model or default_choice(self._loaded).written
        base = os.getcwd() if self._options.model or not case.model else os.path.dirname(case.origin)
        return self._found(written, base)

    def _found(self, written: str, base: str) -> str:
        """A model by name, with the whole path of a file that is played. Raises SettingsError."""
        asked = meant(self._loaded, written)
        if asked.provider not in FILES:
            return written
        path = os.path.abspath(os.path.join(base, os.path.expanduser(asked.model)))
        return f"{asked.provider}/{path}"

    def _judge(self, case: EvalCase, model: str) -> str:
        wanted = case.expected.judge
        if wanted is None or self._options.replay_from:
            return ""
        if self._options.judge_model:
            return self._found(self._options.judge_model, os.getcwd())
        if wanted.model:
            return self._found(wanted.model, os.path.dirname(case.origin))
        if model.split("/", maxsplit=1)[0] in FILES:
            raise SettingsError(f"{model} plays a file and cannot judge; name a model with --judge-model.")
        return model

    def _settings(self, case: EvalCase) -> Mapping[str, Any]:
        """What the case says, and the models that the project knows: what else holds there does not here."""
        known = self._loaded.settings.models.model_dump(mode="json", exclude_unset=True)
        own = case.settings.get("models", {})
        both = {**known, **own} if isinstance(own, Mapping) else own
        return {**case.settings, "models": both} if both else case.settings


def _schemas(case: EvalCase) -> Iterator[Mapping[str, Any]]:
    expected = case.expected
    if expected.schema is not None:
        yield expected.schema
    for call in (*expected.called, *expected.not_called):
        if call.input_schema is not None:
            yield call.input_schema


def _beside(case: EvalCase, path: str) -> str:
    return os.path.join(os.path.dirname(case.origin), os.path.expanduser(path))
