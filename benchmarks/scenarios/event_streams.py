"""1,000 open event streams at level 6: every event decodable before the next, peak memory within the limit

Goals: one event of 200 bytes a second on each stream, and a peak of resident memory (VmHWM) of at
most what brotli_memory_limit says; resident memory is back 10 s after. The limit is one that just has room
for the promises to 1,000 responses (192 MiB) and one encoder for each thread: so all streams are compressed,
and nearly all encoders are given back after each event.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import event_streams
from footprint import MIB, rested, settle
from scenarios import Figure
from servers import POOL_4
from tools import Tools

LEVEL = 6
STREAMS = 1000
SECONDS = 25.0
WARMUP_STREAMS = 8
WARMUP_SECONDS = 2.0
LIMIT_MIB = 256


def run(tools: Tools) -> Iterator[Figure]:
    with event_streams.upstream() as upstream:
        location = f"""
        location /events {{
            proxy_pass http://127.0.0.1:{upstream};
            proxy_http_version 1.1;
            proxy_buffering off;
            brotli_types text/event-stream;
            brotli_comp_level {LEVEL};
        }}"""
        limit = f"brotli_memory_limit {LIMIT_MIB}m;"
        with tools.server(POOL_4, tools.root(), (), limit, server_directives=location) as server:
            event_streams.read(server.port, "/events", WARMUP_STREAMS, WARMUP_SECONDS)
            settle()
            before = server.resident_memory()
            spent = server.cpu_time()
            seen = event_streams.read(server.port, "/events", STREAMS, SECONDS)
            ended = time.monotonic()
            spent = server.cpu_time() - spent
            yield Figure("compressed streams", seen.compressed, at_least=STREAMS)
            yield Figure("late events", seen.late, f"of {seen.events:,}", at_most=0)
            delays = sorted(seen.delays)
            yield Figure("sent to decodable, median", 1000 * statistics.median(delays), "ms")
            yield Figure("sent to decodable, p99", 1000 * delays[len(delays) * 99 // 100], "ms")
            yield Figure("sent to decodable, longest", 1000 * delays[-1], "ms")
            yield Figure("processor time per event", 1e6 * spent.total / seen.events, "us")
            yield Figure("peak", server.peak_memory() / MIB, "MiB", at_most=LIMIT_MIB)
            yield rested("resident", server, before, ended)
