"""The figures in README: a block between two marks, written from results.json and never by hand."""

from __future__ import annotations

import os
import re
from pathlib import Path

from matrix import metrics
from matrix.metrics import written
from matrix.report import NAME as REPORT
from matrix.results import Results
from matrix.tables import table
from servers import VARIANTS
from tools import BenchError

BEGIN = "<!-- bench:begin -->"
END = "<!-- bench:end -->"
LEVEL = 6
FILE = "react-dom"
COLUMNS = {
    "p99 beside eight": metrics.EIGHT_P99,
    "p99 beside one": metrics.ONE_P99,
    "requests/s": metrics.RATE,
    "last byte": metrics.LAST_BYTE,
    "CPU": metrics.CPU,
    "peak memory": metrics.MEMORY,
    "size": metrics.SIZE,
}
PICTURES = ("latency-beside-eight", "throughput")


def rewrite(readme: Path, results: Results, folder: Path) -> None:
    """Replaces what is between the marks. Raises BenchError where they are not."""
    text = readme.read_text() if readme.exists() else ""
    block = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if len(block.findall(text)) != 1:
        raise BenchError(f"{readme} has no block between {BEGIN} and {END}")
    content = _content(results, Path(os.path.relpath(folder.resolve(), readme.resolve().parent)))
    readme.write_text(block.sub(lambda _: f"{BEGIN}\n{content}\n{END}", text))


def _content(results: Results, folder: Path) -> str:
    document = results.document
    rows = []
    for variant in VARIANTS:
        cell = results.find(variant, LEVEL, FILE)
        if cell is None:
            raise BenchError(f"the results have no {FILE} at level {LEVEL}")
        rows.append([variant.label, *(f"{metric.text(cell)}{_unit(metric)}" for metric in COLUMNS.values())])
    machine = document["machine"]
    pictures = "\n\n".join(f"![{name.replace('-', ' ')}]({folder / name}.svg)" for name in PICTURES)
    return (
        f"{FILE} (1 MB of JavaScript) at level {LEVEL}. p99 is that of 1,000 small requests a second on the same "
        f"worker, which is {written(results.idle['idle_p99_ms'].median)} ms when it does nothing else.\n\n"
        f"{table(['', *COLUMNS], rows)}\n\n"
        f"{pictures}\n\n"
        f"Medians of {document['rounds']} rounds of the {document['profile']} profile on {machine['processor']}, "
        f"nginx {machine['nginx']}, libbrotli {machine['libbrotli1']}. [Every figure]({folder / REPORT})."
    )


def _unit(metric: metrics.Metric) -> str:
    return "" if metric.unit == "1/s" else f" {metric.unit}"
