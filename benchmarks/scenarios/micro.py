"""the engine's pieces against the machine's own: hop, step, limiter, lease, recycled memory

A regression gate by ratios of neighbours, medians of many: never an absolute time. How much two bare
encoder threads gain over one is told too: the machine's ceiling for any parallel claim.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import files
from scenarios import Figure
from tools import BenchError, Tools

GOALS = {
    "hop": 2.0,
    "step": 4.0,
    "limiter, free": 3.0,
    "limiter, contended": 8.0,
    "lease": 0.1,
    "recycled workspace, small file, level 9": 0.6,
    "engine, small file, level 6": 1.1,
    "engine, large file, level 6": 1.1,
}


def run(tools: Tools) -> Iterator[Figure]:
    command = [tools.micro, files.fetch(files.JQUERY), files.fetch(files.REACT_DOM)]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode != 0:
        raise BenchError(answer.stderr.strip())
    for result in json.loads(answer.stdout):
        name, ratio = result["name"], result["ratio"]
        yield Figure(f"{name}: time", result["nanoseconds"] / 1000, "us")
        if name.startswith("two threads"):
            yield Figure(f"{name}: gain over one", 1 / ratio)
        else:
            yield Figure(f"{name}: ratio", ratio, at_most=GOALS.get(name))
