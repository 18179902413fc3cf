"""Goals that anyone can ask again: one file a scenario, found by its name.

A scenario is a module in this folder with a docstring whose first line says what it is about, and

    def run(tools: Tools) -> Iterator[Figure]

Its name is the module's with dashes. A figure with a goal passes or falls short; one without is told for
information. A scenario takes under a minute where it can.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

from tools import Tools


@dataclass(frozen=True)
class Figure:
    """One measured value and, where it has one, its goal."""

    name: str
    value: float
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None

    @property
    def met(self) -> bool:
        return (self.at_least is None or self.value >= self.at_least) and (
            self.at_most is None or self.value <= self.at_most
        )

    def __str__(self) -> str:
        bounds = (("at least", self.at_least), ("at most", self.at_most))
        goals = [f"{word} {bound:,g}" for word, bound in bounds if bound is not None]
        value = f"{self.value:,.4g}" if abs(self.value) < 10_000 else f"{self.value:,.0f}"
        text = f"{self.name}: {value} {self.unit}".rstrip()
        return f"{text} (goal {' and '.join(goals)})" if goals else text


@dataclass(frozen=True)
class Scenario:
    name: str
    summary: str
    run: Callable[[Tools], Iterator[Figure]]


def find() -> dict[str, Scenario]:
    """All scenarios by name."""
    modules = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    return {scenario.name: scenario for scenario in map(_scenario, modules)}


def _scenario(module: ModuleType) -> Scenario:
    summary = (module.__doc__ or "").strip().partition("\n")[0]
    return Scenario(module.__name__.rpartition(".")[2].replace("_", "-"), summary, module.run)
