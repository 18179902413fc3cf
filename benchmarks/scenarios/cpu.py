"""processor time per response against google's module, and how little of it is the event loop's

What part 1's goals for throughput mean for a machine that does other things too: in the event loop no
more than google's time at levels 4, 6 and 9; with a pool, little more in all for the way to the threads
and back, and next to nothing of it in the event loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import files
from compare import by_turns, ratio
from nginx_server import CpuTime
from scenarios import Figure
from servers import GOOGLE, INLINE, POOL_1, Variant
from tools import Target, Tools

LEVELS = (4, 6, 9)
CONNECTIONS = 4
ROUNDS = 7
SECONDS = 0.25
INLINE_GOAL = 1.03
POOL_GOAL = 1.15
EVENT_LOOP_GOAL = 0.10


def run(tools: Tools) -> Iterator[Figure]:
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
                times = _by_turns(targets(level, path.name))
                total = {variant: [each.total for each in spent] for variant, spent in times.items()}
                loop = ratio([each.event_loop for each in times[POOL_1]], total[POOL_1])
                place = f"level {level}, {path.name}"
                inline_times = ratio(total[INLINE], total[GOOGLE])
                yield Figure(f"inline, {place}, x google's", inline_times, at_most=INLINE_GOAL)
                yield Figure(f"pool, {place}, x google's", ratio(total[POOL_1], total[GOOGLE]), at_most=POOL_GOAL)
                goal = EVENT_LOOP_GOAL if path.name == files.REACT_DOM.name else None
                yield Figure(f"pool, {place}, share of the event loop", loop, at_most=goal)


def _by_turns(targets: dict[Variant, Target]) -> dict[Variant, list[CpuTime]]:
    for target in targets.values():
        target.once(CONNECTIONS)
    measures = [partial(target.cpu_time, CONNECTIONS, SECONDS) for target in targets.values()]
    return dict(zip(targets, by_turns(measures, ROUNDS)))
