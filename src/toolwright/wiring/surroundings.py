"""Where a session works, as its model is told."""

import os
import time

from toolwright.sessions.state import SessionState
from toolwright.turns.prompt import Surroundings
from toolwright.wiring.house import House


def surroundings(state: SessionState, house: House) -> Surroundings:
    """As they were when the session began: what a model has read of them stays true of that day."""
    epoch = state.conversation.preamble
    known = Surroundings.recorded(epoch.surroundings) if epoch is not None else None
    if known is not None:
        return known
    policy = house.in_force.policy
    system = os.uname()
    return Surroundings(
        cwd=policy.original_cwd,
        platform=f"{system.sysname} {system.release}, {system.machine}",
        date=time.strftime("%Y-%m-%d", time.localtime(state.created_at)),
        more_folders=policy.roots[1:],
        git_branch=_branch(policy.original_cwd),
    )


def _branch(folder: str) -> str | None:
    """The branch that is checked out, read from the repository's own file."""
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    try:
        with open(os.path.join(folder, ".git", "HEAD"), encoding="utf-8", errors="replace") as file:
            head = file.read(1024).strip()
    except OSError:
        return None
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else f"detached at {head[:12]}"
