"""What commands of a conversation show: as nodes, from what is known."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from toolwright.contracts.permissions import Mode, Rule
from toolwright.contracts.storage import SessionCard
from toolwright.contracts.tool import Offered
from toolwright.contracts.view import KeyValue, Line, Node, Stack, Text
from toolwright.surfaces.chat.fitting import fitted, side_by_side, wrapped
from toolwright.surfaces.chat.picking import Row
from toolwright.surfaces.chat.slash import COMMANDS
from toolwright.surfaces.cli.completing import short_ids
from toolwright.surfaces.cli.session_lists import ago, counted, dollars, status_of
from toolwright.surfaces.cli.session_options import short_id
from toolwright.surfaces.rendering.safety import EVERYDAY

if TYPE_CHECKING:
    from toolwright.sessions.state import Child, SessionState
    from toolwright.settings import Loaded
    from toolwright.surfaces.engine import Engine
    from toolwright.turns.parts import TurnParts

MODES: Mapping[Mode, str] = {
    "default": "ask about what no rule allows",
    "acceptEdits": "edit files without asking",
    "plan": "look and plan, change nothing",
    "dontAsk": "refuse what would be asked",
    "bypassPermissions": "ask about nothing that no rule denies",
}
_KEYS: Sequence[tuple[str, str]] = (
    ("Enter", "send; while it works, into the queue"),
    ("Alt-Enter, Ctrl-J, \\ Enter", "a new line"),
    ("@path", "hand over a file"),
    ("↑ ↓, Ctrl-R", "what was typed before; ↑ takes back what is queued"),
    ("Tab", "complete; or turn to a question"),
    ("Shift-Tab", "next mode: default, acceptEdits, plan"),
    ("Ctrl-C, Esc", "interrupt; Ctrl-C twice leaves when nothing works"),
    ("Ctrl-D", "leave"),
    ("Ctrl-O", "show the last call in full"),
    ("Ctrl-L", "draw everything anew"),
    ("Ctrl-X Ctrl-E", "write in your editor"),
)
_NARROW = 64
_MOST_SESSIONS = 1_000
WHICH_SESSION = "Go on with which session?"


def help_node(width: int) -> Node:
    """Return what can be typed."""
    commands = [(f"/{one.name} {one.takes}".rstrip(), one.about) for one in COMMANDS]
    return Stack((
        Text("Commands", "bold"),
        *_rows(commands, width),
        Text(""),
        Text("Keys", "bold"),
        *_rows(_KEYS, width),
    ))  # fmt: skip


def _rows(pairs: Sequence[tuple[str, str]], width: int) -> Iterable[Node]:
    """Two columns, or one below the other where two have no room."""
    first = max(cell_len(left) for left, _ in pairs) + 2
    for left, right in pairs:
        if width < _NARROW:
            yield Text(f"  {left}", "accent")
            yield from (Text(f"    {line}", "dim") for line in wrapped(right, width - 4))
        else:
            blank = " " * (first - cell_len(left))
            yield Line((Text(f"  {left}{blank}", "accent"), Text(right)))


def models(loaded: "Loaded", *, present: str) -> list[tuple[str, str]]:
    """Return models that can be asked here as far as one can tell without asking, each with why."""
    from toolwright.wiring.models import DEFAULTS, default_choice, missing_key

    found = {present: "asked now"} if present else {}
    usual = default_choice(loaded)
    if usual.written:
        found.setdefault(usual.written, usual.because)
    for provider, settings in loaded.settings.models.providers.items():
        for name in settings.models:
            found.setdefault(f"{provider}/{name}", "from your settings")
    for provider, name in DEFAULTS.items():
        missing = missing_key(loaded, f"{provider}/{name}")
        found.setdefault(f"{provider}/{name}", f"needs {missing}" if missing else "")
    return list(found.items())


def permissions(parts: "TurnParts") -> Node:
    """Return the mode and the rules in force."""
    policy = parts.pipeline.parts.in_force.policy
    rows: list[tuple[str, Node]] = [("mode", Text(f"{policy.mode}: {MODES.get(policy.mode, '')}"))]
    rows += [("works in", Text("\n".join(policy.roots)))]
    for behavior, rules in (
        ("deny", policy.rules.deny),
        ("ask", policy.rules.ask),
        ("allow", policy.rules.allow),
    ):
        rows.append((behavior, Stack(tuple(map(_rule, rules))) if rules else Text("no rule", "dim")))
    return KeyValue(tuple(rows))


def _rule(rule: Rule) -> Node:
    return Line((Text(rule.written), Text(f"  ({rule.source})", "dim")))


def tools(offered: Offered, width: int) -> Node:
    """Return what the model may call."""
    shown = sorted((tool.name, _first_sentence(tool.description)) for tool in offered.tools if tool.loaded)
    found_later = sorted(tool.name for tool in offered.tools if not tool.loaded)
    lines = list(_table([(name, about, "") for name, about in shown], width))
    if found_later:
        lines.append(Text(f"found by searching: {', '.join(found_later)}", "dim"))
    return Stack(tuple(lines)) if lines else Text("no tool is offered.", "dim")


def _table(rows: Sequence[tuple[str, str, str]], width: int) -> Iterable[Node]:
    """Names, what they are, and facts at the end of the line; each on one line."""
    first = max((cell_len(name) for name, _, _ in rows), default=0) + 2
    for name, about, facts in rows:
        room = max(width - first, 1)
        line = (
            side_by_side(EVERYDAY.line(about), facts, room) if facts else fitted(EVERYDAY.line(about), room)
        )
        yield Line((Text(name + " " * (first - cell_len(name)), "accent"), Text(line, "dim")))


def _first_sentence(text: str) -> str:
    line = text.strip().split("\n", 1)[0]
    return line.split(". ", 1)[0].rstrip(".")


def agents(loaded: "Loaded", state: "SessionState", width: int) -> Node:
    """Return the agents there are, and the children of the session."""
    here = state.created.agent.name
    known = [(name, about, "works here" if name == here else "") for name, about in agent_words(loaded)]
    lines = list(_table(known, width))
    if state.children:
        rows = [_child(child_id, child) for child_id, child in state.children.items()]
        lines += [Text("Children of this session", "bold"), *_table(rows, width)]
    return Stack(tuple(lines))


def _child(child_id: str, child: "Child") -> tuple[str, str, str]:
    started, ended = child.started, child.ended
    return (
        short_id(child_id),
        f"{started.name or started.agent}: {started.description}",
        (ended.end if ended is not None else "at work"),
    )


def agent_words(loaded: "Loaded") -> list[tuple[str, str]]:
    """Return the names of agents, each with its description."""
    from toolwright.wiring.agents import project_agents

    known = project_agents(loaded).agents
    return [(one.definition.name, _first_sentence(one.definition.description)) for one in known]


def skills(loaded: "Loaded") -> list[tuple[str, str]]:
    """Return the names of skills that a person can take up, each with its description. Blocking."""
    from toolwright.wiring.skills import project_skills

    return [
        (skill.name, _first_sentence(skill.description))
        for skill in project_skills(loaded).all
        if skill.trusted and skill.form == "SKILL.md"
    ]


def usage(state: "SessionState", *, window: int) -> Node:
    """Return what the session has used, its children included."""
    talk = state.conversation
    total, used = talk.total, talk.total.usage
    filled = counted(talk.context_tokens) or "0"
    share = f"{filled} of {counted(window)} tokens ({talk.context_tokens / window:.0%})" if window else filled
    rows = [
        ("window", share),
        ("asked", f"{total.rounds} times, {total.calls} calls, {total.seconds:.0f} s at work"),
        ("tokens in", f"{used.input_tokens:,} new, {used.cache_read_tokens:,} from the cache"),
        ("tokens out", f"{used.output_tokens:,}"),
        ("cost", dollars(total.cost) or "no price is known"),
        ("summaries", str(talk.compactions)),
    ]
    return KeyValue(tuple((name, Text(value)) for name, value in rows))


async def session_rows(engine: "Engine", *, without: str = "") -> tuple[Row, ...]:
    """Return the sessions of a folder to which something was said, the last used first."""
    store = engine.works.store
    cards = await engine.sessions(limit=_MOST_SESSIONS)
    meant = [card for card in cards if card.title and card.session_id != without]
    short = short_ids([card.session_id for card in cards])
    return tuple([_row(short[card.session_id], card, await status_of(store, card)) for card in meant])


def _row(key: str, card: SessionCard, stands: str) -> Row:
    facts = ("" if stands == "idle" else stands, f"{card.head} entries", ago(time.time() - card.updated_at))
    return Row(key, card.title, tuple(filter(None, facts)))


def sessions(rows: Sequence[Row], width: int) -> Node:
    """Return a list of sessions."""
    if not rows:
        return Text("there is no other session in this folder.", "dim")
    lines = _table([(row.key, row.title, " · ".join(row.facts)) for row in rows], width)
    return Stack((*lines, Text("/resume goes on with one of them.", "dim")))
