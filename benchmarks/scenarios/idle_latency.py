"""time to the last byte of caniuse at level 6 on an idle server: tasks 4 against tasks 1

Goals: at least 1.5 times faster, on one connection with two pool threads. Every body is decoded
and compared with its file.
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

LEVEL = 6
ROUNDS = 25
GOAL = 1.5


def run(tools: Tools) -> Iterator[Figure]:
    source = files.fetch(files.CANIUSE)
    root = tools.root(source)
    with (
        tools.server(POOL_1, root, (LEVEL,)) as serial_server,
        tools.server(POOL_4, root, (LEVEL,)) as cutting_server,
    ):
        path = f"/{LEVEL}/{source.name}"
        targets = [Target(tools, serial_server, POOL_1, path), Target(tools, cutting_server, POOL_4, path)]

        def milliseconds(target: Target) -> float:
            report, _ = target.checked(source, "--closed", 1)
            return float(report["latency_ms"]["max"])

        for target in targets:
            target.once(1)
        serial, cutting = by_turns([partial(milliseconds, target) for target in targets], ROUNDS)
    yield Figure("tasks 1, last byte", statistics.median(serial), "ms")
    yield Figure("tasks 4, last byte", statistics.median(cutting), "ms")
    yield Figure("tasks 1 / tasks 4", ratio(serial, cutting), at_least=GOAL)
