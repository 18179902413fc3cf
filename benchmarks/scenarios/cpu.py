"""processor time per response against google's module, and how little of it is the event loop's

What the goals for throughput mean for a machine that does other things too: in the event loop no
more than google's time at levels 4, 6 and 9; with a pool, little more in all for the way to the threads
and back, and next to nothing of it in the event loop. A further one compares what keeps two cores busy, a pool of
two threads and two of google's workers, under the same load: at most 1.05 times google's time at levels 4 to
6, and 0.35 times on jquery at level 9, where google's maps its tables anew each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import files
from compare import by_turns, ratio
from nginx_server import CpuTime
from scenarios import Figure
from servers import GOOGLE, INLINE, POOL_1, POOL_4, POOL_THREADS, Variant
from tools import Target, Tools

LEVELS = (4, 6, 9)
CONNECTIONS = 4
ROUNDS = 7
SECONDS = 0.25
INLINE_GOAL = 1.03
POOL_GOAL = 1.15
EVENT_LOOP_GOAL = 0.10

BOTH_BUSY_LEVELS = (4, 5, 6)
BOTH_BUSY_CONNECTIONS = 8
BOTH_BUSY_ROUNDS = 5
BOTH_BUSY_SECONDS = 0.4
BOTH_BUSY_GOAL = 1.05
JQUERY_AT_9_GOAL = 0.35


def run(tools: Tools) -> Iterator[Figure]:
    yield from _one_google(tools)
    yield from _two_googles(tools)


def _one_google(tools: Tools) -> Iterator[Figure]:
    sources = [files.json_slice(64 * 1024), files.fetch(files.REACT_DOM)]
    root = tools.root(*sources)
    with (
        tools.server(GOOGLE, root, LEVELS) as google,
        tools.server(INLINE, root, LEVELS) as inline,
        tools.server(POOL_1, root, LEVELS) as pool,
    ):
        servers = {GOOGLE: google, INLINE: inline, POOL_1: pool}

        def targets(level: int, name: str) -> dict[Variant, Target]:
            return {each: Target(tools, servers[each], each, f"/{level}/{name}") for each in servers}

        for path in sources:
            for level in LEVELS:
                times = _by_turns(targets(level, path.name), CONNECTIONS, ROUNDS, SECONDS)
                total = {variant: [each.total for each in spent] for variant, spent in times.items()}
                loop = ratio([each.event_loop for each in times[POOL_1]], total[POOL_1])
                place = f"level {level}, {path.name}"
                inline_times = ratio(total[INLINE], total[GOOGLE])
                yield Figure(f"inline, {place}, x google's", inline_times, at_most=INLINE_GOAL)
                yield Figure(f"pool, {place}, x google's", ratio(total[POOL_1], total[GOOGLE]), at_most=POOL_GOAL)
                goal = EVENT_LOOP_GOAL if path.name == files.REACT_DOM.name else None
                yield Figure(f"pool, {place}, share of the event loop", loop, at_most=goal)


def _two_googles(tools: Tools) -> Iterator[Figure]:
    jquery, react_dom, caniuse = (files.fetch(each) for each in (files.JQUERY, files.REACT_DOM, files.CANIUSE))
    root = tools.root(jquery, react_dom, caniuse)
    places = [(level, path, BOTH_BUSY_GOAL) for path in (jquery, react_dom, caniuse) for level in BOTH_BUSY_LEVELS]
    places.append((9, jquery, JQUERY_AT_9_GOAL))
    levels = (*BOTH_BUSY_LEVELS, 9)
    with (
        tools.server(GOOGLE, root, levels, workers=POOL_THREADS) as google,
        tools.server(POOL_4, root, levels) as pool,
    ):
        for level, path, goal in places:
            targets = {
                variant: Target(tools, server, variant, f"/{level}/{path.name}")
                for variant, server in ((GOOGLE, google), (POOL_4, pool))
            }
            times = _by_turns(targets, BOTH_BUSY_CONNECTIONS, BOTH_BUSY_ROUNDS, BOTH_BUSY_SECONDS)
            total = {variant: [each.total for each in spent] for variant, spent in times.items()}
            name = f"pool, level {level}, {path.name}, x google's with {POOL_THREADS} workers"
            yield Figure(name, ratio(total[POOL_4], total[GOOGLE]), at_most=goal)


def _by_turns(
    targets: dict[Variant, Target], connections: int, rounds: int, seconds: float
) -> dict[Variant, list[CpuTime]]:
    """Processor time per response of each round."""
    for target in targets.values():
        target.once(connections)
    measures = [partial(target.cpu_time, connections, seconds) for target in targets.values()]
    return dict(zip(targets, by_turns(measures, rounds)))
