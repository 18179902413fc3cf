"""One cell measured once, on an nginx of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matrix.plan import CONNECTIONS, FIRST_CONTENT, Cell, Durations, Profile
from servers import GOOGLE
from tools import BenchError, Target, Tools

QUANTILES = {"p50": "p50", "p99": "p99", "p99.9": "p99_9", "max": "max"}


def time_of_one(tools: Tools, profile: Profile) -> dict[str, float]:
    """Google's time for one response in seconds, by level and file: what loads are scaled by."""
    times: dict[str, float] = {}
    cells = [cell for cell in profile.cells() if cell.variant == GOOGLE and cell.file is not None]
    root = tools.root(*{cell.file.path for cell in cells if cell.file})
    with tools.server(GOOGLE, root, profile.levels) as server:
        for cell in cells:
            target = _target(tools, server, cell)
            target.once(1)
            times[scale_key(cell)] = target.once(1)["latency_ms"]["p50"] / 1000
    return times


def scale_key(cell: Cell) -> str:
    return cell.key.removeprefix(f"{cell.variant.key}-")


def measure(tools: Tools, profile: Profile, cell: Cell, response: float) -> Mapping[str, float]:
    """Every figure of the cell. Raises BenchError where a body is wrong or nginx complains."""
    root = tools.root(*([cell.file.path] if cell.file else []))
    with tools.server(cell.variant, root, (cell.level,) if cell.file else ()) as server:
        figures = _load(_target(tools, server, cell), cell, profile, response)
        problems = server.problems()
    if problems:
        raise BenchError(f"{cell.label}: nginx says {problems[0]}")
    return figures


def _target(tools: Tools, server: Any, cell: Cell) -> Target:
    path = f"/{cell.level}/{cell.file.path.name}" if cell.file else ""
    return Target(tools, server, cell.variant, path)


def _load(target: Target, cell: Cell, profile: Profile, response: float) -> dict[str, float]:
    if cell.file is None:
        figures = _small("idle", target.load(target.small(), duration=profile.idle, warmup=0.2))
        return figures | {"memory": target.server.peak_memory()}
    durations = Durations.of(profile, response)
    server = target.server
    figures = {"compressed": target.verify(cell.file.path)}

    if durations.connections == CONNECTIONS:
        target.once(CONNECTIONS)
    busy, spent = target.busy(durations.connections, durations.throughput)
    figures["rate"] = busy["rate"]
    figures["cpu_ms"] = 1000 * spent.total
    figures["cpu_event_loop_ms"] = 1000 * spent.event_loop

    alone = target.large("--closed", 1, "--first-content", FIRST_CONTENT)
    report = target.load(alone, duration=durations.alone)["large"]
    figures["first_content_ms"] = report["first_content_ms"]["p50"]
    figures["last_byte_ms"] = report["latency_ms"]["p50"]

    eight = target.large("--burst", CONNECTIONS, "--period", round(1000 * durations.period, 3))
    figures |= _small("beside_eight", target.load(target.small(), eight, duration=durations.beside_eight))
    figures["memory"] = server.peak_memory()
    one = target.large("--closed", 1)
    figures |= _small("beside_one", target.load(target.small(), one, duration=durations.beside_one))
    return figures


def _small(prefix: str, report: dict[str, dict[str, Any]]) -> dict[str, float]:
    times = report["small"]["latency_ms"]
    return {f"{prefix}_{name}_ms": times[quantile] for quantile, name in QUANTILES.items()}
