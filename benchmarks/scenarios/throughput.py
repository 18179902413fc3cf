"""requests per second against google's module, and what a pool gains against what bare threads do, by turns

Goals: in the event loop at least 0.97 of google's at levels 4, 6 and 9 on 64 KB of JSON, jquery
and react-dom, and 3.5 times as many on jquery at level 9; with two pool threads at least 1.35 times as
many on react-dom at level 6. With them 5 times as many on jquery at level 9; and what they gain
over the event loop is at least 0.9 of what two threads that do nothing but compress gain over one, measured
in the same rounds. At level 11 that is one response for each thread with tasks 1: with cuts the first one
would have both threads, and the last would have one to itself.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import files
from compare import by_turns, ratio
from scenarios import Figure
from servers import GOOGLE, INLINE, POOL_1, POOL_4, POOL_THREADS, Variant
from tools import BenchError, Target, Tools

LEVELS = (4, 6, 9)
CONNECTIONS = 4
ROUNDS = 7
SECONDS = 0.3
GOALS = {(9, "jquery.min.js"): 3.5}
GOAL = 0.97
POOL_GOAL = 1.35
POOL_JQUERY_AT_9_GOAL = 5.0

GAIN_LENGTH_AT_11 = 2_200_000
GAIN_GOAL = 0.9
GAIN_ROUNDS = 7
GAIN_SECONDS = 0.4
GAIN_ROUNDS_AT_11 = 3


def run(tools: Tools) -> Iterator[Figure]:
    sources = [files.json_slice(64 * 1024), files.fetch(files.JQUERY), files.fetch(files.REACT_DOM)]
    at_11 = files.beginning(files.CANIUSE, GAIN_LENGTH_AT_11)
    gain_places = [(6, path) for path in (*sources[1:], files.fetch(files.CANIUSE))] + [(11, at_11)]
    root = tools.root(*sources, *(path for _, path in gain_places))
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
        times = against_google(POOL_1, 9, files.JQUERY.name)
        yield Figure(f"pool, level 9, {files.JQUERY.name}, x google's", times, at_least=POOL_JQUERY_AT_9_GOAL)
    levels = (6, 11)
    with (
        tools.server(INLINE, root, levels) as inline_server,
        tools.server(POOL_1, root, levels) as serial_server,
        tools.server(POOL_4, root, levels) as cutting_server,
    ):
        for level, path in gain_places:
            variant, server = (POOL_1, serial_server) if level == 11 else (POOL_4, cutting_server)
            inline = Target(tools, inline_server, INLINE, f"/{level}/{path.name}")
            pool = Target(tools, server, variant, f"/{level}/{path.name}")
            yield from _gains(inline, pool, path, level)


def _gains(inline: Target, pool: Target, path: Path, level: int) -> Iterator[Figure]:
    for target in (inline, pool):
        target.verify(path)
    bare = BareEncoder(path, level)
    measures = [partial(bare.rate, 1), partial(bare.rate, POOL_THREADS)]
    measures += [partial(_rate, target, level) for target in (inline, pool)]
    rounds = GAIN_ROUNDS_AT_11 if level == 11 else GAIN_ROUNDS
    one, two, looped, pooled = by_turns(measures, rounds)
    bare_gain, gain = ratio(two, one), ratio(pooled, looped)
    place = f"level {level}, {path.name}"
    yield Figure(f"bare threads, {place}, gain", bare_gain)
    yield Figure(f"pool, {place}, gain over the event loop", gain, at_least=GAIN_GOAL * bare_gain)


def _rate(target: Target, level: int) -> float:
    """Requests a second; those of a single response for each thread at level 11, where that takes seconds."""
    if level < 11:
        return target.rate(2 * CONNECTIONS, GAIN_SECONDS)
    report = target.once(POOL_THREADS)
    return float(report["requests"] / (report["latency_ms"]["max"] / 1000))


class BareEncoder:
    """libbrotli alone on one file, with brio's window. ctypes lets other threads run during a call, and glibc
    is told to keep memory between them, as brio does."""

    WINDOW_BITS = 19
    GENERIC_MODE = 0
    M_MMAP_THRESHOLD, M_TRIM_THRESHOLD = -3, -1
    KEPT = 32 * 1024 * 1024

    def __init__(self, path: Path, level: int) -> None:
        self._content = path.read_bytes()
        self._level = level
        libc = ctypes.CDLL(None)
        libc.mallopt(self.M_MMAP_THRESHOLD, self.KEPT)
        libc.mallopt(self.M_TRIM_THRESHOLD, 4 * self.KEPT)
        self._library = ctypes.CDLL("libbrotlienc.so.1")
        started = time.monotonic()
        self._compress(1)
        self._count = max(1, round(GAIN_SECONDS / (time.monotonic() - started)))

    def rate(self, threads: int) -> float:
        """Compressions a second of so many threads together."""
        with ThreadPoolExecutor(threads) as executor:
            started = time.monotonic()
            list(executor.map(self._compress, [self._count] * threads))
            return threads * self._count / (time.monotonic() - started)

    def _compress(self, count: int) -> None:
        size = len(self._content)
        space = ctypes.create_string_buffer(size + size // 8 + 1024)
        for _ in range(count):
            used = ctypes.c_size_t(len(space))
            content = (ctypes.c_size_t(size), self._content, ctypes.byref(used), space)
            if not self._library.BrotliEncoderCompress(self._level, self.WINDOW_BITS, self.GENERIC_MODE, *content):
                raise BenchError(f"libbrotli could not compress at level {self._level}")
