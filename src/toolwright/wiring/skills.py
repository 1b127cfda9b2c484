"""The skills of a session: which there are, what taking one up does, and a model for those that ask one."""

import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from toolwright.catalog.skill_folders import (
    OWN_SCOPES,
    KnownSkills,
    SkillPlace,
    known_skills,
    read_skill_folder,
    usual_places,
)
from toolwright.catalog.skill_reading import READ
from toolwright.catalog.skill_texts import budget, listing, taken_up
from toolwright.contracts.content import TextBlock
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import RuleError, SettingsError, ToolFailure
from toolwright.contracts.events import PromptAnswered, SkillTakenUp
from toolwright.contracts.ids import new_id
from toolwright.contracts.messages import Message
from toolwright.contracts.models import Answer, ModelFault, ModelProvider, ModelRequest, Preamble
from toolwright.contracts.permissions import Rule
from toolwright.contracts.skills import Skill, TakenUp
from toolwright.contracts.tool import Offered
from toolwright.sessions.journal import Journal
from toolwright.settings import Loaded, user_folder
from toolwright.tool_calls.permissions.rules import parse_rule
from toolwright.tool_calls.permissions.subject import Policy
from toolwright.tools.untrusted import wrapped
from toolwright.turns.parts import Model, ModelLookup
from toolwright.turns.prompt import PromptSkills
from toolwright.workspaces.names import inside

if TYPE_CHECKING:
    from toolwright.contracts.ports import HelperModel
    from toolwright.contracts.skills import SkillShelf
    from toolwright.wiring.house import House

log = logging.getLogger(__name__)
READER: Final = "skill"
SEARCH: Final = "skill_search"
_MOST_STARTING_CHARS: Final = 20_000
"""Of the instructions of one skill that an agent starts with."""
_MOST_TOKENS: Final = 16_000
READ_WHOLE: Final = frozenset(READ)
"""Files that the tool for skills shows itself."""


# --- which there are ------------------------------------------------------------------------


def project_skills(
    loaded: Loaded, agent: AgentDefinition | None = None, given: Sequence[Skill] = ()
) -> KnownSkills:
    """Return the skills of a program, an agent, a project, its user and the package, nearest first.

    Blocking.
    """
    wanted = loaded.settings.skills
    if not wanted.enabled:
        return KnownSkills()
    usual = usual_places(loaded.project, user_folder(loaded.environ), loaded.home, trusted=loaded.trusted)
    of_agent = _places_of(agent, loaded) if agent is not None else ()
    known = known_skills((*of_agent, *usual), given)
    disabled = frozenset(wanted.disabled)
    return replace(known, skills=tuple(one for one in known.skills if one.skill.name not in disabled))


def _places_of(agent: AgentDefinition, loaded: Loaded) -> tuple[SkillPlace, ...]:
    """Return the folders that an agent names beside names of skills: those with a slash in them."""
    base = os.path.dirname(agent.origin) or loaded.project
    of_project = bool(agent.origin) and inside(base, loaded.project)
    trusted = loaded.trusted or not of_project
    return tuple(
        SkillPlace(
            "agent",
            os.path.normpath(os.path.join(base, os.path.expanduser(written))),
            beneath=loaded.project if of_project else "",
            trusted=trusted,
            alone=True,
        )
        for written in agent.skills
        if "/" in written
    )


def skills_given(given: Iterable["str | os.PathLike[str] | Skill"]) -> tuple[Skill, ...]:
    """Return the skills that a program brings: folders, or skills that it has. Blocking.

    Raises DefinitionError for a folder that holds none.
    """
    return tuple(
        one if isinstance(one, Skill) else replace(_in_folder(os.fspath(one)), scope="program")
        for one in given
    )


def task_of(loaded: Loaded, name: str, arguments: str) -> str:
    """Return what a person says who takes a skill up: its instructions, as words of their own. Blocking.

    Raises DefinitionError for a skill that there is not, SettingsError for one of a stranger.
    """
    skill = project_skills(loaded).find(name).skill
    if not skill.trusted:
        raise SettingsError(
            f"the skill {name!r} comes from a project that is not trusted, and what it says would stand as "
            "your words. Look at it (toolwright skills show), then trust the project (toolwright trust)."
        )
    return taken_up(skill, arguments)


def as_tools(given: Iterable["str | os.PathLike[str] | Skill"]) -> "SessionSkills":
    """Return skills that are tools, each of them. Blocking. May raise DefinitionError."""
    skills = [replace(skill, exposed=True) for skill in skills_given(given)]
    return SessionSkills(known_skills((), skills))


