"""brio's demonstration: real files, every byte checked, and what small requests feel meanwhile.

Serves three files from npm through brio on a pool of two threads and decodes them with two independent
decoders. Then sends 1,000 small uncompressed requests a second alone, beside large compressions in
google's module, and beside the same ones in brio, in turns. Exit status 0 only if every body was right.
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
from generator import BROTLI, LoadError, Stream
from nginx_server import NginxServer, ServerConfig, ServerError
from servers import SMALL_FILE, SMALL_RATE
from small_requests import BURST, ROUNDS, SECONDS, Reports, bursts, median, rounds, time_of_burst

LEVEL = 6
POOL_THREADS = 2
TIMED_REQUESTS = 5
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
    def of(cls, reports: list[Reports]) -> Latency:
        return cls(median(reports, "p50"), median(reports, "p99"))


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


class Demo:
    def __init__(self, module: str, generator: Path, scratch: Path) -> None:
        self._module = module
        self._generator = generator
        self._scratch = scratch
        self._root = scratch / "root"
        self._terminal = Terminal()

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
        load = f"{SMALL_RATE:,} small uncompressed requests a second, open loop"
        self._terminal.heading(f"{load}, medians of {ROUNDS} rounds of {SECONDS} s")
        path = f"/{files.REACT_DOM.name}"
        bodies = self._scratch / "bodies"
        with self._server(self._module) as idle, self._server("google") as google, self._server(self._module) as brio:
            burst_ms = time_of_burst(self._generator, google.url(path))
            phases = {
                "idle": [self._small(idle)],
                "google": [self._small(google), bursts(google.url(path), 2 * burst_ms, bodies / "google")],
                "brio": [self._small(brio), bursts(brio.url(path), 2 * burst_ms, bodies / "brio")],
            }
            reports: dict[str, list[Reports]] = {name: [] for name in phases}
            for number, of_round in enumerate(rounds(self._generator, phases), 1):
                p99s = {name: Latency.of([report]).p99_ms for name, report in of_round.items()}
                print(f"  round {number}: p99 " + ", ".join(f"{name} {p99:.2f} ms" for name, p99 in p99s.items()))
                for name, report in of_round.items():
                    reports[name].append(report)
            for server in (idle, google, brio):
                self._show_problems(server)
        latencies = {name: Latency.of(of_phase) for name, of_phase in reports.items()}
        beside = f"{BURST} x react-dom every {2 * burst_ms:.0f} ms in"
        labels = {"idle": "alone", "google": f"{beside} google", "brio": f"{beside} brio"}
        print(f"\n  {'':<46}{'median':>11}{'p99':>12}")
        for name, latency in latencies.items():
            print(f"  {labels[name]:<46}{latency.p50_ms:>8.2f} ms{latency.p99_ms:>9.2f} ms")
        return latencies, burst_ms, self._bodies_match(bodies, reports)

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

    def _small(self, server: NginxServer) -> Stream:
        return Stream("small", server.url(f"/{SMALL_FILE}"), ("--rate", SMALL_RATE))

    def _bodies_match(self, bodies: Path, reports: dict[str, list[Reports]]) -> bool:
        large = [report["large"] for of_phase in reports.values() for report in of_phase if "large" in report]
        right = self._sha256(files.REACT_DOM)
        answers = files.decode_sha256(sorted(bodies.glob("*/*/*")))
        return all(answer == right for answer in answers) and not any(each["bodies_not_kept"] for each in large)

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
