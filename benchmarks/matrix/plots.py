"""The pictures: SVG, the same bytes for the same results."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.ticker import FuncFormatter  # noqa: E402

from matrix import metrics  # noqa: E402
from matrix.metrics import Metric  # noqa: E402
from matrix.results import Results  # noqa: E402
from servers import GOOGLE, GZIP, INLINE, POOL_1, POOL_4, VARIANTS, Variant  # noqa: E402

COLORS = {GOOGLE: "#d1495b", GZIP: "#8d99ae", INLINE: "#8bbf9f", POOL_1: "#2e86ab", POOL_4: "#1b3a5c"}
MARKERS = {GOOGLE: "s", GZIP: "D", INLINE: "v", POOL_1: "o", POOL_4: "^"}
PLOTS: dict[str, Metric] = {
    "latency-beside-eight": metrics.EIGHT_P99,
    "latency-beside-one": metrics.ONE_P99,
    "throughput": metrics.RATE,
    "first-content": metrics.FIRST_CONTENT,
    "last-byte": metrics.LAST_BYTE,
    "cpu": metrics.CPU,
    "cpu-event-loop": metrics.CPU_EVENT_LOOP,
    "memory": metrics.MEMORY,
}
SIZE_PLOT = "size"
STYLE = {
    "svg.hashsalt": "brio",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#9aa0a6",
    "axes.titlesize": 9,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#e3e5e8",
    "grid.linewidth": 0.6,
    "xtick.color": "#44484d",
    "ytick.color": "#44484d",
    "legend.frameon": False,
    "figure.facecolor": "white",
}


def draw(results: Results, folder: Path) -> None:
    """Writes every plot."""
    folder.mkdir(parents=True, exist_ok=True)
    with pyplot.rc_context(STYLE):
        for name, metric in PLOTS.items():
            idle = results.idle["idle_p99_ms"].median if metric in (metrics.EIGHT_P99, metrics.ONE_P99) else None
            _panels(results, metric, folder / f"{name}.svg", idle)
        _sizes(results, folder / f"{SIZE_PLOT}.svg")


def _panels(results: Results, metric: Metric, path: Path, idle: float | None) -> None:
    """One panel a level; within it a place for each file and a mark for each variant."""
    figure, panels = _figure(results, f"{metric.title} ({metric.unit})")
    for axes, level in zip(panels, results.levels):
        for variant in VARIANTS:
            found = [(at, results.find(variant, level, file)) for at, file in enumerate(results.files)]
            points = [(at, metric.value(cell)) for at, cell in found if cell]
            _marks(axes, variant, points)
        if idle is not None:
            axes.axhline(idle, color="#44484d", linewidth=0.8, linestyle=(0, (4, 3)), label="idle")
        axes.set_yscale("log")
        _finish(axes, results, f"level {level}")
    _save(figure, panels[0], path)


def _sizes(results: Results, path: Path) -> None:
    """Sizes span four powers of ten and differ by parts of a hundred: so as a share of google's."""
    figure, panels = _figure(results, "Compressed size, google at the same level = 100 %")
    for axes, level in zip(panels, results.levels):
        for variant in (INLINE, POOL_1, POOL_4):
            points = []
            for at, file in enumerate(results.files):
                cell, google = results.find(variant, level, file), results.find(GOOGLE, level, file)
                if cell and google:
                    points.append((at, 100 * cell["compressed"] / google["compressed"]))
            _marks(axes, variant, points)
        axes.axhline(100, color=COLORS[GOOGLE], linewidth=1, label=GOOGLE.label)
        _finish(axes, results, f"level {level}")
    _save(figure, panels[0], path)


def _figure(results: Results, title: str) -> tuple[pyplot.Figure, list[Axes]]:
    count = len(results.levels)
    width = 0.9 + count * (0.7 + 0.28 * len(results.files))
    figure, panels = pyplot.subplots(1, count, figsize=(max(width, 6.4), 3.6), sharey=True, squeeze=False)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return figure, list(panels[0])


def _marks(axes: Axes, variant: Variant, points: list[tuple[int, float]]) -> None:
    """Beside one another, so that none hides another of the same value."""
    if points:
        aside = 0.13 * (VARIANTS.index(variant) - (len(VARIANTS) - 1) / 2)
        places, values = zip(*((at + aside, value) for at, value in points))
        axes.plot(places, values, MARKERS[variant], color=COLORS[variant], label=variant.label, markersize=5, alpha=0.9)


def _finish(axes: Axes, results: Results, title: str) -> None:
    axes.set_title(title)
    axes.set_xlim(-0.5, len(results.files) - 0.5)
    axes.set_xticks(range(len(results.files)), results.files, rotation=60, ha="right", rotation_mode="anchor")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.minorticks_off()
    axes.tick_params(length=0)


def _save(figure: pyplot.Figure, legend_of: Axes, path: Path) -> None:
    handles, labels = legend_of.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper right", ncols=len(labels), fontsize=8, bbox_to_anchor=(1, 0.955))
    figure.tight_layout(rect=(0, 0, 1, 0.93))
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
