"""brio's demonstration: real files, every byte checked, and what small requests feel meanwhile.

Serves three files from npm through brio on a pool of two threads and decodes them with two independent
decoders. Then sends 1,000 small uncompressed requests a second alone, beside large compressions in
google's module, and beside the same ones in brio. Exit status 0 only if every body was right.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import files
from generator import BROTLI, LoadError, Stream, run
from nginx_server import NginxServer, ServerConfig, ServerError

LEVEL = 6
POOL_THREADS = 2
RATE = 1000
BURST = 8
PHASE_SECONDS = 12
TIMED_REQUESTS = 5
SMALL_FILE = "small.txt"
FILES = (files.JQUERY, files.REACT_DOM, files.CANIUSE)


@dataclass(frozen=True)
class CheckedFile:
    name: str
    bytes: int
    compressed: int
    milliseconds: float
    level: int
    curl_ok: bool
    node_ok: bool

    @property
    def ok(self) -> bool:
        return self.curl_ok and self.node_ok


@dataclass(frozen=True)
class Latency:
    p50_ms: float
    p99_ms: float

    @classmethod
    def of(cls, report: dict[str, Any]) -> Latency:
        return cls(report["latency_ms"]["p50"], report["latency_ms"]["p99"])


class Terminal:
    """Bold, green and red where a person looks on; plain text elsewhere."""

    def __init__(self) -> None:
        self._styled = sys.stdout.isatty()

    def _style(self, code: str, text: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self._styled else text

    def heading(self, text: str) -> None:
        print(f"\n{self._style('1', text)}\n")

    def verdict(self, good: bool, text: str) -> str:
        return self._style("32" if good else "31", text)

    def begin(self, text: str) -> None:
        """Starts a line that takes a while to complete."""
        print(f"  {text:<46}", end="", flush=True)


class Demo:
    def __init__(self, module: str, generator: Path, scratch: Path) -> None:
        self._module = module
        self._generator = generator
        self._scratch = scratch
        self._root = scratch / "root"
        self._terminal = Terminal()
        self._unchecked_bodies = 0

    def prepare(self) -> None:
        self._root.mkdir()
        for source in FILES:
            shutil.copy(files.fetch(source), self._root)
        text = files.fetch(files.REACT_DOM).read_bytes()
        (self._root / SMALL_FILE).write_bytes(text[:1500])

    def check_files(self) -> list[CheckedFile]:
        self._terminal.heading(f"Real files through brio, level {LEVEL}, a pool of {POOL_THREADS} threads")
        print(f"  {'file':<26}{'bytes':>11}{'compressed':>13}{'share':>9}{'time':>11}   curl   node")
        with self._server(self._module) as server:
            checked = [self._check_file(server, source) for source in FILES]
            self._show_problems(server)
        return checked

    def measure(self) -> tuple[dict[str, Latency], float, bool]:
        """Latencies by phase, google's time for one burst in ms, and whether the bodies under load matched."""
        self._terminal.heading(f"{RATE:,} small uncompressed requests a second, open loop, {PHASE_SECONDS} s each")
        print(f"  {'':<46}{'median':>11}{'p99':>12}")
        with self._server(self._module) as server:
            idle = self._phase("alone", server, [])
        with self._server("google") as server:
            burst_ms = self._time_of_burst(server)
            beside = f"{BURST} x react-dom every {2 * burst_ms:.0f} ms in"
            google_bodies = self._scratch / "google"
            google = self._phase(f"{beside} google", server, [self._burst(server, 2 * burst_ms, google_bodies)])
        with self._server(self._module) as server:
            brio_bodies = self._scratch / "brio"
            brio = self._phase(f"{beside} brio", server, [self._burst(server, 2 * burst_ms, brio_bodies)])
        bodies = sorted([*google_bodies.iterdir(), *brio_bodies.iterdir()])
        right = self._sha256(files.REACT_DOM)
        matched = not self._unchecked_bodies and all(answer == right for answer in files.decode_sha256(bodies))
        return {"idle": idle, "google": google, "brio": brio}, burst_ms, matched

    def summarise(self, checked: list[CheckedFile], phases: dict[str, Latency], bodies_matched: bool) -> bool:
        files_matched = all(each.ok for each in checked)
        beside_idle = phases["brio"].p99_ms / phases["idle"].p99_ms
        beside_google = phases["google"].p99_ms / phases["brio"].p99_ms
        google_beside_idle = phases["google"].p99_ms / phases["idle"].p99_ms
        self._terminal.heading("Summary")
        for good, text in (
            (files_matched, f"bytes of the files, two decoders: {'all match' if files_matched else 'DIFFERENT'}"),
            (bodies_matched, f"bytes served under load: {'all match' if bodies_matched else 'DIFFERENT'}"),
            (beside_idle <= 3, f"brio's p99 is {beside_idle:.1f} x idle (goal: at most 3)"),
            (beside_google >= 20, f"google's p99 is {beside_google:.1f} x brio's (goal: at least 20)"),
        ):
            print(f"  {self._terminal.verdict(good, 'ok  ' if good else 'miss')}  {text}")
        print(f"        google's p99 is {google_beside_idle:.1f} x idle")
        return files_matched and bodies_matched

    def _server(self, module: str) -> NginxServer:
        return NginxServer(ServerConfig(root=self._root, module=module, level=LEVEL, pool_threads=POOL_THREADS))

    def _check_file(self, server: NginxServer, source: files.Source) -> CheckedFile:
        plain = self._root / source.name
        raw = self._scratch / f"{source.name}.br"
        decoded = self._scratch / source.name
        url = server.url(f"/{source.name}")
        times = [_curl(url, raw, "--header", BROTLI) for _ in range(TIMED_REQUESTS)]
        _curl(url, decoded, "--compressed", "--header", BROTLI)
        right = self._sha256(source)
        checked = CheckedFile(
            name=source.name,
            bytes=plain.stat().st_size,
            compressed=raw.stat().st_size,
            milliseconds=round(statistics.median(times) * 1000, 2),
            level=LEVEL,
            curl_ok=hashlib.sha256(decoded.read_bytes()).hexdigest() == right,
            node_ok=files.decode_sha256([raw]) == [right],
        )
        size = f"  {checked.name:<26}{checked.bytes:>11,}{checked.compressed:>13,}"
        share = f"{100 * checked.compressed / checked.bytes:>7.1f} %{checked.milliseconds:>8.1f} ms"
        print(f"{size}{share}   {self._match(checked.curl_ok)}  {self._match(checked.node_ok)}")
        return checked

    def _match(self, good: bool) -> str:
        return self._terminal.verdict(good, "match" if good else "WRONG")

    def _sha256(self, source: files.Source) -> str:
        return hashlib.sha256(files.fetch(source).read_bytes()).hexdigest()

    def _burst(self, server: NginxServer, period_ms: float, bodies: Path | None = None) -> Stream:
        url = server.url(f"/{files.REACT_DOM.name}")
        pace = ("--burst", BURST, "--period", round(period_ms, 3))
        return Stream("large", url, pace, (BROTLI,), bodies)

    def _time_of_burst(self, server: NginxServer) -> float:
        """The median time from sending one burst to its last byte, the worker being warm."""
        times = []
        for _ in range(1 + TIMED_REQUESTS):
            alone = [self._burst(server, 1000)]
            report = run(self._generator, alone, duration=0.01, warmup=0)
            times.append(report["large"]["latency_ms"]["max"])
        return statistics.median(times[1:])

    def _phase(self, name: str, server: NginxServer, beside: list[Stream]) -> Latency:
        self._terminal.begin(name)
        small = Stream("small", server.url(f"/{SMALL_FILE}"), ("--rate", RATE))
        report = run(self._generator, [small, *beside], duration=PHASE_SECONDS)
        self._unchecked_bodies += sum(report[stream.name]["bodies_not_kept"] for stream in beside)
        latency = Latency.of(report["small"])
        print(f"{latency.p50_ms:>8.2f} ms{latency.p99_ms:>9.2f} ms")
        self._show_problems(server)
        return latency

    def _show_problems(self, server: NginxServer) -> None:
        for line in server.problems():
            print(f"  nginx: {line}")


