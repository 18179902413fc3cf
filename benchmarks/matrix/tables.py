"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from matrix.metrics import Metric
from matrix.results import Results
from servers import VARIANTS


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """The first `left` columns are text, the others numbers."""
    lines = [" | ".join(head), " | ".join("---" if at < left else "--:" for at in range(len(head)))]
    lines += [" | ".join(row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def metric_table(results: Results, metric: Metric) -> str:
    """A row for each level and file, a column for each variant; the best of a row is bold."""
    rows = []
    for level, file in results.places():
        cells = [results.find(variant, level, file) for variant in VARIANTS]
        values = [metric.value(cell) for cell in cells if cell]
        best = max(values) if metric.more_is_better else min(values)
        texts = [("" if not cell else _strong(metric.text(cell), metric.value(cell) == best)) for cell in cells]
        rows.append([str(level), file, *texts])
    return table(["level", "file", *(variant.label for variant in VARIANTS)], rows, left=2)


def _strong(text: str, strong: bool) -> str:
    return f"**{text}**" if strong else text
