"""Going on with what a dead process left behind."""

import logging
from typing import Final

from toolwright.contracts.errors import EngineFault, ToolwrightError
from toolwright.contracts.storage import SessionBusy
from toolwright.sessions.service import Sessions

log = logging.getLogger(__name__)
_MOST: Final = 100_000


async def take_up(sessions: Sessions) -> list[str]:
    """Wake every session that somebody worked on or was about to; return their ids.

    Those that another live process works on are left to it. One that cannot be opened holds up no other.
    """
    woken = []
    for card in await sessions.store.cards(status="running", limit=_MOST):
        try:
            await sessions.wake(card.session_id)
        except SessionBusy:
            continue
        except (ToolwrightError, EngineFault) as problem:
            log.warning("session %s cannot be taken up: %s", card.session_id, problem)
        else:
            woken.append(card.session_id)
    return woken
