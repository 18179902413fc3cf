"""requests per second against google's module, by turns

Part 1's goal: in the event loop at least 0.97 of google's at levels 4, 6 and 9 on 64 KB of JSON, jquery
and react-dom, and 3.5 times as many on jquery at level 9; with two pool threads at least 1.35 times as
many on react-dom at level 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import files
from compare import by_turns, ratio
from scenarios import Figure
from servers import GOOGLE, INLINE, POOL_1, Variant
from tools import Target, Tools

LEVELS = (4, 6, 9)
CONNECTIONS = 4
ROUNDS = 7
SECONDS = 0.3
GOALS = {(9, "jquery.min.js"): 3.5}
GOAL = 0.97
POOL_GOAL = 1.35


def run(tools: Tools) -> Iterator[Figure]:
    sources = [files.json_slice(64 * 1024), files.fetch(files.JQUERY), files.fetch(files.REACT_DOM)]
    root = tools.root(*sources)
    places = [(level, path.name) for path in sources for level in LEVELS]
    variants = (GOOGLE, INLINE, POOL_1)
    with (
        tools.server(GOOGLE, root, LEVELS) as google_server,
        tools.server(INLINE, root, LEVELS) as inline_server,
        tools.server(POOL_1, root, LEVELS) as pool_server,
    ):
        servers = dict(zip(variants, (google_server, inline_server, pool_server)))

        def against_google(variant: Variant, level: int, name: str) -> float:
            path = f"/{level}/{name}"
            pair = [Target(tools, servers[each], each, path) for each in (variant, GOOGLE)]
            for target in pair:
                target.once(CONNECTIONS)
            ours, theirs = by_turns([partial(target.rate, CONNECTIONS, SECONDS) for target in pair], ROUNDS)
            return ratio(ours, theirs)

        for level, name in places:
            goal = GOALS.get((level, name), GOAL)
            times = against_google(INLINE, level, name)
            yield Figure(f"inline, level {level}, {name}, x google's", times, at_least=goal)
        times = against_google(POOL_1, 6, files.REACT_DOM.name)
        yield Figure(f"pool, level 6, {files.REACT_DOM.name}, x google's", times, at_least=POOL_GOAL)
