"""What a worker's memory comes back to when a load is over.

The measure is what one warm-up round leaves, once brio has given back what it keeps for later: it does so
after two seconds without work, and looks every two.
"""

from __future__ import annotations

import time

from nginx_server import NginxServer
from scenarios import Figure

MIB = 1024 * 1024
SETTLE_SECONDS = 5.0
REST_SECONDS = 10.0
GROWTH = 1.5
SLACK = 16 * MIB


def settle() -> None:
    """Lets workers give back what their warm-up round has left."""
    time.sleep(SETTLE_SECONDS)


def rested(label: str, server: NginxServer, before: int, ended: float) -> Figure:
    """Resident memory 10 s after a load that `ended` then (time.monotonic()), against the bytes `before` it."""
    time.sleep(max(0.0, ended + REST_SECONDS - time.monotonic()))
    goal = max(GROWTH * before, before + SLACK)
    return Figure(f"{label}, 10 s later", server.resident_memory() / MIB, "MiB", at_most=goal / MIB)
