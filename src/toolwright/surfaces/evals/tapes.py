"""Where the recordings of evals are kept: a folder for each case, and in it one for its judge."""

import os

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.evals import EvalCase

_JUDGE = "judge"


def tape_folder(folder: str, case: EvalCase, attempt: int, *, judge: bool = False) -> str:
    """Return the folder for the recordings of one attempt, or of its judge (pure)."""
    name = case.id if attempt == 1 else f"{case.id}.{attempt}"
    return os.path.join(folder, name, _JUDGE) if judge else os.path.join(folder, name)


def tape(folder: str, case: EvalCase, attempt: int, *, judge: bool = False) -> str:
    """Return the recording to play, written as a model; a later attempt may play that of the first.

    Blocking. Raises SettingsError.
    """
    of_attempt = tape_folder(folder, case, attempt, judge=judge)
    of_first = tape_folder(folder, case, 1, judge=judge)
    for place in dict.fromkeys((of_attempt, of_first)):
        if not os.path.isdir(place):
            continue
        found = sorted(entry for entry in os.listdir(place) if entry.endswith(".jsonl"))
        if len(found) == 1:
            return f"cassette/{os.path.abspath(os.path.join(place, found[0]))}"
        if found:
            raise SettingsError(f"{place} holds {len(found)} recordings; one is played, so keep one.")
    raise SettingsError(f"there is no recording in {of_first}; make one with --record.")
