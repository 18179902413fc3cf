"""What is measured and for how long: cells, profiles, and the arithmetic of durations.

Nothing here runs anything. Durations follow the time that google's module takes for one response of the
cell's file at its level, so that every module of one level and file gets the same load.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import files
from servers import GZIP, NONE, VARIANTS, Variant

CONNECTIONS = 8
FIRST_CONTENT = 32 * 1024
LEVEL_11_UP_TO = 1_100_000
PREFIX_OF_CANIUSE = 2_200_000


@dataclass(frozen=True)
class File:
    """label is for people; the path is in the cache of files.py."""

    label: str
    path: Path

    @property
    def bytes(self) -> int:
        return self.path.stat().st_size


def all_files() -> list[File]:
    """In order of size."""
    return [
        File("JSON 16 KB", files.json_slice(16 * 1024)),
        File("JSON 64 KB", files.json_slice(64 * 1024)),
        File("jquery", files.fetch(files.JQUERY)),
        File("react-dom", files.fetch(files.REACT_DOM)),
        File("caniuse 2.2 MB", files.beginning(files.CANIUSE, PREFIX_OF_CANIUSE)),
        File("caniuse", files.fetch(files.CANIUSE)),
        File("typescript", files.fetch(files.TYPESCRIPT)),
    ]


@dataclass(frozen=True)
class Cell:
    """One server at one level on one file. Without a file it is the idle server."""

    variant: Variant
    level: int = 0
    file: File | None = None

    @property
    def key(self) -> str:
        return f"{self.variant.key}-{self.level}-{self.file.path.stem if self.file else 'idle'}"

    @property
    def label(self) -> str:
        return f"{self.variant.label}, level {self.level}, {self.file.label}" if self.file else "idle server"


@dataclass(frozen=True)
class Task:
    """One cell measured in one of the rounds."""

    cell: Cell
    round: int

    @property
    def key(self) -> str:
        return f"{self.cell.key}.{self.round}"


@dataclass(frozen=True)
class Profile:
    """What a run covers. Times are the shortest of each measure, in seconds; slow cells take longer."""

    name: str
    levels: tuple[int, ...]
    labels: tuple[str, ...]
    rounds: int
    throughput: float
    alone: float
    beside_eight: float
    beside_one: float
    idle: float
    idle_cells: int
    offload_threshold: bool

    def cells(self) -> Iterator[Cell]:
        for file in all_files():
            if file.label not in self.labels:
                continue
            for level in self.levels:
                if level == 11 and file.bytes > LEVEL_11_UP_TO:
                    continue
                for variant in VARIANTS:
                    if not (variant == GZIP and level > 9):
                        yield Cell(variant, level, file)

    def tasks(self, seed: int) -> list[Task]:
        """All cells once in random order, then all of them again in another, for each round."""
        order: list[Task] = []
        chance = random.Random(seed)
        for number in range(self.rounds):
            idle = [Cell(NONE, at) for at in range(self.idle_cells)]
            round_of = [Task(cell, number) for cell in [*self.cells(), *idle]]
            chance.shuffle(round_of)
            order += round_of
        return order


QUICK = Profile(
    name="quick",
    levels=(6, 9),
    labels=("JSON 64 KB", "jquery", "react-dom"),
    rounds=3,
    throughput=0.25,
    alone=0.1,
    beside_eight=0.6,
    beside_one=0.4,
    idle=1.0,
    idle_cells=2,
    offload_threshold=False,
)
FULL = Profile(
    name="full",
    levels=(4, 5, 6, 9, 11),
    labels=("JSON 16 KB", "JSON 64 KB", "jquery", "react-dom", "caniuse 2.2 MB", "caniuse", "typescript"),
    rounds=3,
    throughput=0.4,
    alone=0.2,
    beside_eight=1.0,
    beside_one=0.8,
    idle=2.0,
    idle_cells=3,
    offload_threshold=True,
)


@dataclass(frozen=True)
class Durations:
    """How long each load of a cell runs, in seconds, and its bursts."""

    connections: int
    throughput: float
    alone: float
    beside_eight: float
    period: float
    beside_one: float

    LONG_BURST = 1.5

    @classmethod
    def of(cls, profile: Profile, response: float) -> Durations:
        """`response`: google's time for one response. Eight of them take `burst`, and come every other
        `burst`; where that is long, once."""
        burst = CONNECTIONS * response
        slow = burst > cls.LONG_BURST
        return cls(
            connections=2 if slow else CONNECTIONS,
            throughput=0.001 if slow else max(profile.throughput, burst),
            alone=max(profile.alone, min(2 * response, 0.6)),
            beside_eight=1.1 * burst if slow else max(profile.beside_eight, 2 * burst),
            period=3600.0 if slow else 2 * burst,
            beside_one=max(profile.beside_one, 1.2 * response),
        )

    def estimate(self, response: float) -> float:
        """Roughly the seconds a cell takes with these."""
        overhead = 0.7 + 2 * response
        warm = CONNECTIONS * response if self.connections == CONNECTIONS else 0
        throughput = max(self.throughput, self.connections * response)
        return overhead + warm + throughput + self.alone + response + self.beside_eight + self.beside_one + response
