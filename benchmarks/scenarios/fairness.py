"""20 KB pages beside eight react-dom at level 6; pages and small requests beside level 11 without pause

Goals: beside bursts of eight react-dom, in phase, pages that are compressed on the pool keep their
p99 within 4 times that of the same server alone. Beside four connections that pull caniuse at level 11, pages
at level 5 have a p99 of at most 60 ms, and small uncompressed requests one of at most 1.3 times the idle
server's or 1 ms above it; with the workers at normal priority and above it. All loads are open loops but that
at level 11, which is reset at the end. The generator runs at real-time priority where it may. Every body of
the pages, and every large one that came whole, is decoded and compared with its file.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import files
from compare import by_turns, ratio
from generator import Stream
from nginx_server import NginxServer
from scenarios import Figure
from servers import POOL_4
from tools import Target, Tools, checked_sizes

PAGE_LENGTH = 20 * 1024
PAGE_RATE = 100
WARMUP_SECONDS = 1.0

BURST = 8
BURST_LEVEL = 6
BURST_ROUNDS = 3
BURST_SECONDS = 4.0
BURST_GOAL = 4.0

GIANTS = 4
GIANT_LEVEL = 11
PAGE_LEVEL = 5
IDLE_SECONDS = 5.0
GIANT_SECONDS = 12.0
GRACE_SECONDS = 2.0
PRIORITIES = {"normal priority": "", "worker_priority -10": "worker_priority -10;"}
PAGE_GOAL_MS = 60.0
SMALL_GOAL = 1.3
SMALL_SLACK_MS = 1.0

Times = dict[str, dict[str, float]]


def run(tools: Tools) -> Iterator[Figure]:
    yield from _beside_bursts(tools)
    yield from _beside_giants(tools)


def _beside_bursts(tools: Tools) -> Iterator[Figure]:
    page, source = files.json_slice(PAGE_LENGTH), files.fetch(files.REACT_DOM)
    with tools.server(POOL_4, tools.root(page, source), (BURST_LEVEL,)) as server:
        pages = _target(tools, server, BURST_LEVEL, page)
        large = _target(tools, server, BURST_LEVEL, source)
        large.once(BURST)
        burst_ms = statistics.median(large.once(BURST)["latency_ms"]["max"] for _ in range(4))
        asked = {_pages(pages): page}
        bursts = large.large("--burst", BURST, "--period", round(2 * burst_ms, 3))

        def p99(streams: dict[Stream, Path]) -> float:
            return _times(pages, streams, BURST_SECONDS)["pages"]["p99"]

        idle, beside = by_turns([lambda: p99(asked), lambda: p99(asked | {bursts: source})], BURST_ROUNDS)
    yield Figure(f"pages at level {BURST_LEVEL}, p99 idle", statistics.median(idle), "ms")
    yield Figure(f"pages at level {BURST_LEVEL}, p99 beside bursts", statistics.median(beside), "ms")
    yield Figure("p99 beside bursts / idle", ratio(beside, idle), at_most=BURST_GOAL)


def _beside_giants(tools: Tools) -> Iterator[Figure]:
    page, source = files.json_slice(PAGE_LENGTH), files.fetch(files.CANIUSE)
    root = tools.root(page, source)
    for label, directive in PRIORITIES.items():
        with tools.server(POOL_4, root, (PAGE_LEVEL, GIANT_LEVEL), main_directives=directive) as server:
            pages = _target(tools, server, PAGE_LEVEL, page)
            giants = _target(tools, server, GIANT_LEVEL, source).large("--closed", GIANTS)
            asked = {_pages(pages): page}
            idle = _times(pages, asked, IDLE_SECONDS)
            beside = _times(pages, asked | {giants: source}, GIANT_SECONDS)
        for name, times in (("idle", idle), ("beside level 11", beside)):
            for stream in ("pages", "small"):
                goal = _goal(stream, idle) if times is beside else None
                yield Figure(f"{label}, {stream}, p99 {name}", times[stream]["p99"], "ms", at_most=goal)
                yield Figure(f"{label}, {stream}, p99.9 {name}", times[stream]["p99.9"], "ms")


def _goal(stream: str, idle: Times) -> float:
    if stream == "pages":
        return PAGE_GOAL_MS
    return max(SMALL_GOAL * idle["small"]["p99"], idle["small"]["p99"] + SMALL_SLACK_MS)


def _target(tools: Tools, server: NginxServer, level: int, source: Path) -> Target:
    return Target(tools, server, POOL_4, f"/{level}/{source.name}")


def _pages(target: Target) -> Stream:
    return replace(target.large("--rate", PAGE_RATE), name="pages")


def _times(target: Target, streams: dict[Stream, Path], seconds: float) -> Times:
    """Latencies in ms of streams, each with the file that it asks for, and of small requests beside them."""
    with tempfile.TemporaryDirectory(dir=target.tools.scratch) as folder:
        saved = {replace(stream, bodies=Path(folder)): plain for stream, plain in streams.items()}
        loads = [*saved, target.small()]
        report = target.load(
            *loads, duration=seconds, warmup=WARMUP_SECONDS, grace=GRACE_SECONDS, at_end="aborted"
        )
        for stream, plain in saved.items():
            checked_sizes(stream, report[stream.name], plain)
    return {name: stream["latency_ms"] for name, stream in report.items()}
