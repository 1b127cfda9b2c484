"""A session outlives its program: it goes on in another process, and from any point of it in another way."""

import asyncio
import tempfile

from toolwright import Engine, ModelAnswered, RunEnded, ScriptedModel


async def begin(folder: str) -> str:
    """A first program."""
    async with Engine.local(ScriptedModel(["Noted: 42."]), workspace=folder) as engine:
        result = await engine.run("Remember the number 42.")
        print(result.text)
        return result.session_id


async def go_on(folder: str, session_id: str) -> None:
    """Another program, later: all it needs is the id."""
    model = ScriptedModel(["It was 42.", "As I said: 42.", "You never told me the number."])
    async with Engine.local(model, workspace=folder) as engine:
        session = await engine.open(session_id)
        print((await session.run("Which number was it?")).text)

        log = [record async for record in session.stream()]
        print([record.event.text for record in log if isinstance(record.event, ModelAnswered)])

        first_end = next(record.seq for record in log if isinstance(record.event, RunEnded))
        fork = await session.fork(at=first_end)
        print((await fork.run("Which number was it?")).text)
        print("fork:", fork.id != session.id, len(await engine.sessions()))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as project:
        asyncio.run(go_on(project, asyncio.run(begin(project))))
