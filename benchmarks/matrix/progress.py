"""One line on the terminal: how far a run is, at what, and how long it will still take."""

from __future__ import annotations

import sys
import time


class Progress:
    """Time left comes from estimates, corrected by how wrong they were so far."""

    EVERY = 10.0

    def __init__(self, count: int, estimated: float) -> None:
        self._count = count
        self._at = 0
        self._left = estimated
        self._done_estimated = 0.0
        self._started = time.monotonic()
        self._live = sys.stdout.isatty()
        self._printed = 0.0

    def begin(self, label: str) -> None:
        self._at += 1
        line = f"[{self._at:>{len(str(self._count))}}/{self._count}] {self._time_left():>13}  {label}"
        if self._live:
            print(f"\r\033[K{line[:110]}", end="", flush=True)
        elif time.monotonic() - self._printed > self.EVERY:
            print(line, flush=True)
            self._printed = time.monotonic()

    def end(self, estimated: float) -> None:
        self._left -= estimated
        self._done_estimated += estimated

    def close(self) -> None:
        if self._live:
            print("\r\033[K", end="", flush=True)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def _time_left(self) -> str:
        correction = self.seconds / self._done_estimated if self._done_estimated else 1.0
        minutes, seconds = divmod(round(max(self._left, 0) * correction), 60)
        return f"{minutes}:{seconds:02} min left"
