"""when the first 32 KiB of caniuse at level 9 can be decoded, idle, against the time to the last byte

Goals: by 25 % of it, with tasks 1 and with tasks 4, on one connection. Every body is decoded and
compared with its file.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import partial

import files
from compare import by_turns, ratio
from scenarios import Figure
from servers import POOL_1, POOL_4
from tools import Target, Tools

LEVEL = 9
FIRST_CONTENT = 32 * 1024
ROUNDS = 15
GOAL = 25.0


def run(tools: Tools) -> Iterator[Figure]:
    source = files.fetch(files.CANIUSE)
    root = tools.root(source)
    variants = (POOL_1, POOL_4)
    with tools.server(POOL_1, root, (LEVEL,)) as serial_server, tools.server(POOL_4, root, (LEVEL,)) as cutting_server:
        servers = (serial_server, cutting_server)
        path = f"/{LEVEL}/{source.name}"
        targets = [Target(tools, server, variant, path) for server, variant in zip(servers, variants)]

        def milliseconds(target: Target) -> tuple[float, float]:
            report, _ = target.checked(source, "--closed", 1, "--first-content", FIRST_CONTENT)
            return float(report["first_content_ms"]["max"]), float(report["latency_ms"]["max"])

        for target in targets:
            target.once(1)
        for variant, times in zip(variants, by_turns([partial(milliseconds, each) for each in targets], ROUNDS)):
            first, last = zip(*times)
            yield Figure(f"tasks {variant.tasks}, first 32 KiB", statistics.median(first), "ms")
            yield Figure(f"tasks {variant.tasks}, last byte", statistics.median(last), "ms")
            share = 100 * ratio(first, last)
            yield Figure(f"tasks {variant.tasks}, first 32 KiB by", share, "% of that", at_most=GOAL)
