"""1,000 clients that read 2 KB/s of 2.2 MB responses at level 6: peak memory, and what stays 10 s later

Goals: at most 600 MB resident over 60 s; google's is told beside it. The sockets' buffers are small
on both sides, so that what a client does not read is the worker's to keep. A client that has a whole
response asks for another, and after the 60 s all are reset. The peak is VmHWM: no sample can miss it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import files
import generator
from footprint import rested, settle
from scenarios import Figure
from servers import GOOGLE, POOL_4, Variant
from tools import BenchError, Target, Tools

LEVEL = 6
LENGTH = 2_200_000
CLIENTS = 1000
READ_RATE = 2048
SECONDS = 60.0
WARMUP_CONNECTIONS = 8
MEGABYTE = 1_000_000
GOAL = 600.0


def run(tools: Tools) -> Iterator[Figure]:
    source = files.beginning(files.CANIUSE, LENGTH)
    root = tools.root(source)

    def target(variant: Variant) -> Target:
        server = tools.server(variant, root, (LEVEL,), listen_options="sndbuf=8k")
        return Target(tools, server, variant, f"/{LEVEL}/{source.name}")

    brio, google = target(POOL_4), target(GOOGLE)
    with brio.server as server:
        brio.once(WARMUP_CONNECTIONS)
        warm = server.answered()
        settle()
        before = server.resident_memory()
        _read_slowly(brio)
        ended = time.monotonic()
        yield Figure("peak", server.peak_memory() / MEGABYTE, "MB", at_most=GOAL)
        yield rested("resident", server, before, ended)
        served = server.served()[warm:]
        yield Figure("compressed", sum(each.compressed for each in served), f"of {len(served)}")
    with google.server as server:
        _read_slowly(google)
        yield Figure("peak of google's", server.peak_memory() / MEGABYTE, "MB")


def _read_slowly(target: Target) -> None:
    clients = target.large("--closed", CLIENTS, "--read-rate", READ_RATE)
    run = generator.run(target.tools.generator, [clients], duration=SECONDS, warmup=0, grace=0, at_end="aborted")
    if run[clients.name]["aborted"] != CLIENTS:
        raise BenchError(f"{run[clients.name]['aborted']} of {CLIENTS} clients were there at the end")
