"""The figures of a cell: what they are called, whether more is better, and how they are written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from matrix.results import Measured, Results
from servers import GOOGLE, GZIP, INLINE, POOL_1, POOL_4, Variant

KB = 1024
MB = 1024 * 1024


@dataclass(frozen=True)
class Metric:
    """name is the figure's in results.json; a value divided by scale is in `unit`."""

    name: str
    title: str
    unit: str
    scale: float = 1
    more_is_better: bool = False

    def value(self, cell: Measured) -> float:
        return cell[self.name] / self.scale

    def text(self, cell: Measured) -> str:
        return written(self.value(cell))

    def worse_by(self, cell: Measured, rival: Measured) -> float:
        """How many times worse than the rival: above 1 is behind."""
        ours, theirs = cell[self.name], rival[self.name]
        return theirs / ours if self.more_is_better else ours / theirs

    def ranges_overlap(self, cell: Measured, rival: Measured) -> bool:
        ours, theirs = cell.figures[self.name], rival.figures[self.name]
        return ours.low <= theirs.high and theirs.low <= ours.high


EIGHT_P50 = Metric("beside_eight_p50_ms", "Small requests beside eight large ones: median", "ms")
EIGHT_P99 = Metric("beside_eight_p99_ms", "Small requests beside eight large ones: p99", "ms")
EIGHT_P99_9 = Metric("beside_eight_p99_9_ms", "Small requests beside eight large ones: p99.9", "ms")
EIGHT_MAX = Metric("beside_eight_max_ms", "Small requests beside eight large ones: longest", "ms")
ONE_P50 = Metric("beside_one_p50_ms", "Small requests beside one large one: median", "ms")
ONE_P99 = Metric("beside_one_p99_ms", "Small requests beside one large one: p99", "ms")
ONE_P99_9 = Metric("beside_one_p99_9_ms", "Small requests beside one large one: p99.9", "ms")
ONE_MAX = Metric("beside_one_max_ms", "Small requests beside one large one: longest", "ms")
RATE = Metric("rate", "Requests per second", "1/s", more_is_better=True)
FIRST_CONTENT = Metric("first_content_ms", "Time to the first 32 KiB of decoded content", "ms")
LAST_BYTE = Metric("last_byte_ms", "Time to the last byte", "ms")
CPU = Metric("cpu_ms", "Processor time per response, worker and threads", "ms")
CPU_EVENT_LOOP = Metric("cpu_event_loop_ms", "Processor time per response in the event loop", "ms")
MEMORY = Metric("memory", "Peak memory of the worker (VmHWM)", "MiB", MB)
SIZE = Metric("compressed", "Compressed size", "KiB", KB)

METRICS = (
    EIGHT_P50, EIGHT_P99, EIGHT_P99_9, EIGHT_MAX,
    ONE_P50, ONE_P99, ONE_P99_9, ONE_MAX,
    RATE, FIRST_CONTENT, LAST_BYTE, CPU, CPU_EVENT_LOOP, MEMORY, SIZE,
)  # fmt: skip

BEHIND_FROM = 1.02


@dataclass(frozen=True)
class Behind:
    """One cell in which brio is worse than a rival."""

    metric: Metric
    cell: Measured
    rival: Variant
    times: float
    within_spread: bool


def behind(results: Results) -> Iterator[Behind]:
    """Every cell and metric in which a brio variant is worse than google or gzip by more than 2 %."""
    for metric in METRICS:
        for variant in (INLINE, POOL_1, POOL_4):
            for rival in (GOOGLE, GZIP):
                for level, file in results.places():
                    cell, other = results.find(variant, level, file), results.find(rival, level, file)
                    if cell is None or other is None:
                        continue
                    times = metric.worse_by(cell, other)
                    if times > BEHIND_FROM:
                        yield Behind(metric, cell, rival, times, metric.ranges_overlap(cell, other))


def written(value: float) -> str:
    """Three significant digits, and thousands apart."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
