"""What the figures say to the questions that brio is asked, in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from itertools import groupby

from matrix import metrics
from matrix.metrics import MB, Behind, behind, written
from matrix.plan import CONNECTIONS
from matrix.results import Results
from matrix.tables import table
from scenarios.offload_threshold import DEFAULT_MIN_LENGTH, crossover
from servers import GOOGLE, POOL_1, POOL_4, VARIANTS


def answers(results: Results) -> Iterator[tuple[str, str]]:
    """Questions and their answers."""
    yield "How far is p99 from idle?", _distance_from_idle(results)
    yield "What does a segment cost in size?", _cost_of_segments(results)
    yield "Where does the processor time go?", _processor_time(results)
    yield "How much memory does a response take?", _memory(results)
    if "offload_threshold" in results.document:
        yield "From which length and level on does a pool pay?", _offload(results)
    yield "Where is brio behind google or gzip?", _behind(results)


def _distance_from_idle(results: Results) -> str:
    idle = results.idle["idle_p99_ms"].median
    rows = []
    for variant in VARIANTS:
        texts = [variant.label]
        for metric in (metrics.EIGHT_P99, metrics.ONE_P99):
            cells = [cell for cell in results.cells if cell.variant == variant]
            times = sorted(cell[metric.name] / idle for cell in cells)
            texts += [written(statistics.median(times)), written(times[-1])]
        rows.append(texts)
    head = ["p99 of small requests / idle", "beside eight: median cell", "worst cell", "beside one: median", "worst"]
    return f"The idle server's p99 is {written(idle)} ms.\n\n" + table(head, rows)


def _cost_of_segments(results: Results) -> str:
    rows = []
    for level, file in results.places():
        whole, cut = results.find(POOL_1, level, file), results.find(POOL_4, level, file)
        if whole is None or cut is None or cut["compressed"] == whole["compressed"]:
            continue
        larger = 100 * (cut["compressed"] / whole["compressed"] - 1)
        gain = whole["last_byte_ms"] / cut["last_byte_ms"]
        sizes = [metrics.SIZE.text(whole), metrics.SIZE.text(cut)]
        rows.append([str(level), file, *sizes, f"{larger:+.2f} %", written(gain)])
    if not rows:
        return "No response of this run was long enough to be cut."
    head = ["level", "file", "one segment, KiB", "cut, KiB", "larger by", "last byte sooner, times"]
    text = "Only these were cut; all others have the same size with one task and with four."
    return f"{text}\n\n{table(head, rows, left=2)}"


def _processor_time(results: Results) -> str:
    rows = []
    for level, file in results.places():
        if file != "react-dom":
            continue
        google = results.find(GOOGLE, level, file)
        for variant in VARIANTS:
            cell = results.find(variant, level, file)
            if cell is None:
                continue
            loop = cell["cpu_event_loop_ms"]
            threads = max(cell["cpu_ms"] - loop, 0)
            beside = written(cell["cpu_ms"] / google["cpu_ms"]) if google else ""
            rows.append([str(level), variant.label, written(loop), written(threads), written(cell["cpu_ms"]), beside])
    head = ["level", "react-dom", "event loop, ms", "threads, ms", "total, ms", "x google"]
    return table(head, rows, left=2)


def _memory(results: Results) -> str:
    idle = results.idle["memory"].median
    rows = []
    for level, file in results.places():
        if file != "react-dom":
            continue
        cells = [results.find(variant, level, file) for variant in VARIANTS]
        above = [written((cell["memory"] - idle) / CONNECTIONS / MB) if cell else "" for cell in cells]
        rows.append([str(level), *above])
    head = ["level", *(f"{variant.label}, MiB" for variant in VARIANTS)]
    return (
        f"What the worker's peak is above an idle one's ({written(idle / MB)} MiB), divided by the {CONNECTIONS} "
        f"responses that were open at once: react-dom.\n\n{table(head, rows)}"
    )


def _offload(results: Results) -> str:
    measured = {
        int(level): {int(length): (inline, hop) for length, (inline, hop) in times.items()}
        for level, times in results.document["offload_threshold"].items()
    }
    lengths = sorted(next(iter(measured.values())))
    rows = []
    for level, times in measured.items():
        texts = [f"{written(times[length][0])} / {written(times[length][1])}" for length in lengths]
        rows.append([str(level), *texts, _kilobytes(crossover(times))])
    head = ["level", *(_kilobytes(length) for length in lengths), "pays from"]
    return (
        "Processor time of the event loop per response, in µs: compressing in the loop / handing the work to a "
        "thread. From the last column on the second is the smaller; `brotli_thread_pool_min_length` is "
        f"{_kilobytes(DEFAULT_MIN_LENGTH)} by default.\n\n" + table(head, rows)
    )


def _kilobytes(length: int) -> str:
    return f"{length / 1024:g}k"


def _behind(results: Results) -> str:
    def group_of(each: Behind) -> tuple[str, str, str]:
        return each.metric.title, each.cell.variant.label, each.rival.label

    rows = []
    for group, members in groupby(sorted(behind(results), key=group_of), key=group_of):
        rows.append([*group, "; ".join(map(_place, members))])
    if not rows:
        return "Nowhere by more than 2 %."
    return (
        "Every cell that is worse by more than 2 %: level, file, how many times worse. ~ marks those whose "
        "rounds overlap the rival's.\n\n" + table(["figure", "brio", "behind", "cells"], rows, left=4)
    )


def _place(each: Behind) -> str:
    return f"{each.cell.level} {each.cell.file} {written(each.times)}{'~' if each.within_spread else ''}"
