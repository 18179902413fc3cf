"""small requests beside eight react-dom at level 6: p99 against idle and against google's module

Part 1's goal: with a pool, at most 3 times the idle server's and at most a twentieth of google's. The
load is the demonstration's: 1,000 small requests a second, open loop, and eight large ones together
every other time that google takes for eight.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

import files
from scenarios import Figure
from servers import GOOGLE, NONE, POOL_4, Variant
from tools import Target, Tools

LEVEL = 6
BURST = 8
SECONDS = 8.0


def run(tools: Tools) -> Iterator[Figure]:
    source = files.fetch(files.REACT_DOM)
    root = tools.root(source)

    def idle_server() -> dict[str, float]:
        with tools.server(NONE, root, ()) as server:
            target = Target(tools, server, NONE, "/")
            return _times(target.load(target.small(), duration=SECONDS, warmup=1))

    def beside_bursts(variant: Variant, period_ms: float) -> dict[str, float]:
        with tools.server(variant, root, (LEVEL,)) as server:
            target = Target(tools, server, variant, f"/{LEVEL}/{source.name}")
            target.verify(source)
            target.once(BURST)
            bursts = target.large("--burst", BURST, "--period", round(period_ms, 3))
            return _times(target.load(target.small(), bursts, duration=SECONDS, warmup=1))

    with tools.server(GOOGLE, root, (LEVEL,)) as server:
        target = Target(tools, server, GOOGLE, f"/{LEVEL}/{source.name}")
        burst_ms = statistics.median(target.once(BURST)["latency_ms"]["max"] for _ in range(4))
    idle = idle_server()
    google = beside_bursts(GOOGLE, 2 * burst_ms)
    brio = beside_bursts(POOL_4, 2 * burst_ms)
    yield Figure("p99 idle", idle["p99"], "ms")
    yield Figure("p99 beside google", google["p99"], "ms")
    yield Figure("p99 beside brio", brio["p99"], "ms")
    yield Figure("p99.9 beside brio", brio["p99.9"], "ms")
    yield Figure("p99 beside brio / idle", brio["p99"] / idle["p99"], at_most=3)
    yield Figure("p99 beside google / brio", google["p99"] / brio["p99"], at_least=20)


def _times(report: dict[str, dict[str, Any]]) -> dict[str, float]:
    times: dict[str, float] = report["small"]["latency_ms"]
    return times
