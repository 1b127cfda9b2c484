"""Whether anything is lost, changed or done twice once all killing is over."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.endurance.promises import CallStory, broken, stories
from tests.endurance.said import Said
from tests.endurance.worker import DATABASE, EFFECTS

from toolwright.backends.storage.sqlite import SqliteEvents
from toolwright.contracts.events import CallEnded, InputAccepted, Record
from toolwright.sessions.codec import decoded
from toolwright.sessions.state import folded

FAULTS = (
    "lost", "duplicated", "changed", "run twice", "run unasked", "without one result", "wrongly told",
    "stuck",
)  # fmt: skip
_ONCE = frozenset({"post", "spend"})
"""The tools that must not run twice."""
Heads = Mapping[str, tuple[int, bytes]]
"""Where each log ends; the hash stands for every byte before it."""


@dataclass(slots=True)
class Figures:
    """What came of it. All ``faults`` must be nought, and ``problems`` empty."""

    kills: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(FAULTS, 0)))
    problems: list[str] = field(default_factory=list)
    numbers: Counter[str] = field(default_factory=Counter)

    @property
    def is_clean(self) -> bool:
        """Whether every promise was kept."""
        return not self.problems and not any(self.faults.values())

    def __str__(self) -> str:
        kills = ", ".join(f"{moment} {count}" for moment, count in sorted(self.kills.items()))
        lines = [f"{sum(self.kills.values())} kills: {kills}"]
        lines += [f"{count:7,} {name}" for name, count in [*self.numbers.items(), *self.faults.items()]]
        return "\n".join([*lines, *self.problems])


@dataclass(frozen=True, slots=True)
class _Effect:
    """A line that a tool wrote: it was at work."""

    tool: str
    session_id: str
    call_id: str
    key: str


async def heads(database: Path) -> Heads:
    """Return where each log ends now."""
    found: dict[str, tuple[int, bytes]] = {}
    async with SqliteEvents(str(database)) as store:
        for card in await store.cards(limit=1_000):
            last = (await store.read(card.session_id, after=card.head - 1))[-1]
            found[card.session_id] = (last.seq, last.hash)
    return found


async def judged(folder: Path, said: Said, earlier: Sequence[Heads], figures: Figures) -> None:
    """Judge every log, with what workers acknowledged, what tools did and where logs ended before."""
    effects = [_Effect(*line.split()) for line in (folder / EFFECTS).read_text().splitlines()]
    figures.numbers.update({"inputs acknowledged": len(said.sent), "answers acknowledged": len(said.told)})
    figures.numbers["effects"] += len(effects)
    async with SqliteEvents(str(folder / DATABASE)) as store:
        cards = await store.cards(limit=1_000)
        figures.faults["lost"] += len(set(said.sent.values()) - {card.session_id for card in cards})
        for card in cards:
            session_id = card.session_id
            entries = await store.read(session_id)
            hashes = {entry.seq: entry.hash for entry in entries}
            known = [at[session_id] for at in earlier if session_id in at]
            figures.faults["changed"] += sum(hashes.get(seq) != hash for seq, hash in known)
            figures.faults["changed"] += await store.verify(session_id) is not None
            records = [decoded(session_id, entry, views=False) for entry in entries]
            _count(records, said, [effect for effect in effects if effect.session_id == session_id], figures)
            figures.problems += [f"{session_id}: {problem}" for problem in broken(records)]


def _count(records: Sequence[Record], said: Said, effects: Sequence[_Effect], figures: Figures) -> None:
    faults, numbers = figures.faults, figures.numbers
    accepted = Counter(r.event.input_id for r in records if isinstance(r.event, InputAccepted))
    session_id = records[0].session_id
    faults["lost"] += sum(name not in accepted for name, where in said.sent.items() if where == session_id)
    faults["duplicated"] += sum(times - 1 for times in accepted.values())
    done = Counter((effect.tool, effect.call_id) for effect in effects)
    again = sum((Counter({tool: times - 1}) for (tool, _), times in done.items()), Counter[str]())
    faults["run twice"] += sum(times for tool, times in again.items() if tool in _ONCE)
    numbers["repeatable calls run again"] += sum(times for tool, times in again.items() if tool not in _ONCE)
    known = stories(records)
    faults["lost"] += len({call_id for tool, call_id in done if tool in _ONCE} - known.keys())
    told = {name: word for (where, name), word in said.told.items() if where == session_id}
    for story in known.values():
        _count_call(story, done[story.block.name, story.block.call_id], told, figures)
    state = folded(records)
    end = state.last_end.end if state.last_end is not None else "done"
    faults["stuck"] += state.status != "idle" or state.conversation.owes_answer or end != "done"
    numbers["sessions"] += 1
    numbers["events"] += len(records)


def _count_call(story: CallStory, times: int, told: Mapping[str, str], figures: Figures) -> None:
    faults, numbers = figures.faults, figures.numbers
    numbers["calls"] += 1
    faults["without one result"] += len(story.ended) != 1
    allowed = any(a.answer is not None and a.answer.behavior == "allow" for a in story.answered)
    faults["run unasked"] += story.block.name == "spend" and times > 0 and not allowed
    wrong = [problem for ended in story.ended[:1] for problem in _wrong(ended, times)]
    wrong += list(_wrong_answers(story, told))
    faults["wrongly told"] += len(wrong)
    figures.problems += [f"call {story.block.call_id} of {story.block.name}: {problem}" for problem in wrong]
    for ended in story.ended[:1]:
        numbers["calls denied"] += ended.state == "denied"
        numbers["calls whose outcome is unknown"] += ended.state == "interrupted"


def _wrong(ended: CallEnded, times: int) -> Iterator[str]:
    """What the model reads must agree with what happened."""
    runs_here = ended.tool != "weigh"
    if ended.state == "done" and runs_here and times == 0:
        yield "it is said to be done, and nothing happened"
    if ended.state == "denied" and (times or ended.tool != "spend"):
        yield f"it is said to be denied, and ran {times} times"
    if ended.state == "failed":
        yield f"it is said to have failed: {ended.content}"
    if ended.state == "interrupted" and ended.tool not in _ONCE:
        yield "what may be repeated was not run again"


def _wrong_answers(story: CallStory, told: Mapping[str, str]) -> Iterator[str]:
    """The answer in the log must be the one of which a person was told that it counts."""
    for answered in story.answered:
        name, word = answered.call_id, str(answered.content)
        if answered.answer is not None:
            name, word = answered.answer.request_id, str(answered.answer.behavior)
        elif any(ended.content != word for ended in story.ended):
            yield f"{word} was delivered, and the model reads {story.ended[0].content}"
        if told.get(name, word) != word:
            yield f"{told[name]} was acknowledged, and {word} is in the log"
    asked = {story.block.call_id} | {w.request.request_id for w in story.waited if w.request is not None}
    answers = {a.answer.request_id if a.answer is not None else a.call_id for a in story.answered}
    yield from (f"the answer to {name} is lost" for name in (asked & told.keys()) - answers)
