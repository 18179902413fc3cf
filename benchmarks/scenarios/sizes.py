"""compressed sizes at every level on every file: never larger than google's

The goal for a known length without a pool and with a pool and one task; react-dom at level 6 has a
bound of its own. Sizes do not depend on time, so the servers work side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import files
from matrix.plan import all_files
from scenarios import Figure
from servers import GOOGLE, INLINE, POOL_1, Variant
from tools import Target, Tools

LEVELS = tuple(range(12))
REACT_DOM_AT_6 = 208_500

Sizes = dict[tuple[int, str], int]


def run(tools: Tools) -> Iterator[Figure]:
    sources = [file.path for file in all_files()]
    root = tools.root(*sources)

    def sizes(variant: Variant) -> Sizes:
        with tools.server(variant, root, LEVELS) as server:
            targets = {
                (level, path.name): Target(tools, server, variant, f"/{level}/{path.name}")
                for level in LEVELS
                for path in sources
            }
            return {place: target.once(1)["body_bytes"]["max"] for place, target in targets.items()}

    with ThreadPoolExecutor() as side_by_side:
        google, *ours = side_by_side.map(sizes, (GOOGLE, INLINE, POOL_1))
    for variant, measured in zip((INLINE, POOL_1), ours):
        worst = max(google, key=lambda place: measured[place] / google[place])
        yield Figure(f"{variant.label}, cells larger than google's", _larger(measured, google), at_most=0)
        name = f"{variant.label}, worst of {len(google)}: level {worst[0]}, {worst[1]}, size / google's"
        yield Figure(name, measured[worst] / google[worst], at_most=1)
        react_dom = measured[6, files.REACT_DOM.name]
        yield Figure(f"{variant.label}, react-dom level 6", react_dom, "bytes", at_most=REACT_DOM_AT_6)
    yield Figure("google, react-dom level 6", google[6, files.REACT_DOM.name], "bytes")


def _larger(ours: Sizes, theirs: Sizes) -> int:
    return sum(ours[place] > theirs[place] for place in theirs)
