"""Find the files that are about something, by ranked words."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import anyio.to_thread

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Workspace
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Tool, Touch, Traits
from toolwright.contracts.view import View
from toolwright.tools.content_search import searched
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.file_views import counted
from toolwright.tools.services import Services
from toolwright.workspaces.finding import EXCLUDED
from toolwright.workspaces.names import printable
from toolwright.workspaces.ripgrep import find_ripgrep
from toolwright.workspaces.searching import FileHits, Search

MOST_WORDS = 16
MOST_READ = 300
MOST_BYTES = 512 * 1024
SNIPPETS = 3
_WORD = re.compile(r"[^\W_]+")
_SATURATION, _LENGTH = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class Scored:
    path: str
    score: float
    snippets: tuple[tuple[int, str], ...]


class FileSearch(ToolClass):
    spec = described(
        __file__,
        name="file_search",
        aliases=("FileSearch",),
        source="builtin",
        category="discovery",
        defer=True,
        result_limit=20_000,
        search_hint="search files by topic keywords ranked relevance",
    )

    def __init__(self, *, program: str | None) -> None:
        self._program = program

    def traits(self, input: Input) -> Traits:
        folder = Touch("path", input.get("path") or ".")
        return Traits(read_only=True, concurrency_safe=True, touches=(folder,))

    async def run(
        self,
        ctx: CallContext,
        *,
        query: Annotated[str, Field(min_length=2, max_length=1000)],
        path: str = ".",
        limit: Annotated[int, Field(ge=1, le=20)] = 10,
    ) -> list[dict[str, Any]]:
        words = query_words(query)
        if not words:
            raise ToolFailure("invalid_input", "The query holds no word.", hint="Give plain words.")
        search = Search(pattern="|".join(words), mode="count", ignore_case=True, excluded=EXCLUDED)
        found = await searched(ctx.workspace, ctx.workspace.absolute(path), search, program=self._program)
        best = await anyio.to_thread.run_sync(lambda: _ranked(ctx.workspace, found.files, words)[:limit])
        return [
            {
                "path": printable(file.path),
                "score": round(file.score, 3),
                "snippets": [{"line": line, "text": text} for line, text in file.snippets],
            }
            for file in best
        ]

    def view(self, call: CallState) -> View:
        activity = f"Searching {call.input.get('query', '')}"
        view = replace(generic_view(self.spec, call), activity=activity, folds=True)
        if not isinstance(call.outcome, Done):
            return view
        return replace(view, summary=counted(len(call.outcome.data), "file"))


def query_words(query: str) -> list[str]:
    """Return the telling words of a query, lower-case, each once."""
    words = dict.fromkeys(word.lower() for word in _WORD.findall(query))
    telling = [word for word in words if len(word) > 2] or list(words)
    return telling[:MOST_WORDS]


def score(counts: Counter[str], *, length: int, mean: float, rarity: Mapping[str, float]) -> float:
    """BM25 of one file for words of the given rarity."""
    norm = _SATURATION * (1 - _LENGTH + _LENGTH * length / max(mean, 1.0))
    return sum(
        rarity[word] * count * (_SATURATION + 1) / (count + norm) for word, count in counts.items() if count
    )


def _ranked(workspace: Workspace, files: Sequence[FileHits], words: list[str]) -> list[Scored]:
    likely = sorted(files, key=lambda file: (-file.count, file.path))[:MOST_READ]
    texts = {file.path: text for file in likely if (text := _text(workspace, file.path))}
    expression = re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))
    counts_of = {path: _counts(path, text, expression) for path, text in texts.items()}
    total = max(len(counts_of), 1)
    rarity = {}
    for word in words:
        holders = sum(1 for counts in counts_of.values() if counts[word])
        rarity[word] = math.log(1 + (total - holders + 0.5) / (holders + 0.5))
    mean = sum(len(text) for text in texts.values()) / total
    scored = [
        Scored(
            path,
            score(counts, length=len(texts[path]), mean=mean, rarity=rarity),
            _snippets(texts[path], expression, rarity),
        )
        for path, counts in counts_of.items()
    ]
    return sorted(scored, key=lambda file: (-file.score, file.path))


def _text(workspace: Workspace, path: str) -> str:
    try:
        with workspace.open(path) as file:
            return file.read(MOST_BYTES).decode("utf-8", "replace")
    except ToolFailure:
        return ""  # replaced since it was found: it cannot be shown


def _counts(path: str, text: str, expression: re.Pattern[str]) -> Counter[str]:
    counts = Counter(expression.findall(text.lower()))
    for word in expression.findall(path.lower()):
        counts[word] += 5  # a word in the name of a file says more than one in its text
    return counts


def _snippets(
    text: str, expression: re.Pattern[str], rarity: Mapping[str, float]
) -> tuple[tuple[int, str], ...]:
    scored = []
    for number, line in enumerate(text.splitlines(), 1):
        found = set(expression.findall(line.lower()))
        if found:
            scored.append((-sum(rarity[word] for word in found), number, line.strip()[:200]))
    best = sorted(scored)[:SNIPPETS]
    return tuple((number, line) for _, number, line in sorted(best, key=lambda item: item[1]))


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Build the tool."""
    return FileSearch(program=find_ripgrep())
