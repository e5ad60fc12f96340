"""The command line: `python -m benchmarks --suite paper-solver --json out.json`."""

from __future__ import annotations

import argparse
import os
import platform
import sys

import numpy as np

from benchmarks.record import Results, SkippedError
from benchmarks.suites import SUITES, Settings, picture, suite


def parser() -> argparse.ArgumentParser:
    line = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    line.add_argument("--suite", choices=SUITES, default="compare")
    line.add_argument(
        "--json",
        metavar="FILE",
        help="write the results here, after every run; "
        "FILE.jsonl is added to, and `defaults`, `classification` and `losses` leave out what it "
        "holds",
    )
    line.add_argument("--plot", metavar="FILE", help="draw the suite's picture into this PNG")
    line.add_argument("--cases", nargs="+", metavar="CASE", help="instead of the suite's own")
    line.add_argument("--methods", nargs="+", metavar="METHOD", help="instead of the suite's own")
    line.add_argument("--seeds", "--folds", type=int, metavar="N", help="seeds (or folds) 0 to N-1")
    line.add_argument("--quick", action="store_true", help="few iterations: a trial of the suite")
    return line


def main(arguments: list[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {os.cpu_count()} CPUs")
    results = Results(options.json)
    settings = Settings(results, options.cases, options.methods, options.seeds, options.quick)
    try:
        suite(options.suite)(settings)
    except (FileNotFoundError, SkippedError, ValueError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    if options.plot:
        picture(options.suite)(results.records, options.plot)


if __name__ == "__main__":
    main()
