"""Kill an engine as often as you like and print the figures: ``scripts/endurance --kills 200 --seed 7``."""

import argparse
import sys
import time
from random import SystemRandom

from tests.endurance.kill_loop import run


def main() -> int:
    """Return 0 when every promise was kept."""
    words = argparse.ArgumentParser(prog="scripts/endurance", description=__doc__)
    words.add_argument("--kills", type=int, default=50)
    words.add_argument("--sessions", type=int, default=20)
    words.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6))
    given = words.parse_args()
    print(f"seed {given.seed}, {given.sessions} sessions", flush=True)
    began = time.monotonic()

    def tell(kills: int) -> None:
        if kills % 10 == 0:
            print(f"{kills} kills, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)

    figures = run(given.kills, given.seed, sessions=given.sessions, tell=tell)
    print(figures)
    print(f"{time.monotonic() - began:.0f} s")
    return 0 if figures.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
