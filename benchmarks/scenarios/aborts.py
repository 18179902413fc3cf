"""10,000 downloads that their clients abort, level 6: encoder time spent after that, and what stays

Goals: at most one step each, nothing leaks, memory is back. Twenty clients ask at once, and some
milliseconds later, while the worker stands still, all of them reset their connections: whatever encoder time
it spends from then on is spent after the abort. Most responses wait for a slot at that moment; those in the
pool's threads end with their step. Every tenth time the clients have gone before the worker has seen them. A
step's time is the mean over whole responses; the one that writes a mebibyte out takes ten times as long.
Google's module compresses in its event loop, which cannot see meanwhile that a client has gone.
"""

from __future__ import annotations

import random
import socket
import statistics
import struct
import time
from collections.abc import Iterator

import files
from footprint import MIB, rested, settle
from nginx_server import CpuTime
from scenarios import Figure
from servers import GOOGLE, POOL_4, POOL_THREADS
from tools import BenchError, Target, Tools

LEVEL = 6
LENGTH = 2_200_000
STEP = 64 * 1024
CLIENTS = 20
ROUNDS = 500
UNSEEN = 10
GOOGLE_ROUNDS = 10
LEAST_WAIT = 0.002
LONGEST_WAIT = 0.04
WARMUP_CONNECTIONS = 8
STEP_CONNECTIONS = 2
STEP_SECONDS = 2.0
GROWTH_GOAL = 1.0
PATIENCE_SECONDS = 30.0
SEED = 1


def run(tools: Tools) -> Iterator[Figure]:
    source = files.beginning(files.CANIUSE, LENGTH)
    root = tools.root(source)
    waits = _waits()
    with tools.server(POOL_4, root, (LEVEL,)) as server:
        target = Target(tools, server, POOL_4, f"/{LEVEL}/{source.name}")
        target.once(WARMUP_CONNECTIONS)
        settle()
        descriptors, before = server.descriptors(), server.resident_memory()
        step = target.cpu_time(STEP_CONNECTIONS, STEP_SECONDS).threads / -(-LENGTH // STEP)
        spent = [_aborted(target, wait) for wait in waits[: ROUNDS // 2]]
        settle()
        half_way = server.resident_memory()
        spent += [_aborted(target, wait) for wait in waits[ROUNDS // 2 :]]
        ended = time.monotonic()

        yield Figure("a step", 1000 * step, "ms")
        each = [cost.threads / step / CLIENTS for cost in spent]
        midway = [steps for steps, wait in zip(each, waits) if wait]
        unseen = [steps for steps, wait in zip(each, waits) if not wait]
        yield Figure("encoder time after an abort midway, steps each", statistics.mean(midway), at_most=1)
        yield Figure("the same, steps for each thread", statistics.mean(midway) * CLIENTS / POOL_THREADS)
        yield Figure("encoder time for clients never seen, steps each", statistics.mean(unseen), at_most=1)
        yield Figure("descriptors left open", server.descriptors() - descriptors, at_most=0)
        yield rested("resident", server, before, ended)
        grown = (server.resident_memory() - half_way) / MIB
        yield Figure("grown by the second half of the aborts", grown, "MiB", at_most=GROWTH_GOAL)
    with tools.server(GOOGLE, root, (LEVEL,)) as server:
        target = Target(tools, server, GOOGLE, f"/{LEVEL}/{source.name}")
        each = [_aborted(target, wait).total / step / CLIENTS for wait in waits[:GOOGLE_ROUNDS]]
        yield Figure("google's time after an abort, steps each", statistics.mean(each))


def _waits() -> list[float]:
    """Seconds until a round's clients go; 0 is before they are seen."""
    chance = random.Random(SEED)
    return [chance.uniform(LEAST_WAIT, LONGEST_WAIT) if at % UNSEEN else 0.0 for at in range(ROUNDS)]


def _aborted(target: Target, wait: float) -> CpuTime:
    """The processor time that is spent after a round's clients have gone."""
    server = target.server
    answered = server.answered() + CLIENTS
    clients = _ask(target) if wait else []
    time.sleep(wait)
    with server.stopped():
        before = server.cpu_time()
        for client in clients or _ask(target):
            client.close()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while server.answered() < answered or server.states() != {"S"}:
        if time.monotonic() > deadline:
            raise BenchError("requests of clients that have gone do not end")
        time.sleep(0.001)
    return server.cpu_time() - before


def _ask(target: Target) -> list[socket.socket]:
    """Clients that have asked and reset their connections when they close them."""
    request = f"GET {target.path} HTTP/1.1\r\nHost: localhost\r\n{target.variant.accepts}\r\n\r\n"
    clients = []
    for _ in range(CLIENTS):
        client = socket.create_connection(("127.0.0.1", target.server.port))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.sendall(request.encode())
        clients.append(client)
    return clients
