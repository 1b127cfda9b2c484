"""Searches answered from a script, for tests and demonstrations."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import SearchBackend, SearchHit, SearchQuery


class ScriptedSearch:
    """``SearchBackend`` that gives the next answer of a list and remembers what was asked.

    When the script is over, nothing is found any more.
    """

    name = "scripted"

    def __init__(self, answers: Iterable[Iterable[SearchHit] | ToolFailure] = ()) -> None:
        self._answers = list(answers)
        self.asked: list[SearchQuery] = []

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        self.asked.append(query)
        answer = self._answers.pop(0) if self._answers else ()
        if isinstance(answer, ToolFailure):
            raise answer
        return tuple(answer)[: query.limit]


if TYPE_CHECKING:

    def _conforms(backend: ScriptedSearch) -> SearchBackend:
        return backend
