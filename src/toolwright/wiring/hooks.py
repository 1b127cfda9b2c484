"""The hooks of a session, from its settings and from the program it runs in."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, Literal, cast

from toolwright.backends.hook_handlers.command import command_transport
from toolwright.backends.hook_handlers.http import http_transport
from toolwright.contracts.hooks import Hook, HookInput, HookTransport
from toolwright.contracts.network import Egress
from toolwright.contracts.ports import EventSink
from toolwright.settings import Loaded
from toolwright.tool_calls.hooks.config import HookSettings, HookSource, load_hooks
from toolwright.tool_calls.hooks.matching import ConditionMatches
from toolwright.tool_calls.hooks.runner import Hooks, Shorten
from toolwright.tool_calls.in_force import InForce
from toolwright.tool_calls.parts import HookRunner


class TaskHookDoor:
    """Lets tools that keep tasks ask the session's hooks; tools are built before the hooks are known."""

    def __init__(self) -> None:
        self._hooks: HookRunner | None = None
        self._in_force: InForce | None = None
        self._session = ""

    def open(self, hooks: HookRunner | None, in_force: InForce, session: str) -> None:
        """Say which hooks there are, and in which session."""
        self._hooks = hooks
        self._in_force = in_force
        self._session = session

    async def objection(self, event: Literal["TaskCreated", "TaskCompleted"], task: Mapping[str, Any]) -> str:
        """Return why a hook objects, or nothing."""
        if self._hooks is None or self._in_force is None or not self._hooks.has(event):
            return ""
        policy = self._in_force.policy
        verdict = await self._hooks.run(
            HookInput(
                event=event,
                session_id=self._session,
                cwd=policy.cwd,
                permission_mode=policy.mode,
                payload={"task": dict(task)},
            )
        )
        return (verdict.reason or verdict.label) if verdict.decision == "deny" else ""


_LAST_SECONDS: Final = 5.0
"""What background hooks have left when their session ends."""


class HooksInBackground:
    """The hooks of a session that nobody waits for. They end with the session."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start_soon(self, work: Callable[..., Coroutine[Any, Any, None]], *args: object) -> None:
        """Start ``work`` in the running event loop."""
        task = asyncio.get_running_loop().create_task(work(*args))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Let what still runs finish soon, else stop it."""
        tasks = tuple(self._tasks)
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=_LAST_SECONDS)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)


def session_hooks(
    loaded: Loaded,
    own: Sequence[Hook],
    *,
    egress: Callable[[], Egress],
    condition_matches: ConditionMatches,
    sink: EventSink | None,
    shorten: Shorten,
    at_close: Callable[[Callable[[], Awaitable[None]]], object],
) -> HookRunner | None:
    """Return the hooks in force, None when nothing listens. May raise SettingsError.

    ``at_close`` takes what shall be done when the session ends.
    """

    def command(settings: Mapping[str, Any]) -> HookTransport:
        return command_transport(settings, environ=loaded.environ, project_dir=loaded.project)

    def http(settings: Mapping[str, Any]) -> HookTransport:
        return http_transport(settings, egress=egress(), environ=loaded.environ)

    written = [
        HookSettings(
            source=cast(HookSource, layer.source),
            hooks=layer.data.get("hooks", {}),
            disable_all=bool(layer.data.get("disable_all_hooks", False)),
        )
        for layer in loaded.layers
    ]
    hooks = load_hooks(written, {"command": command, "http": http}, in_process=own)
    if not hooks:
        return None
    background = HooksInBackground()
    at_close(background.close)
    return Hooks(
        hooks,
        condition_matches=condition_matches,
        sink=sink,
        fail_closed=loaded.settings.hooks_fail_closed,
        shorten=shorten,
        start_soon=background.start_soon,
    )
