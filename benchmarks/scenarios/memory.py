"""memory at eight connections on 1 to 2.2 MB: peak against google's worker, and what stays 10 s later

Goals: at level 6 on react-dom, with two threads and four tasks, at most 4 times google's VmHWM.
And at most 3 times at levels 4, 6 and 9, on the beginning of caniuse too, and resident memory is back
10 s after each load. Each place has a worker of its own, since a peak is a worker's; they rest side by
side.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import files
from footprint import MIB, rested, settle
from nginx_server import NginxServer
from scenarios import Figure
from servers import GOOGLE, INLINE, POOL_1, POOL_4, Variant
from tools import Target, Tools

LEVELS = (4, 6, 9)
CONNECTIONS = 8
SECONDS = 2.0
LENGTH = 2_200_000
PART_1_LEVEL = 6
PART_1_GOAL = 4.0
GOAL = 3.0


def run(tools: Tools) -> Iterator[Figure]:
    sources = [files.fetch(files.REACT_DOM), files.beginning(files.CANIUSE, LENGTH)]
    root = tools.root(*sources)
    places = [(level, path.name) for path in sources for level in LEVELS]

    def server_for(variant: Variant) -> NginxServer:
        return tools.server(variant, root, LEVELS)

    def target(server: NginxServer, variant: Variant, level: int, name: str) -> Target:
        return Target(tools, server, variant, f"/{level}/{name}")

    def peak(variant: Variant, level: int, name: str) -> float:
        with server_for(variant) as server:
            target(server, variant, level, name).busy(CONNECTIONS, SECONDS)
            return server.peak_memory() / MIB

    part_1 = (PART_1_LEVEL, files.REACT_DOM.name)
    google = {place: peak(GOOGLE, *place) for place in places}
    peaks = {GOOGLE: google[part_1]} | {each: peak(each, *part_1) for each in (INLINE, POOL_1, POOL_4)}
    for variant, memory in peaks.items():
        yield Figure(f"{variant.label}", memory, "MiB")
    yield Figure("brio pool, tasks 4, x google's", peaks[POOL_4] / peaks[GOOGLE], at_most=PART_1_GOAL)

    with ExitStack() as stack:
        servers = {place: stack.enter_context(server_for(POOL_4)) for place in places}
        for place, server in servers.items():
            target(server, POOL_4, *place).once(CONNECTIONS)
        settle()
        before = {place: server.resident_memory() for place, server in servers.items()}
        ended = {}
        for place, server in servers.items():
            target(server, POOL_4, *place).busy(CONNECTIONS, SECONDS)
            ended[place] = time.monotonic()
            level, name = place
            ratio = server.peak_memory() / MIB / google[place]
            yield Figure(f"level {level}, {name}, x google's", ratio, at_most=GOAL)
        for place, server in servers.items():
            level, name = place
            yield rested(f"level {level}, {name}", server, before[place], ended[place])