def _in_folder(folder: str) -> Skill:
    return read_skill_folder(os.path.abspath(os.path.expanduser(folder))).skill


def shown_folders(skills: Iterable[Skill]) -> tuple[str, ...]:
    """Return the folders that tools for files have to see, so that what skills speak of can be read."""
    folders = (
        os.path.dirname(skill.folder)
        for skill in skills
        if skill.folder and skill.scope in OWN_SCOPES and not READ_WHOLE.issuperset(skill.files)
    )
    return tuple(sorted(set(folders)))


def starting_skills(known: KnownSkills, agent: AgentDefinition) -> tuple[Skill, ...]:
    """Return the skills that an agent starts with; what there is not is told in the log."""
    by_name = {os.path.basename(skill.folder): skill for skill in known.all if skill.folder}
    by_name |= {skill.name: skill for skill in known.all}
    found: dict[str, Skill] = {}
    for written in agent.skills:
        skill = by_name.get(os.path.basename(written.rstrip("/")))
        if skill is None:
            log.warning("agent %s starts with the skill %r, which is not there", agent.name, written)
        else:
            found[skill.name] = skill
    return tuple(found.values())


# --- those of one session -------------------------------------------------------------------


@dataclass(slots=True)
class SessionSkills:
    """Implements ``SkillShelf``. Without a journal there is no conversation, and nothing is permitted."""

    known: KnownSkills
    journal: Journal | None = None
    _house: "House | None" = None
    _by_name: Mapping[str, Skill] = field(init=False)

    def __post_init__(self) -> None:
        self._by_name = {skill.name: skill for skill in self.known.all}

    def open(self, house: "House") -> None:
        """Say where its rules come into force, and bring back those that the log knows."""
        self._house = house
        self.follow()

    def listed(self) -> Sequence[Skill]:
        return [skill for skill in self.known.all if skill.for_models]

    def find(self, name: str) -> Skill | None:
        return self._by_name.get(name)

    def is_taken_up(self, skill: Skill, arguments: str) -> bool:
        return self.journal is not None and (skill.digest, arguments) in self.journal.state.skills_in_sight

    def take_up(self, skill: Skill, arguments: str, *, call_id: str) -> TakenUp:
        if self.journal is None or self._house is None:
            note = "Its permissions count in a session only." if skill.allowed_tools else ""
            return TakenUp(notes=(note,) if note else ())
        rules, notes = self._counting(skill)
        self.journal.record(
            SkillTakenUp(
                call_id=call_id, name=skill.name, digest=skill.digest, arguments=arguments, rules=rules
            )
        )
        self.follow()
        return TakenUp(rules, notes)

    def follow(self) -> None:
        """Let those rules of skills count that the log says, and no others."""
        if self.journal is None or self._house is None:
            return
        house, policy = self._house, self._house.in_force.policy
        after = self.ruled(policy)
        if after.rules != policy.rules:
            house.in_force.change(after)

    def ruled(self, policy: Policy) -> Policy:
        """Return a policy with the rules of skills that count now, cut to what the session may have."""
        written = self.journal.state.skill_rules if self.journal is not None else ()
        plain = without_rules_of_skills(policy)
        if self._house is None or not written:
            return plain
        rules = tuple(rule for text in written if (rule := self._rule(text)) is not None)
        after = replace(plain, rules=replace(plain.rules, allow=(*plain.rules.allow, *rules)))
        return self._house.ceiling(after)

    def _counting(self, skill: Skill) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the rules of a skill that count, and what is to be said of the others."""
        assert self._house is not None
        if self._house.loaded.settings.permissions.managed_rules_only and skill.allowed_tools:
            return (), ("Its permissions do not count: only those of the administrator do here.",)
        if self._house.ceiling.policy is not None and skill.allowed_tools:
            return (), ("Its permissions do not count: you may do no more than the agent that started you.",)
        rules, notes = [], []
        for text in skill.allowed_tools:
            if self._rule(text) is None:
                notes.append(f"Its permission {text!r} cannot be read and does not count.")
            else:
                rules.append(text)
        return tuple(rules), tuple(notes)

    def _rule(self, text: str) -> Rule | None:
        assert self._house is not None
        house = self._house
        try:
            return parse_rule(
                text, behavior="allow", source="skill", names=house.ground.names, base=house.loaded.project
            )
        except RuleError as problem:
            log.warning("a rule of a skill does not count: %s", problem)
            return None

    def prompt(self, offered: Offered, agent: AgentDefinition, window: int) -> PromptSkills:
        """Return what the system prompt says of skills."""
        names = {tool.tool.spec.name: tool.name for tool in offered.tools}
        listed = self.listed() if READER in names else []
        text = listing(listed, budget(window), search=names.get(SEARCH, "")) if listed else ""
        starting = tuple(_starting(skill) for skill in starting_skills(self.known, agent))
        return PromptSkills(listing=text, reader=names.get(READER, ""), starting=starting)


def without_rules_of_skills(policy: Policy) -> Policy:
    """Return a policy without what skills permit; the same one where they permit nothing."""
    kept = tuple(rule for rule in policy.rules.allow if rule.source != "skill")
    if len(kept) == len(policy.rules.allow):
        return policy
    return replace(policy, rules=replace(policy.rules, allow=kept))


def _starting(skill: Skill) -> tuple[str, str]:
    text = skill.instructions[:_MOST_STARTING_CHARS]
    if len(skill.instructions) > len(text):
        text += f"\n\n[The first {len(text):,} of {len(skill.instructions):,} characters.]"
    return skill.name, text if skill.trusted else wrapped(text, f"skill {skill.name}")


# --- a model for prompts --------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class PromptAsker:
    """Implements ``HelperModel``: one question without tools, whose cost counts for the session."""

    lookup: ModelLookup
    model: Callable[[], str]
    """The model that settings name for small jobs, else the session's own."""
    record: Callable[[PromptAnswered], None] | None = None
    used_up: Callable[[], str] = lambda: ""
    """Why nothing more may be used; empty while it may. Told once the limits are known."""

    async def answer(self, purpose: str, prompt: str) -> str:
        refused = self.used_up()
        if refused:
            raise ToolFailure("budget_exhausted", refused)
        answer = await self._asked(prompt, purpose)
        if answer.stop == "refusal":
            raise ToolFailure("command_failed", "The model refused to answer.")
        if not answer.text.strip():
            raise ToolFailure("command_failed", "The model answered nothing.", retryable=True)
        cut = "\n\n[The answer was cut: it reached the longest that the model may write.]"
        return answer.text + (cut if answer.stop == "max_tokens" else "")

    async def _asked(self, prompt: str, purpose: str) -> Answer:
        try:
            model = self.lookup(self.model())
            request = ModelRequest(
                model=model.name,
                preamble=Preamble((), (), new_id("prompt")),
                messages=[Message("user", (TextBlock(prompt),))],
                max_tokens=min(model.profile.max_output, _MOST_TOKENS),
                session_id=new_id("prompt"),
            )
            async with model.provider.stream(request) as events:
                answers = [event async for event in events if isinstance(event, Answer)]
        except SettingsError as problem:
            raise ToolFailure("tool_unavailable", f"No model can be asked: {problem}") from problem
        except ModelFault as fault:
            raise ToolFailure(
                "network_error",
                f"The model could not be asked: {fault}",
                retryable=fault.may_heal,
                retry_after=fault.retry_after,
            ) from fault
        answer, prices = answers[-1], model.profile.prices
        if self.record is not None:
            cost = prices.cost(answer.usage) if prices is not None else 0.0
            name = answer.model or model.written
            self.record(PromptAnswered(purpose=purpose, model=name, usage=answer.usage, cost=cost))
        return answer


