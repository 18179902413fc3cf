"""report.md: how it was measured, the answers, and every figure as a table and most as a picture."""

from __future__ import annotations

from pathlib import Path

from matrix.answers import answers
from matrix.metrics import METRICS, SIZE
from matrix.plots import PLOTS, SIZE_PLOT, draw
from matrix.results import Results
from matrix.tables import metric_table, table
from servers import POOL_THREADS, SMALL_RATE

NAME = "report.md"

METHOD = f"""\
Every server is the same nginx with one worker on loopback, `multi_accept on`, one module loaded and all
else default. A pool has {POOL_THREADS} threads. Each cell runs on an nginx of its own, in shuffled order, round after
round; figures are medians of the rounds. Before anything is measured the body is decoded and its SHA-256
compared.

Small requests (1.5 KB, not compressed) come in an open loop at {SMALL_RATE:,} a second; their latency counts from the
intended start, and the generator runs at real-time priority so that it does not measure its own wait for a
core. Beside them eight large requests come together every other time that google's module takes for eight,
the same for every module; or one large request at a time, in a closed loop. Where eight take google more
than 1.5 s they come once, and requests per second are those of two connections instead of eight."""


def write(results: Results, folder: Path) -> None:
    """report.md and the plots beside it."""
    draw(results, folder)
    plots = {metric.name: name for name, metric in PLOTS.items()} | {SIZE.name: SIZE_PLOT}
    parts = ["# Benchmarks", METHOD, _machine(results)]
    for question, answer in answers(results):
        parts += [f"## {question}", answer]
    for metric in METRICS:
        parts.append(f"## {metric.title} ({metric.unit})")
        if metric.name in plots:
            parts.append(f"![{metric.title}]({plots[metric.name]}.svg)")
        parts.append(metric_table(results, metric))
    (folder / NAME).write_text("\n\n".join(parts) + "\n")


def _machine(results: Results) -> str:
    document = results.document
    minutes = f"{document['seconds'] / 60:.0f} min"
    run = f"{document['profile']}, {document['rounds']} rounds, seed {document['seed']}, {minutes}"
    return table(["run", run], [[name, text] for name, text in document["machine"].items()], left=2)
