"""small requests beside eight react-dom at level 6: p99 against idle and against google's module

Goals: with a pool, at most 3 times the idle server's and at most a twentieth of google's. The
load is the demonstration's: 1,000 small requests a second, open loop, and eight large ones together
every other time that google takes for eight.
"""

from __future__ import annotations

from collections.abc import Iterator

import files
from scenarios import Figure
from servers import GOOGLE, NONE, POOL_4
from small_requests import bursts, median, rounds, time_of_burst
from tools import Target, Tools

LEVEL = 6


def run(tools: Tools) -> Iterator[Figure]:
    source = files.fetch(files.REACT_DOM)
    root = tools.root(source)
    path = f"/{LEVEL}/{source.name}"
    with (
        tools.server(NONE, root, ()) as nobody,
        tools.server(GOOGLE, root, (LEVEL,)) as google,
        tools.server(POOL_4, root, (LEVEL,)) as brio,
    ):
        beside_google = Target(tools, google, GOOGLE, path)
        beside_brio = Target(tools, brio, POOL_4, path)
        for target in (beside_google, beside_brio):
            target.verify(source)
        period_ms = 2 * time_of_burst(tools.generator, google.url(path))
        phases = {
            "idle": [Target(tools, nobody, NONE, path).small()],
            "google": [beside_google.small(), bursts(google.url(path), period_ms)],
            "brio": [beside_brio.small(), bursts(brio.url(path), period_ms)],
        }
        reports = list(rounds(tools.generator, phases))
    p99 = {name: median([each[name] for each in reports], "p99") for name in phases}
    yield Figure("p99 idle", p99["idle"], "ms")
    yield Figure("p99 beside google", p99["google"], "ms")
    yield Figure("p99 beside brio", p99["brio"], "ms")
    yield Figure("p99.9 beside brio", median([each["brio"] for each in reports], "p99.9"), "ms")
    yield Figure("p99 beside brio / idle", p99["brio"] / p99["idle"], at_most=3)
    yield Figure("p99 beside google / brio", p99["google"] / p99["brio"], at_least=20)
