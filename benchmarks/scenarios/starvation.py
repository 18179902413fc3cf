"""compressed throughput on react-dom at level 6 beside two processes that take all the CPU they get

Goals: two of them at normal priority leave at least 35 % of what is served without them, and no
request is stuck: none takes more than ten times the median. Every body is decoded and compared with its
file.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import files
from compare import by_turns, ratio
from scenarios import Figure
from servers import POOL_4
from tools import Target, Tools

LEVEL = 6
CONNECTIONS = 8
HOGS = 2
ROUNDS = 5
SECONDS = 2.0
GOAL = 0.35
STUCK = 10.0

# It ends by itself should nobody be left to end it.
HOG = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"


def run(tools: Tools) -> Iterator[Figure]:
    source = files.fetch(files.REACT_DOM)
    with tools.server(POOL_4, tools.root(source), (LEVEL,)) as server:
        target = Target(tools, server, POOL_4, f"/{LEVEL}/{source.name}")
        target.once(CONNECTIONS)

        def load(hogs: int) -> dict[str, Any]:
            with _hogs(hogs):
                report, _ = target.checked(source, "--closed", CONNECTIONS, duration=SECONDS)
                return report

        alone, beside = by_turns([partial(load, 0), partial(load, HOGS)], ROUNDS)
    rates = [[float(report["rate"]) for report in reports] for reports in (alone, beside)]
    yield Figure("without them", statistics.median(rates[0]), "requests/s")
    yield Figure("beside them", statistics.median(rates[1]), "requests/s")
    yield Figure("beside them / without", ratio(rates[1], rates[0]), at_least=GOAL)
    latencies = [report["latency_ms"] for report in beside]
    yield Figure("median request beside them", statistics.median(each["p50"] for each in latencies), "ms")
    longest = max(each["max"] / each["p50"] for each in latencies)
    yield Figure("longest request beside them / median", longest, at_most=STUCK)


@contextmanager
def _hogs(count: int) -> Iterator[None]:
    """So many processes of normal priority, each in a session of its own as other services are: some kernels
    share the CPU between sessions first."""
    running = [subprocess.Popen([sys.executable, "-c", HOG], start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for hog in running:
            hog.kill()
            hog.wait()
