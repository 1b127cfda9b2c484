"""A process that is made to be killed: a real engine with twenty conversations, going on where they stand.

Run as ``python worker.py FOLDER --sessions N --inputs K``. It says on standard output what has happened, one
line each; ``said.py`` reads them. ``at MOMENT`` is for whoever wants to kill it there; with
``--die MOMENT:N`` it kills itself when that moment comes for the Nth time.
"""

import argparse
import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import Awaitable, Sequence
from contextlib import aclosing
from functools import partial
from random import Random
from typing import Any

from toolwright import ClientTool, tool
from toolwright.backends.model_providers.scripted import Item
from toolwright.backends.storage.sqlite import SqliteEvents
from toolwright.backends.storage.sqlite.connecting import connected
from toolwright.contracts.events import CallWaiting, LiveDelta
from toolwright.contracts.messages import Message
from toolwright.contracts.models import ModelRequest
from toolwright.contracts.storage import Entry, SessionCard
from toolwright.contracts.tool import CallContext, Tool
from toolwright.surfaces.engine import Engine, Session
from toolwright.testing import ScriptedModel, call

DATABASE = "sessions.db"
EFFECTS = "effects"
TURNS = 3
"""Turns with calls for each input; the answer after them is plain text."""
_TYPE = b'"type":"'
_chance = Random()


def say(*words: object) -> None:
    """Say in one write what happened, so that no line is cut by a kill."""
    os.write(sys.stdout.fileno(), (" ".join(map(str, words)) + "\n").encode())


class _Moments:
    """The moments that have come, and the one at which this process is to die."""

    def __init__(self) -> None:
        self.last = ""
        self.left = 0

    def die_at(self, words: str) -> None:
        self.last, _, times = words.partition(":")
        self.left = int(times)

    def come(self, moment: str) -> None:
        say("at", moment)
        if moment == self.last:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


moments = _Moments()
at = moments.come


