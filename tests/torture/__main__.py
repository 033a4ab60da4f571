"""`python -m torture`: run the bench for a while, and tell what held and what did not."""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from pathlib import Path

from torture.bench import Report, make_seed, run_kind
from torture.cases import Kind
from torture.clocks import Clocks
from torture.disk_full import DiskFull
from torture.folders import Bits, Folders, RefinedBits
from torture.kills import Kills
from torture.protocol import Protocol
from torture.readers import Readers
from torture.rivals import Rivals

KINDS: dict[str, type[Kind]] = {
    kind.name: kind for kind in (Readers, Bits, RefinedBits, Folders, Kills, DiskFull, Rivals, Clocks, Protocol)
}
KEPT = Path("build") / "torture"


def main(arguments: list[str] | None = None) -> int:
    """Run the kinds that are asked for; 1 where anything failed."""
    asked = _parse(arguments)
    seed = make_seed() if asked.seed is None else asked.seed
    print(f"seed {seed}; what fails is kept in {asked.keep}", flush=True)
    kinds = [KINDS[name] for name in asked.kinds]
    shares = sum(kind.share for kind in kinds)
    reports = []
    for kind in kinds:
        seconds = None if asked.cases is not None else 60 * asked.minutes * kind.share / shares
        report = run_kind(kind(), seed, first=asked.first, cases=asked.cases, seconds=seconds, kept=asked.keep)
        print(report.describe(), flush=True)
        reports.append(report)
    return _summarize(reports)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="torture", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"{', '.join(KINDS)}; all unless given")
    parser.add_argument("--minutes", type=float, default=5.0, help="for all kinds together (default 5)")
    parser.add_argument("--cases", type=int, help="cases of each kind, instead of minutes")
    parser.add_argument("--seed", type=int, help="drawn, and printed, unless given")
    parser.add_argument("--first", type=int, default=0, help="number of the first case: a failure's, to run it again")
    parser.add_argument("--keep", type=Path, default=KEPT, help=f"folder for cases that fail (default {KEPT})")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.kinds if name not in KINDS]
    if unknown:
        parser.error(f"there is no kind {unknown[0]}: known are {', '.join(KINDS)}")
    asked.kinds = asked.kinds or list(KINDS)
    return asked


def _summarize(reports: list[Report]) -> int:
    failures = sum(len(report.failures) for report in reports)
    print("\ncases by kind:")
    for report in reports:
        detail = ", ".join(f"{about} {count:,}" for about, count in sorted(report.about.items()))
        print(f"  {report.describe()}\n    {detail}")
    print(f"{sum(report.done for report in reports):,} cases, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable()  # other libraries tell much about files that were harmed
    sys.exit(main())
