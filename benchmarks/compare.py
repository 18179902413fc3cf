"""Comparing servers by turns: what slows the machine for a while slows both neighbours of a pair."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import TypeVar

Value = TypeVar("Value")


def by_turns(measures: Sequence[Callable[[], Value]], rounds: int) -> list[list[Value]]:
    """Calls all measures once a round, each round in the opposite order of the one before; the values of
    each measure."""
    values: list[list[Value]] = [[] for _ in measures]
    order = list(range(len(measures)))
    for _ in range(rounds):
        for index in order:
            values[index].append(measures[index]())
        order.reverse()
    return values


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios of neighbours."""
    return statistics.median(our / their for our, their in zip(ours, theirs, strict=True))
