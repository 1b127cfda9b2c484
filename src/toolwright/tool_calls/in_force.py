"""What is in force for a session right now: its policy and its workspace. The one place they change."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

from toolwright.contracts.ports import Workspace
from toolwright.tool_calls.permissions.path_rules import PathRules
from toolwright.tool_calls.permissions.subject import Policy


class InForce:
    """Holds a frozen policy and workspace; a change puts new ones in their place."""

    def __init__(self, *, policy: Policy, workspace: Workspace) -> None:
        self._policy = policy
        self._workspace = workspace
        self._sight: Workspace | None = None
        self._wider_sight: Workspace | None = None
        self._listeners: list[Callable[[], None]] = []

    @property
    def policy(self) -> Policy:
        return self._policy

    @property
    def workspace(self) -> Workspace:
        """The workspace as tools see it: what may not be read unasked does not exist for listings."""
        if self._sight is None:
            self._sight = self._hiding(unasked=True)
        return self._sight

    @property
    def approved_workspace(self) -> Workspace:
        """The workspace of a call that a person approved: only what rules deny is hidden."""
        if self._wider_sight is None:
            self._wider_sight = self._hiding(unasked=False)
        return self._wider_sight

    def _hiding(self, *, unasked: bool) -> Workspace:
        hidden = _hidden(self._policy, unasked=unasked)
        return self._workspace.hiding(hidden) if hidden else self._workspace

    def change(self, policy: Policy) -> None:
        """Put another policy in force; whoever waits for a person is judged again under it."""
        self._policy = policy
        self._sight = self._wider_sight = None
        for listener in tuple(self._listeners):
            listener()

    def move(self, cwd: str) -> None:
        """Make ``cwd`` the working directory of the calls after this."""
        self._workspace = self._workspace.with_cwd(cwd)
        self.change(replace(self._policy, cwd=cwd))

    def telling(self, listener: Callable[[], None]) -> AbstractContextManager[None]:
        """Call ``listener`` after every change while this lasts."""
        return _Telling(self._listeners, listener)


class _Telling(AbstractContextManager[None]):
    __slots__ = ("_listener", "_listeners")

    def __init__(self, listeners: list[Callable[[], None]], listener: Callable[[], None]) -> None:
        self._listeners = listeners
        self._listener = listener

    def __enter__(self) -> None:
        self._listeners.append(self._listener)

    def __exit__(self, *raised: object) -> None:
        self._listeners.remove(self._listener)


def _hidden(policy: Policy, *, unasked: bool) -> Callable[[str], bool] | None:
    """Listings and searches leave out what a rule denies and, ``unasked``, what it would ask about."""
    rules = PathRules(policy)
    asks = unasked and any(rule.content is not None for rule in policy.rules.ask)
    if asks:
        return lambda path: (rules.denied(path, "read") or rules.asked(path, "read")) is not None
    if any(rule.content is not None for rule in policy.rules.deny):
        return lambda path: rules.denied(path, "read") is not None
    return None