class LoneAsker:
    """Implements ``HelperModel`` where there is no session: the model that settings name, made when asked."""

    def __init__(self, loaded: Loaded, model: ModelProvider | str = "") -> None:
        self._loaded = loaded
        self._model = model
        self._close: Callable[[], Awaitable[None]] | None = None
        self._asker: PromptAsker | None = None

    async def answer(self, purpose: str, prompt: str) -> str:
        if self._asker is None:
            self._asker = self._made()
        return await self._asker.answer(purpose, prompt)

    def _made(self) -> PromptAsker:
        given = self._model
        if not isinstance(given, str):
            only = Model(given, given.name, given.name)
            return PromptAsker(lookup=lambda _: only, model=lambda: given.name)
        from toolwright.wiring.models import Providers

        try:
            providers = Providers(self._loaded)
        except SettingsError as problem:
            raise ToolFailure("tool_unavailable", f"No model can be asked: {problem}") from problem
        self._close = providers.close
        chosen = given or self._loaded.settings.light_model or providers.default
        return PromptAsker(lookup=providers.lookup, model=lambda: chosen)

    async def close(self) -> None:
        """Let go of connections. Safe to repeat."""
        close, self._close, self._asker = self._close, None, None
        if close is not None:
            await close()


if TYPE_CHECKING:

    def _lone(asker: LoneAsker) -> HelperModel:
        return asker

    def _shelf(skills: SessionSkills) -> SkillShelf:
        return skills

    def _helper(asker: PromptAsker) -> HelperModel:
        return asker
