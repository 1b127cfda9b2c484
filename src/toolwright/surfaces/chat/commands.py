"""What each command of a conversation does."""

import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import cast, get_args

from anyio.to_thread import run_sync

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.permissions import Behavior, RuleChange
from toolwright.sessions.finding import session_meant
from toolwright.surfaces.chat import looking, server_prompts
from toolwright.surfaces.chat.conversation import Conversation
from toolwright.surfaces.chat.picking import Picker, Row
from toolwright.surfaces.chat.slash import Asked
from toolwright.surfaces.cli.session_options import short_id
from toolwright.surfaces.rendering.calls import Verbosity
from toolwright.tool_calls.permissions.modes import mode_named
from toolwright.wiring.skills import task_of

Command = Callable[[Conversation, str], Awaitable[None]]


async def carried_out(talk: Conversation, asked: Asked) -> None:
    """Carry out a command. May raise ToolwrightError."""
    await _COMMANDS[asked.name](talk, asked.rest)


# --- how it works -----------------------------------------------------------------------------


async def _help(talk: Conversation, rest: str) -> None:
    del rest
    talk.page.print(looking.help_node(talk.page.width))


async def _model(talk: Conversation, rest: str) -> None:
    if rest:
        await talk.session.choose_model(rest)
        await talk.look_up()
        return
    models = looking.models(talk.engine.loaded, present=talk.state.transcript.model)
    rows = tuple(Row(name, name, (about,) if about else ()) for name, about in models)
    talk.offer(Picker("Ask which model from now on?", rows), lambda name: _model(talk, name))


async def _mode(talk: Conversation, rest: str) -> None:
    if rest:
        mode = mode_named(rest)
        if mode is None:
            raise SettingsError(f"there is no mode {rest!r}: {', '.join(looking.MODES)}.")
        await talk.enter_mode(mode)
        return
    rows = tuple(Row(name, name, (about,)) for name, about in looking.MODES.items())
    talk.offer(Picker(f"Which mode? It is {talk.state.mode}.", rows), lambda name: _mode(talk, name))


async def _permissions(talk: Conversation, rest: str) -> None:
    word, _, rule = rest.partition(" ")
    if not rest:
        talk.page.print(looking.permissions(await talk.parts()))
    elif word in get_args(Behavior) and rule.strip():
        change = RuleChange("addRules", behavior=cast(Behavior, word), rules=(rule.strip(),))
        await talk.session.change_permissions(change)
    else:
        raise SettingsError("write /permissions allow RULE, ask RULE or deny RULE, such as Bash(make *).")


async def _details(talk: Conversation, rest: str) -> None:
    if rest not in get_args(Verbosity):
        raise SettingsError(f"/details is {', '.join(get_args(Verbosity))}; it is {talk.state.details}.")
    talk.state.details = cast(Verbosity, rest)
    talk.page.print_anew()


# --- looking ----------------------------------------------------------------------------------


async def _tools(talk: Conversation, rest: str) -> None:
    del rest
    talk.page.print(looking.tools((await talk.parts()).offered, talk.page.width))


async def _mcp(talk: Conversation, rest: str) -> None:
    """Show prompts of servers, or say one of them to the session."""
    parts = await talk.parts()
    if not rest.startswith(server_prompts.PREFIX):
        talk.page.say(server_prompts.listing(await server_prompts.all_prompts(parts)))
        return
    await talk.session.send(await server_prompts.filled_in(parts, rest))


async def _agents(talk: Conversation, rest: str) -> None:
    del rest
    talk.page.print(looking.agents(talk.engine.loaded, await talk.session.state(), talk.page.width))


async def _skill(talk: Conversation, rest: str) -> None:
    name, _, words = rest.partition(" ")
    if name:
        text = await run_sync(partial(task_of, talk.engine.loaded, name, words.strip()))
        await talk.session.send(text)
        return
    rows = tuple(Row(one, one, (about,)) for one, about in await run_sync(looking.skills, talk.engine.loaded))
    talk.offer(Picker("Work as which skill says?", rows), lambda name: _skill(talk, name))


