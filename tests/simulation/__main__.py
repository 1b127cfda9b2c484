"""Run the simulation of one seed, or of several, and say what is wrong: ``python -m tests.simulation 17``."""

import argparse
import logging
import sys
import time
from collections import Counter

from tests.simulation.world import Report, simulated


def _told(report: Report) -> None:
    for session_id, records in report.logs.items():
        print(f"\n{session_id}")
        for record in records:
            print(f"{record.seq:5} {record.at - 1_700_000_000:9.3f} {str(record.event)[:200]}")


def main() -> int:
    """Return 0 when every promise was kept."""
    words = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    words.add_argument("seed", type=int)
    words.add_argument("--count", type=int, default=1, help="so many seeds from this one on")
    words.add_argument("--log", action="store_true", help="print the logs")
    given = words.parse_args()
    logging.disable(logging.CRITICAL)
    numbers: Counter[str] = Counter()
    bad = 0
    began = time.perf_counter()
    for seed in range(given.seed, given.seed + given.count):
        report = simulated(seed)
        numbers.update(report.numbers)
        bad += bool(report.problems)
        if given.log:
            _told(report)
        for problem in report.problems:
            print(f"seed {seed}: {problem}")
    print(dict(numbers))
    print(f"{given.count} seeds, {bad} with problems, {time.perf_counter() - began:.1f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
