"""brotli_memory_limit 128m under 200 connections at level 9: right bodies, half of them compressed, peak memory

Goals: no failure, all bodies right, at least half of the responses compressed, and a peak of
resident memory within 1.25 times the limit above what the worker had before. Each connection asks once a
round: responses that are sent as they are end at once, and in a closed loop would be nearly all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import files
from footprint import MIB
from scenarios import Figure
from servers import POOL_4
from tools import BenchError, Target, Tools

LEVEL = 9
LENGTH = 2_200_000
CONNECTIONS = 200
ROUNDS = 3
LIMIT_MIB = 128
PEAK_GOAL = 1.25
COMPRESSED_GOAL = 0.5


def run(tools: Tools) -> Iterator[Figure]:
    source = files.beginning(files.CANIUSE, LENGTH)
    with tools.server(POOL_4, tools.root(source), (LEVEL,), f"brotli_memory_limit {LIMIT_MIB}m;") as server:
        target = Target(tools, server, POOL_4, f"/{LEVEL}/{source.name}")
        before = server.resident_memory()
        wrong = sum(_wrong_bodies(target, source, f"round-{index}") for index in range(ROUNDS))
        above = (server.peak_memory() - before) / MIB
        served = server.served()
        share = sum(each.compressed for each in served) / len(served)
        yield Figure("problems in the error log", len(server.problems()), at_most=0)
        yield Figure("wrong bodies", wrong, f"of {len(served)}", at_most=0)
        yield Figure("share compressed", share, at_least=COMPRESSED_GOAL)
        yield Figure("peak above the worker's own", above, "MiB", at_most=PEAK_GOAL * LIMIT_MIB)
        yield Figure("the worker's own", before / MIB, "MiB")


def _wrong_bodies(target: Target, source: Path, name: str) -> int:
    """One round; a failed request ends it all."""
    folder = target.tools.scratch / name
    stream = replace(target.large("--closed", CONNECTIONS), bodies=folder)
    report = target.load(stream, duration=0.001)[stream.name]
    if report["requests"] != CONNECTIONS or report["bodies_not_kept"]:
        raise BenchError(f"{report['requests']} requests, {report['bodies_not_kept']} bodies not kept")
    right = hashlib.sha256(source.read_bytes()).hexdigest()
    return sum(body["count"] for body, digest in _digests(folder, report["bodies"]) if digest != right)


def _digests(folder: Path, bodies: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """Each body with the SHA-256 of what it holds: LENGTH bytes are the file as it is."""
    compressed = [body for body in bodies if body["bytes"] < LENGTH]
    yield from zip(compressed, files.decode_sha256([folder / body["file"] for body in compressed]))
    for body in bodies:
        if body["bytes"] >= LENGTH:
            yield body, hashlib.sha256((folder / body["file"]).read_bytes()).hexdigest()