async def _usage(talk: Conversation, rest: str) -> None:
    del rest
    talk.page.print(looking.usage(await talk.session.state(), window=talk.state.window))


async def _sessions(talk: Conversation, rest: str) -> None:
    del rest
    rows = await looking.session_rows(talk.engine, without=talk.session.id)
    talk.page.print(looking.sessions(rows, talk.page.width))


# --- the session ------------------------------------------------------------------------------


async def _compact(talk: Conversation, rest: str) -> None:
    del rest
    talk.refuse_while_working()
    # Not in its turn with other commands: what is said meanwhile shall stand in the queue at once.
    talk.at_once(partial(talk.besides, "Making a summary", partial(_compacted, talk)))


async def _compacted(talk: Conversation) -> None:
    if not await talk.session.compact():
        talk.page.say("the conversation is short; there is nothing to put a summary in place of.")


async def _unqueue(talk: Conversation, rest: str) -> None:
    del rest
    if not talk.state.queued:
        talk.page.say("nothing waits to be read.")
    await talk.take_back(most=len(talk.state.queued))


async def _title(talk: Conversation, rest: str) -> None:
    if not rest:
        raise SettingsError("write a title behind /title.")
    await talk.session.retitle(rest)


async def _fork(talk: Conversation, rest: str) -> None:
    if rest and not (rest.isascii() and rest.isdigit()):
        raise SettingsError(f"/fork goes on from an entry of the log, which is a number, not {rest!r}.")
    talk.refuse_while_working()
    await talk.go_to(await talk.session.fork(at=int(rest) if rest else None))


async def _resume(talk: Conversation, rest: str) -> None:
    talk.refuse_while_working()
    if rest:
        await talk.go_to(await talk.engine.open(await session_meant(talk.engine.works.store, rest)))
        return
    rows = await looking.session_rows(talk.engine, without=talk.session.id)
    if not rows:
        raise SettingsError("there is no other session in this folder.")
    talk.offer(Picker(looking.WHICH_SESSION, rows), lambda chosen: _resume(talk, chosen))


async def _new(talk: Conversation, rest: str) -> None:
    talk.refuse_while_working()
    await talk.go_to(await talk.engine.session(agent=rest))


async def _export(talk: Conversation, rest: str) -> None:
    from toolwright.surfaces.cli.session_exports import export

    path = await run_sync(_path, talk.project, rest or f"session-{short_id(talk.session.id)}.md")
    await export(talk.session.id, talk.project, "markdown", path)
    talk.page.say(f"written to {path}")


def _path(folder: str, written: str) -> str:
    return os.path.join(folder, os.path.expanduser(written))


async def _quit(talk: Conversation, rest: str) -> None:
    del rest
    talk.paper.leave()


_COMMANDS: Mapping[str, Command] = {
    "help": _help,
    "model": _model,
    "mode": _mode,
    "permissions": _permissions,
    "tools": _tools,
    "mcp": _mcp,
    "agents": _agents,
    "skill": _skill,
    "usage": _usage,
    "compact": _compact,
    "details": _details,
    "unqueue": _unqueue,
    "title": _title,
    "fork": _fork,
    "resume": _resume,
    "sessions": _sessions,
    "new": _new,
    "export": _export,
    "quit": _quit,
}


def words_of(talk: Conversation, name: str) -> list[tuple[str, str]]:
    """Return the words that a command takes, each with what it means, to be completed."""
    match name:
        case "mode":
            return list(looking.MODES.items())
        case "details":
            return [(word, "") for word in get_args(Verbosity)]
        case "permissions":
            return [(f"{word} ", "") for word in get_args(Behavior)]
        case "model":
            return looking.models(talk.engine.loaded, present=talk.state.transcript.model)
        case "new":
            return looking.agent_words(talk.engine.loaded)
        case "skill":
            return looking.skills(talk.engine.loaded)
        case _:
            return []
