"""Questions to people: listed, and answered."""

from collections.abc import AsyncIterator
from typing import Any, Final

from pydantic import Field

from toolwright.contracts.content import Content, TextBlock
from toolwright.contracts.errors import NotPossible
from toolwright.contracts.events import CallWaiting
from toolwright.contracts.permissions import ApprovalRequest
from toolwright.surfaces.http.engine.channels import Channel
from toolwright.surfaces.http.engine.content import MOST_BODY, said
from toolwright.surfaces.http.engine.desk import Desk
from toolwright.surfaces.http.engine.dialect import Asked, body
from toolwright.surfaces.http.engine.tasks import LABEL, Task
from toolwright.surfaces.http.engine.telling import request_id
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.routes import Route, Visit

_MOST: Final = 10_000
_YES: Final = frozenset({"yes", "y", "true", "allow", "approve"})
_REFUSED: Final = "The user did not permit this call."


class Response(Asked):
    """The answer of a person."""

    task_id: str
    answer: str
    feedback: str | None = None
    content_blocks: list[Any] = Field(default_factory=list)
    request_id: str | None = None


async def pending(visit: Visit) -> dict[str, Any]:
    """List the questions that wait for an answer, of all tasks."""
    desk = visit.house.part(Desk)
    found: list[dict[str, Any]] = []
    async for task in _waiting_tasks(visit, desk):
        async with desk.channels.of(task) as channel:
            telling = channel.telling
            if telling is not None and telling.question is not None:
                found.append({**telling.asked(telling.question), "task_id": task.task_id})
    found.sort(key=lambda one: one["created_at"])
    return {"pending": found}


async def _waiting_tasks(visit: Visit, desk: Desk) -> AsyncIterator[Task]:
    for status in ("waiting", "running"):
        for card in await visit.house.works.store.cards(status=status, limit=_MOST):
            created = (await visit.house.works.sessions.state(card.session_id)).created
            task_id = created.labels.get(LABEL)
            if task_id is None or created.workspace != visit.workspace:
                continue
            task = await desk.tasks.get(visit.workspace, task_id)
            if task is not None and task.session_id == card.session_id:
                yield task


async def respond(visit: Visit) -> dict[str, Any]:
    """Answer a question; the turn goes on."""
    asked = await body(visit, Response, most=MOST_BODY)
    blocks = said("", asked.content_blocks, where="content_blocks")
    desk = visit.house.part(Desk)
    task = await desk.task(visit.workspace, asked.task_id)
    async with desk.channels.of(task) as channel:
        question = _question(channel, asked)
    request = question.request
    if request is not None:
        taken = await _permitted(visit, task, request, asked, blocks)
    else:
        taken = await _answered(visit, task, question, asked, blocks)
    if not taken:
        raise _nothing(asked.task_id)
    return {"status": "resumed", "request_id": request_id(question)}


def _question(channel: Channel, asked: Response) -> CallWaiting:
    telling = channel.telling
    question = telling.question if telling is not None else None
    if question is None or asked.request_id not in {None, request_id(question)}:
        raise _nothing(asked.task_id)
    return question


async def _permitted(
    visit: Visit, task: Task, request: ApprovalRequest, asked: Response, blocks: Content
) -> bool:
    sessions, feedback = visit.house.works.sessions, (asked.feedback or "").strip()
    is_yes = asked.answer.strip().lower() in _YES
    refusal = f"{_REFUSED} They say: {feedback}" if feedback else _REFUSED
    try:
        taken = await sessions.answer(
            task.session_id, request.allowed() if is_yes else request.denied(refusal)
        )
    except NotPossible:
        return False
    more = _remark(feedback if is_yes else "", blocks)
    if taken and more:
        await sessions.send(task.session_id, more)
    return taken


async def _answered(
    visit: Visit, task: Task, question: CallWaiting, asked: Response, blocks: Content
) -> bool:
    text = f"{asked.answer}\n\n{asked.feedback}" if asked.feedback else asked.answer
    content: Content = text if isinstance(blocks, str) else (TextBlock(text), *blocks)
    try:
        return await visit.house.works.sessions.deliver(task.session_id, question.call_id, content)
    except NotPossible:
        return False


def _remark(feedback: str, blocks: Content) -> Content:
    """What a person adds to a yes: the agent reads it once the call is done."""
    words = f"A remark on the call that was just permitted: {feedback}" if feedback else ""
    if isinstance(blocks, str):
        return words
    return (*((TextBlock(words),) if words else ()), *blocks)


def _nothing(task_id: str) -> Problem:
    text = f"Nothing of the task {task_id[:80]!r} waits for this answer."
    return Problem("not_found", text, code="HITL_NOT_PENDING")


ROUTES: Final = (
    Route(
        method="GET", path="/hitl/pending", handler=pending, summary="List open questions", group="hitl",
    ),
    Route(
        method="POST", path="/hitl/respond", handler=respond, summary="Answer a question", group="hitl",
        body=Response, scope="write", most=MOST_BODY,
    ),
)  # fmt: skip
