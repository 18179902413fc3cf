"""The servers that are measured side by side, and how one is set up for a level.

A variant is a module and how it is set: google's and stock gzip compress in the event loop, brio does
so without a pool, or off the loop with one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from generator import BROTLI
from nginx_server import ServerConfig

POOL_THREADS = max(2, len(os.sched_getaffinity(0)))
SMALL_FILE = "small.txt"
SMALL_RATE = 1000


@dataclass(frozen=True)
class Variant:
    """label is for people, key for file names; tasks without a pool mean nothing."""

    key: str
    label: str
    module: str
    pool_threads: int = 0
    tasks: int = 1

    @property
    def accepts(self) -> str:
        return "Accept-Encoding: gzip" if self.module == "gzip" else BROTLI

    def config(self, root: Path, brio: Path, levels: tuple[int, ...], directives: str = "") -> ServerConfig:
        return ServerConfig(
            root=root,
            module=str(brio) if self.module == "brio" else self.module,
            levels=levels,
            pool_threads=self.pool_threads,
            tasks=self.tasks,
            brotli_directives=directives,
        )


NONE = Variant("none", "no compression", "none")
GOOGLE = Variant("google", "google", "google")
GZIP = Variant("gzip", "gzip", "gzip")
INLINE = Variant("inline", "brio inline", "brio")
POOL_1 = Variant("pool1", "brio pool, tasks 1", "brio", POOL_THREADS, 1)
POOL_4 = Variant("pool4", "brio pool, tasks 4", "brio", POOL_THREADS, 4)
VARIANTS = (GOOGLE, GZIP, INLINE, POOL_1, POOL_4)
