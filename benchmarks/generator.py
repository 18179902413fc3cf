"""Runs brio-loadgen and reads its report."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BROTLI = "Accept-Encoding: br"


class LoadError(Exception):
    """The generator could not run, or a stream had errors."""


@dataclass(frozen=True)
class Stream:
    """One stream: pace is what follows --url, such as ("--rate", 1000)."""

    name: str
    url: str
    pace: tuple[str | int | float, ...]
    headers: tuple[str, ...] = ()
    bodies: Path | None = None

    def arguments(self) -> list[str]:
        words: list[str | int | float] = ["--stream", self.name, "--url", self.url, *self.pace]
        for header in self.headers:
            words += ["--header", header]
        if self.bodies is not None:
            words += ["--bodies", str(self.bodies)]
        return [str(word) for word in words]


def run(
    generator: Path,
    streams: list[Stream],
    *,
    duration: float,
    warmup: float = 1.0,
    grace: float = 10.0,
    at_end: str = "unfinished",
) -> dict[str, dict[str, Any]]:
    """The report of each stream by name. Raises LoadError if any request failed."""
    command = [str(generator), "--duration", str(duration), "--warmup", str(warmup), "--grace", str(grace)]
    command += ["--at-end", at_end]
    for stream in streams:
        command += stream.arguments()
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode != 0:
        raise LoadError(answer.stderr.strip())
    report = {stream["name"]: stream for stream in json.loads(answer.stdout)["streams"]}
    for name, stream in report.items():
        if stream["errors"]["total"] or not stream["requests"] + stream["aborted"]:
            raise LoadError(f"stream {name}: {stream['requests']} requests, errors {stream['errors']}")
    return report
