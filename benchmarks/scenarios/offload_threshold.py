"""from which length on a pool saves the event loop time, at levels 1, 4, 5 and 6

Compressing in the event loop costs it the compression; handing the work to a thread costs it the way
there and back. Both are measured as the event loop's processor time per response, for lengths from 1 to
64 KB; where the second falls below the first a pool begins to pay, and `brotli_thread_pool_min_length`
should be about there.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import partial

import files
from compare import by_turns
from scenarios import Figure
from servers import INLINE, POOL_1
from tools import Target, Tools

LEVELS = (1, 4, 5, 6)
LENGTHS = tuple(1024 << power for power in range(7))
ROUNDS = 3
SECONDS = 0.15
CONNECTIONS = 2
DEFAULT_MIN_LENGTH = 4096
DEFAULT_LEVEL = 6

Microseconds = dict[int, dict[int, tuple[float, float]]]


def measure(tools: Tools) -> Microseconds:
    """By level and length: the event loop's microseconds per response, in the loop and with a hop."""
    sources = [files.beginning(files.REACT_DOM, length) for length in LENGTHS]
    root = tools.root(*sources)
    every_length = "brotli_thread_pool_min_length 0; brotli_min_length 0;"
    with (
        tools.server(INLINE, root, LEVELS) as inline_server,
        tools.server(POOL_1, root, LEVELS, every_length) as pool_server,
    ):

        def both(level: int, name: str) -> tuple[float, float]:
            path = f"/{level}/{name}"
            targets = (Target(tools, inline_server, INLINE, path), Target(tools, pool_server, POOL_1, path))
            for target in targets:
                target.once(CONNECTIONS)
            spent = by_turns([partial(target.cpu_time, CONNECTIONS, SECONDS) for target in targets], ROUNDS)
            inline, hop = (statistics.median(each.event_loop for each in rounds) for rounds in spent)
            return 1e6 * inline, 1e6 * hop

        return {level: {len(path.read_bytes()): both(level, path.name) for path in sources} for level in LEVELS}


def crossover(times: dict[int, tuple[float, float]]) -> int:
    """The least length from which on the hop is the cheaper; twice the longest where it never is."""
    cheaper = 2 * max(times)
    for length in sorted(times, reverse=True):
        inline, hop = times[length]
        if hop >= inline:
            break
        cheaper = length
    return cheaper


def run(tools: Tools) -> Iterator[Figure]:
    measured = measure(tools)
    for level, times in measured.items():
        for length, (inline, hop) in times.items():
            yield Figure(f"level {level}, {length // 1024} KB: event loop saves", inline - hop, "us")
    for level, times in measured.items():
        yield Figure(f"level {level}: a pool pays from", crossover(times), "bytes")
    share = DEFAULT_MIN_LENGTH / crossover(measured[DEFAULT_LEVEL])
    yield Figure("default of brotli_thread_pool_min_length / crossover at level 6", share, at_least=0.5, at_most=2)
