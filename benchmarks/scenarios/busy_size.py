"""compressed sizes at level 6 with tasks 4, under load and idle, against what tasks 1 makes

Goals: cuts cost size, so under load, at eight connections on react-dom and on caniuse, the median
response is within 0.1 % of the size with tasks 1; idle, where cuts buy time, caniuse on one connection is
at most 2 % above it. Every body is decoded and compared with its file.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

import files
from scenarios import Figure
from servers import POOL_1, POOL_4, Variant
from tools import Target, Tools

LEVEL = 6
CONNECTIONS = 8
SECONDS = 6.0
IDLE_ROUNDS = 5
BUSY_GOAL = 0.1
IDLE_GOAL = 2.0


def run(tools: Tools) -> Iterator[Figure]:
    sources = [files.fetch(files.REACT_DOM), files.fetch(files.CANIUSE)]
    root = tools.root(*sources)
    with (
        tools.server(POOL_1, root, (LEVEL,)) as serial_server,
        tools.server(POOL_4, root, (LEVEL,)) as cutting_server,
    ):
        servers = {POOL_1: serial_server, POOL_4: cutting_server}

        def idle(variant: Variant, source: Path) -> float:
            target = Target(tools, servers[variant], variant, f"/{LEVEL}/{source.name}")
            sizes = [target.checked(source, "--closed", 1)[1] for _ in range(IDLE_ROUNDS)]
            return statistics.median(size for (size,) in sizes)

        def busy(source: Path) -> list[int]:
            target = Target(tools, servers[POOL_4], POOL_4, f"/{LEVEL}/{source.name}")
            return target.checked(source, "--closed", CONNECTIONS, duration=SECONDS)[1]

        serial = {source: idle(POOL_1, source) for source in sources}
        for source in sources:
            sizes = busy(source)
            yield Figure(f"{source.name}, tasks 1", serial[source], "bytes")
            above = _percent_above(statistics.median(sizes), serial[source])
            yield Figure(f"{source.name}, busy, median of {len(sizes)} above it", above, "%", at_most=BUSY_GOAL)
            mean = _percent_above(statistics.mean(sizes), serial[source])
            yield Figure(f"{source.name}, busy, mean above it", mean, "%")
        caniuse = sources[1]
        above = _percent_above(idle(POOL_4, caniuse), serial[caniuse])
        yield Figure(f"{caniuse.name}, idle, above it", above, "%", at_most=IDLE_GOAL)


def _percent_above(size: float, reference: float) -> float:
    return 100 * (size / reference - 1)