def _curl(url: str, target: Path, *options: str) -> float:
    """Fetches url into target; the answer is curl's total time in seconds."""
    command = ["curl", "--silent", "--show-error", "--fail", "--output", str(target), "--write-out", "%{time_total}"]
    answer = subprocess.run([*command, *options, url], capture_output=True, text=True)
    if answer.returncode != 0:
        raise LoadError(f"curl could not fetch {url}: {answer.stderr.strip()}")
    return float(answer.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", required=True, help="brio's nginx module")
    parser.add_argument("--loadgen", required=True, type=Path, help="brio-loadgen")
    parser.add_argument("--out", required=True, type=Path, help="where the results go, as JSON")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="brio-demo-") as scratch:
            demo = Demo(options.module, options.loadgen, Path(scratch))
            demo.prepare()
            checked = demo.check_files()
            phases, burst_ms, bodies_matched = demo.measure()
            ok = demo.summarise(checked, phases, bodies_matched)
    except (files.FetchError, LoadError, ServerError) as failure:
        print(f"\ndemo: {failure}", file=sys.stderr)
        return 1
    results: dict[str, Any] = {}
    for name, latency in phases.items():
        results |= {f"{name}_p50_ms": latency.p50_ms, f"{name}_p99_ms": latency.p99_ms}
    results["google_burst_ms"] = burst_ms
    results["bodies_under_load_ok"] = bodies_matched
    results["files"] = [asdict(each) | {"ok": each.ok} for each in checked]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(results, indent=2) + "\n")
    print(f"\n  written: {options.out}")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
