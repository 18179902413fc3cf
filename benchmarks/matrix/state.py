"""What a run has measured so far, on disk: one file a cell and round, so that a run can go on later.

A state belongs to the programs it was made with and to its profile. Where either has changed it is of no
use, and the run starts anew.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matrix import machine
from matrix.plan import Profile, Task
from tools import Tools


class State:
    """The folder build/bench/PROFILE."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._run = folder / "run.json"
        self.facts: dict[str, Any] = {}

    def open(self, tools: Tools, profile: Profile, seed: int | None, fresh: bool) -> bool:
        """Goes on with what is there if it fits, else starts anew. True when it goes on."""
        fingerprint = _fingerprint(tools, profile)
        known = json.loads(self._run.read_text()) if self._run.exists() else {}
        fits = known.get("fingerprint") == fingerprint and seed in (None, known["seed"])
        if fits and not fresh:
            self.facts = known
            return True
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        seed = random.SystemRandom().randrange(10**6) if seed is None else seed
        self.facts = {"fingerprint": fingerprint, "seed": seed, "seconds": 0.0, "machine": machine.describe()}
        self.save()
        return False

    def save(self) -> None:
        _write(self._run, self.facts)

    def has(self, task: Task) -> bool:
        return self._path(task).exists()

    def put(self, task: Task, figures: dict[str, float]) -> None:
        _write(self._path(task), figures)

    def get(self, task: Task) -> dict[str, float]:
        figures: dict[str, float] = json.loads(self._path(task).read_text())
        return figures

    def _path(self, task: Task) -> Path:
        return self._folder / f"{task.key}.json"


def _fingerprint(tools: Tools, profile: Profile) -> str:
    digest = hashlib.sha256(json.dumps(asdict(profile)).encode())
    for program in (tools.module, tools.generator):
        digest.update(program.read_bytes())
    return digest.hexdigest()[:16]


def _write(path: Path, content: dict[str, Any]) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(content, indent=1) + "\n")
    partial.rename(path)