class Talking(sqlite3.Connection):
    """A connection that says when it commits."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if sql != "COMMIT":
            return super().execute(sql, parameters)
        at("committing")
        done = super().execute(sql)
        at("committed")
        return done


class Told(SqliteEvents):
    """A store that says which events are on their way to it."""

    def append(
        self, session_id: str, entries: Sequence[Entry], *, epoch: int, card: SessionCard | None = None
    ) -> Awaitable[None]:
        for entry in entries:
            _, _, rest = entry.data.partition(_TYPE)
            at(rest.partition(b'"')[0].decode())
        return super().append(session_id, entries, epoch=epoch, card=card)


# --- the tools -------------------------------------------------------------------------------------


async def _worked(effects: int, kind: str, ctx: CallContext) -> str:
    await asyncio.sleep(_chance.uniform(0, 0.02))
    at("before_effect")
    os.write(effects, f"{kind} {ctx.session_id} {ctx.call_id} {ctx.idempotency_key}\n".encode())
    os.fsync(effects)
    at("after_effect")
    await asyncio.sleep(_chance.uniform(0, 0.02))
    return f"{kind} of {ctx.call_id} is done"


def tools(folder: str) -> list[Tool]:
    """Return tools that must not run twice, that may, that change nothing, that ask, and the client's own."""
    effects = os.open(os.path.join(folder, EFFECTS), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    @tool(concurrency_safe=True, touches=())
    async def post(ctx: CallContext) -> str:
        """Write one line."""
        return await _worked(effects, "post", ctx)

    @tool(concurrency_safe=True, touches=(), idempotent=True)
    async def put(ctx: CallContext) -> str:
        """Write one line that may stand there twice."""
        return await _worked(effects, "put", ctx)

    @tool(read_only=True, concurrency_safe=True)
    async def look(ctx: CallContext) -> str:
        """Look at what is there."""
        return await _worked(effects, "look", ctx)

    @tool(concurrency_safe=True, touches=())
    async def spend(ctx: CallContext) -> str:
        """Write one line, once a person has allowed it."""
        return await _worked(effects, "spend", ctx)

    weigh = ClientTool("weigh", "Weigh a thing on the client's scales.", {"type": "object"})
    return [post, put, look, spend, weigh]


# --- the model -------------------------------------------------------------------------------------


def next_answer(request: ModelRequest) -> Item:
    """Answer a conversation according to where it stands, whoever asked before."""
    turns = 0
    for message in reversed(request.messages):
        if _is_input(message):
            break
        turns += message.role == "assistant"
    if turns >= TURNS:
        return "All of it is done."
    three = (call("look"), call("post"), call("post"), call("post"), call("put"))
    others = (call("spend"), call("weigh"), call("spend")) if turns == 1 else ()
    return ["Three at once.", *three, *others]


def _is_input(message: Message) -> bool:
    return message.role == "user" and not any(block.type == "result" for block in message.blocks)


async def _streaming(seconds: float) -> None:
    at("streaming")
    await asyncio.sleep(seconds)


# --- the people ------------------------------------------------------------------------------------


class Person:
    """Answers every question of a session, some at once and some late, some once and some twice."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen: set[str] = set()

    async def follow(self) -> None:
        """Answer what is open, then what comes, for as long as this process lives."""
        state = await self._session.state()
        async with asyncio.TaskGroup() as answering:
            block = state.conversation.block
            for question in block.questions if block is not None else ():
                answering.create_task(self._answer(question))
            async with aclosing(self._session.stream(after=state.head, until_quiet=False)) as records:
                async for record in records:
                    if isinstance(record.event, CallWaiting) and not isinstance(record.event, LiveDelta):
                        answering.create_task(self._answer(record.event))

    async def _answer(self, question: CallWaiting) -> None:
        name = question.request.request_id if question.request is not None else question.call_id
        if name in self._seen or (question.kind == "permission" and question.request is None):
            return
        self._seen.add(name)
        await asyncio.sleep(_chance.choice((0.0, 0.01, 0.1)))
        at("answering")
        await self._say(question)
        at("answered")
        if _chance.random() < 0.3 and await self._say(question):
            say("twice", self._session.id, name)

    async def _say(self, question: CallWaiting) -> bool:
        """Give some answer. Only what was acknowledged as the first is said."""
        if question.request is not None:
            allow, name = _chance.random() < 0.7, question.request.request_id
            word = "allow" if allow else "deny"
            counts = await self._session.answer(question.request, allow=allow, message="Not today.")
        else:
            word, name = f"{_chance.randrange(10**9)}g", question.call_id
            counts = await self._session.deliver(question.call_id, word)
        if counts:
            say("told", self._session.id, name, word)
        return counts


async def converse(engine: Engine, known: dict[str, str], name: str, inputs: int) -> None:
    """Say everything to one session that it has not answered yet."""
    session = await engine.open(known[name]) if name in known else await engine.session(title=name)
    person = asyncio.create_task(Person(session).follow())
    for number in range(await _answered(session), inputs):
        input_id = f"{name}-{number}"
        await session.send(f"Do part {number}.", input_id=input_id)
        say("sent", session.id, input_id)
        await _through(session, person)
    person.cancel()
    await asyncio.wait([person])


async def _through(session: Session, person: "asyncio.Task[None]") -> None:
    """Wait until all of it is done, questions and all."""
    while not (result := await session.quiet()).ok:
        if person.done():
            person.result()
        if result.end != "waiting":
            say("stopped", session.id, result.end, result.message)
        await asyncio.sleep(0.005)


async def _answered(session: Session) -> int:
    """How many inputs the session is through with; the one it was interrupted in is sent again."""
    talk = (await session.state()).conversation
    through = not talk.owes_answer and not talk.queue and talk.block is None
    return len(talk.input_ids) - (not through)


def _words() -> argparse.Namespace:
    words = argparse.ArgumentParser()
    words.add_argument("folder")
    words.add_argument("--sessions", type=int, default=20)
    words.add_argument("--inputs", type=int, default=1_000_000)
    words.add_argument("--die", default="never:0")
    return words.parse_args()


async def main() -> None:
    given = _words()
    moments.die_at(given.die)
    workspace = os.path.join(given.folder, "workspace")
    os.makedirs(workspace, exist_ok=True)
    model = ScriptedModel([next_answer] * 1_000_000, piece=7, delay=0.002, sleep=_streaming, remembers=False)
    at("opening")
    database = os.path.join(given.folder, DATABASE)
    async with Told(database, connect=partial(connected, kind=Talking)) as store:
        engine = Engine(
            model=model,
            workspace=workspace,
            tools=tools(given.folder),
            allow=["post", "put", "look"],
            answers_later=True,
            store=store,
            environ={},
        )
        async with engine:
            known = {card.title: card.session_id for card in await engine.sessions(limit=1_000)}
            names = [f"session-{number}" for number in range(given.sessions)]
            at("opened")
            await asyncio.gather(*(converse(engine, known, name, given.inputs) for name in names))
    say("finished")


if __name__ == "__main__":
    asyncio.run(main())
