"""peak memory at eight connections on react-dom at level 6, against google's worker

Part 1's goal: with two threads and four tasks at most 4 times google's VmHWM.
"""

from __future__ import annotations

from collections.abc import Iterator

import files
from scenarios import Figure
from servers import GOOGLE, INLINE, POOL_1, POOL_4, Variant
from tools import Target, Tools

LEVEL = 6
CONNECTIONS = 8
SECONDS = 2.0
MIB = 1024 * 1024
GOAL = 4.0


def run(tools: Tools) -> Iterator[Figure]:
    source = files.fetch(files.REACT_DOM)
    root = tools.root(source)

    def peak(variant: Variant) -> float:
        with tools.server(variant, root, (LEVEL,)) as server:
            Target(tools, server, variant, f"/{LEVEL}/{source.name}").busy(CONNECTIONS, SECONDS)
            return server.peak_memory() / MIB

    peaks = {variant: peak(variant) for variant in (GOOGLE, INLINE, POOL_1, POOL_4)}
    for variant, memory in peaks.items():
        yield Figure(f"{variant.label}", memory, "MiB")
    yield Figure("brio pool, tasks 4, x google's", peaks[POOL_4] / peaks[GOOGLE], at_most=GOAL)
