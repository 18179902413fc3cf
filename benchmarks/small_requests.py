"""What small requests wait for beside bursts of large responses, against the same alone.

The phases to compare take turns in short rounds, on servers that stay up, and a figure is the median of
its rounds: what else the machine does for a while then falls on all phases or on one round, not on one
phase.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from generator import BROTLI, Stream, run

ROUNDS = 3
SECONDS = 4
BURST = 8
TIMED_BURSTS = 5

Reports = dict[str, dict[str, Any]]


def bursts(url: str, period_ms: float, bodies: Path | None = None) -> Stream:
    """BURST requests together every so often."""
    return Stream("large", url, ("--burst", BURST, "--period", round(period_ms, 3)), (BROTLI,), bodies)


def time_of_burst(generator: Path, url: str) -> float:
    """The median time in ms from sending one burst to its last byte, the worker being warm."""
    one = [bursts(url, 1000)]
    reports = [run(generator, one, duration=0.01, warmup=0) for _ in range(1 + TIMED_BURSTS)]
    return statistics.median(report["large"]["latency_ms"]["max"] for report in reports[1:])


def rounds(generator: Path, phases: dict[str, list[Stream]]) -> Iterator[dict[str, Reports]]:
    """The reports of each round, by phase; each round has a folder of its own for the bodies."""
    for number in range(1, ROUNDS + 1):
        yield {
            name: run(generator, [_of_round(stream, number) for stream in streams], duration=SECONDS)
            for name, streams in phases.items()
        }


def median(reports: list[Reports], quantile: str) -> float:
    """The median over rounds of the small requests' p50, p99, ..."""
    return statistics.median(report["small"]["latency_ms"][quantile] for report in reports)


def _of_round(stream: Stream, number: int) -> Stream:
    return replace(stream, bodies=stream.bodies and stream.bodies / f"round{number}")
