"""Measures brio beside google/ngx_brotli and stock gzip.

Without a name it runs the matrix: every module at every level on every file, with tables and plots. With
names it runs those scenarios: each prints its figures with their goals, and the exit status is 1 where one
falls short.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import files
import scenarios
from generator import LoadError
from nginx_server import ServerError
from tools import BenchError, Tools

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"


@dataclass(frozen=True)
class Options:
    names: list[str]
    build: Path
    out: Path | None
    quick: bool
    seed: int | None
    fresh: bool
    list: bool
    readme: Path | None


def main() -> int:
    options = _parse()
    try:
        if options.list:
            return _list()
        if options.readme is not None:
            return _readme(options.readme, options.out or RESULTS)
        with tempfile.TemporaryDirectory(prefix="brio-bench-") as scratch:
            tools = Tools(options.build, Path(scratch))
            tools.check()
            return _run_scenarios(tools, options.names) if options.names else _run_matrix(tools, options)
    except (BenchError, LoadError, ServerError, files.FetchError) as failure:
        print(f"\nbench: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nbench: stopped; the matrix goes on from here when it is run again", file=sys.stderr)
        return 130


def _parse() -> Options:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="SCENARIO", help="run these; --list tells which there are")
    parser.add_argument("--list", action="store_true", help="list the scenarios and end")
    parser.add_argument("--quick", action="store_true", help="a part of the matrix, in under 5 minutes")
    parser.add_argument("--seed", type=int, help="the order of the cells (random, and printed)")
    parser.add_argument("--fresh", action="store_true", help="forget what an earlier run has measured")
    parser.add_argument("--build", type=Path, default=HERE.parent / "build" / "release", help="the build folder")
    parser.add_argument("--out", type=Path, help="where results go (benchmarks/results; --quick: build/bench/quick)")
    parser.add_argument("--readme", type=Path, metavar="README", help="put the results' figures into its marked block")
    options = Options(**vars(parser.parse_args()))
    if options.names and (options.quick or options.fresh or options.seed is not None):
        parser.error("--quick, --seed and --fresh belong to the matrix, not to scenarios")
    unknown = set(options.names) - scenarios.find().keys()
    if unknown:
        parser.error(f"no scenario is named {', '.join(sorted(unknown))}; --list tells which there are")
    return options


def _list() -> int:
    for scenario in scenarios.find().values():
        print(f"{scenario.name:<20}{scenario.summary}")
    return 0


def _readme(readme: Path, folder: Path) -> int:
    from matrix import results
    from matrix import readme as block

    block.rewrite(readme, results.read(folder), folder)
    print(f"written: {readme}")
    return 0


def _run_scenarios(tools: Tools, names: list[str]) -> int:
    met = True
    for name in names:
        started = time.monotonic()
        print(f"== {name}: {scenarios.find()[name].summary}", flush=True)
        for figure in scenarios.find()[name].run(tools):
            print(f"{figure}{'' if figure.met else '  <-- falls short'}", flush=True)
            met = met and figure.met
        print(f"   {time.monotonic() - started:.0f} s", flush=True)
    return 0 if met else 1


def _run_matrix(tools: Tools, options: Options) -> int:
    # Imported here: scenarios need no matplotlib.
    from matrix import driver, report, results
    from matrix.plan import FULL, QUICK

    profile = QUICK if options.quick else FULL
    bench = HERE.parent / "build" / "bench"
    out = options.out or (bench / "quick" if options.quick else RESULTS)
    state = driver.run(tools, profile, bench / "state" / profile.name, options.seed, options.fresh)
    collected = results.collect(profile, state)
    results.write(collected, out)
    report.write(collected, out)
    print((out / report.NAME).read_text())
    for path in [*sorted(out.glob("*.svg")), out / results.NAME, out / report.NAME]:
        print(f"written: {os.path.relpath(path)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
