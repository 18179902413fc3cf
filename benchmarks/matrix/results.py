"""The results of a run: the medians of each cell, with the range they came from, as JSON and as values."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from matrix.plan import Profile
from matrix.state import State
from servers import VARIANTS, Variant
from tools import BenchError

NAME = "results.json"


class Figure(NamedTuple):
    """A median, and the least and the most of the rounds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Figure:
        return cls(*map(_shortened, (statistics.median(values), min(values), max(values))))


def _shortened(value: float) -> float:
    """Five significant digits of a measurement; counts of bytes are exact."""
    return value if value == int(value) else float(f"{value:.5g}")


@dataclass(frozen=True)
class Measured:
    """One cell: figures by name."""

    variant: Variant
    level: int
    file: str
    bytes: int
    figures: dict[str, Figure]

    def __getitem__(self, name: str) -> float:
        return self.figures[name].median


class Results:
    """A results.json."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        variants = {variant.key: variant for variant in VARIANTS}
        self.cells = [
            Measured(
                variants[cell["variant"]],
                cell["level"],
                cell["file"],
                cell["bytes"],
                {name: Figure(*values) for name, values in cell["figures"].items()},
            )
            for cell in document["cells"]
        ]
        self.idle = {name: Figure(*values) for name, values in document["idle"].items()}
        self._by_place = {(cell.variant.key, cell.level, cell.file): cell for cell in self.cells}
        self.levels = sorted({cell.level for cell in self.cells})
        sizes = {cell.file: cell.bytes for cell in self.cells}
        self.files = sorted(sizes, key=lambda file: sizes[file])

    def find(self, variant: Variant, level: int, file: str) -> Measured | None:
        return self._by_place.get((variant.key, level, file))

    def places(self) -> Iterator[tuple[int, str]]:
        """Each level and file that was measured."""
        for level in self.levels:
            for file in self.files:
                if any((variant.key, level, file) in self._by_place for variant in VARIANTS):
                    yield level, file


def collect(profile: Profile, state: State) -> Results:
    """Medians of all rounds of a finished run."""
    tasks = profile.tasks(state.facts["seed"])
    by_cell: dict[Any, list[dict[str, float]]] = {}
    for task in sorted(tasks, key=lambda task: task.round):
        by_cell.setdefault(task.cell, []).append(state.get(task))
    idle = [figures for cell, rounds in by_cell.items() if cell.file is None for figures in rounds]
    return Results(
        {
            "profile": profile.name,
            "seed": state.facts["seed"],
            "rounds": profile.rounds,
            "seconds": state.facts["seconds"],
            "machine": state.facts["machine"],
            "idle": _figures(idle),
            **{name: state.facts[name] for name in ("offload_threshold",) if name in state.facts},
            "cells": [
                {
                    "variant": cell.variant.key,
                    "level": cell.level,
                    "file": cell.file.label,
                    "bytes": cell.file.bytes,
                    "figures": _figures(by_cell[cell]),
                }
                for cell in profile.cells()
                if cell.file is not None
            ],
        }
    )


def _figures(rounds: list[dict[str, float]]) -> dict[str, Figure]:
    return {name: Figure.of([figures[name] for figures in rounds]) for name in rounds[0]}


def write(results: Results, folder: Path) -> None:
    """One line a cell, so that two runs can be compared by their lines."""
    folder.mkdir(parents=True, exist_ok=True)
    document = dict(results.document)
    cells = ",\n".join("  " + json.dumps(cell) for cell in document.pop("cells"))
    head = json.dumps(document, indent=1).removesuffix("\n}")
    (folder / NAME).write_text(f'{head},\n "cells": [\n{cells}\n ]\n}}\n')


def read(folder: Path) -> Results:
    """Raises BenchError where there are none."""
    if not (folder / NAME).exists():
        raise BenchError(f"there are no results in {folder}: run the matrix first")
    return Results(json.loads((folder / NAME).read_text()))
