"""What every measurement needs at hand: the programs that were built, a folder to serve, loads."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import brotli
from generator import LoadError, Stream, run
from nginx_server import CpuTime, NginxServer
from servers import SMALL_FILE, SMALL_RATE, Variant


GRACE_SECONDS = 120.0


class BenchError(Exception):
    """A measurement could not be made; the text says which and why."""


@dataclass(frozen=True)
class Tools:
    """What the build made, and a scratch folder that the caller removes."""

    build: Path
    scratch: Path

    @property
    def module(self) -> Path:
        return self.build / "nginx_binding" / "ngx_http_brio_module.so"

    @property
    def generator(self) -> Path:
        return self.build / "benchmarks" / "brio-loadgen"

    @property
    def micro(self) -> Path:
        return self.build / "benchmarks" / "micro" / "brio-micro"

    def check(self) -> None:
        for program in (self.module, self.generator, self.micro):
            if not program.exists():
                raise BenchError(f"{program} is not built")

    def root(self, *content: Path) -> Path:
        """A folder to serve: links to `content`, and a small file that no server compresses."""
        folder = self.scratch / "root"
        folder.mkdir(exist_ok=True)
        (folder / SMALL_FILE).write_bytes(b"small " * 250)
        for path in content:
            link = folder / path.name
            if not link.exists():
                link.symlink_to(path.resolve())
        return folder

    def server(
        self, variant: Variant, root: Path, levels: tuple[int, ...], directives: str = "", **more: str | int
    ) -> NginxServer:
        """`more` are further fields of its ServerConfig."""
        return NginxServer(replace(variant.config(root, self.module, levels, directives), **more))


@dataclass(frozen=True)
class Target:
    """One URL of one server, asked for as its variant wants to be."""

    tools: Tools
    server: NginxServer
    variant: Variant
    path: str

    def large(self, *pace: str | int | float) -> Stream:
        return Stream("large", self.server.url(self.path), pace, (self.variant.accepts,))

    def small(self) -> Stream:
        return Stream("small", self.server.url(f"/{SMALL_FILE}"), ("--rate", SMALL_RATE))

    def load(
        self,
        *streams: Stream,
        duration: float,
        warmup: float = 0.0,
        grace: float = GRACE_SECONDS,
        at_end: str = "unfinished",
    ) -> dict[str, dict[str, Any]]:
        generator = self.tools.generator
        return run(generator, list(streams), duration=duration, warmup=warmup, grace=grace, at_end=at_end)

    def once(self, connections: int) -> dict[str, Any]:
        """One response on each of so many connections."""
        return self.load(self.large("--closed", connections), duration=0.001)["large"]

    def checked(
        self, plain: Path, *pace: str | int | float, duration: float = 0.001
    ) -> tuple[dict[str, Any], list[int]]:
        """The report of a load, and the compressed size of each response, once all of them are found to be
        the file. Without a duration a closed loop is one response on each connection."""
        with tempfile.TemporaryDirectory(dir=self.tools.scratch) as folder:
            stream = replace(self.large(*pace), bodies=Path(folder))
            report = self.load(stream, duration=duration)[stream.name]
            return report, checked_sizes(stream, report, plain)

    def busy(self, connections: int, duration: float) -> tuple[dict[str, Any], CpuTime]:
        """A closed loop: its report, and the processor time per response."""
        before = self.server.cpu_time()
        report = self.load(self.large("--closed", connections), duration=duration)["large"]
        spent = self.server.cpu_time() - before
        return report, CpuTime(spent.event_loop / report["requests"], spent.threads / report["requests"])

    def rate(self, connections: int, duration: float) -> float:
        """Requests a second in a closed loop."""
        report, _ = self.busy(connections, duration)
        return float(report["rate"])

    def cpu_time(self, connections: int, duration: float) -> CpuTime:
        """Processor time per response in a closed loop."""
        _, spent = self.busy(connections, duration)
        return spent

    def verify(self, plain: Path) -> int:
        """The compressed size, once what was decoded is found to be the file."""
        url = self.server.url(self.path)
        decoded = hashlib.sha256(_curl(url, self.variant.accepts, "--compressed")).digest()
        if decoded != hashlib.sha256(plain.read_bytes()).digest():
            raise BenchError(f"{self.variant.label} served {self.path} with other content than the file's")
        return len(_curl(url, self.variant.accepts))


def checked_sizes(stream: Stream, report: dict[str, Any], plain: Path) -> list[int]:
    """The compressed size of each body that a stream has saved, once all of them are found to be `plain`."""
    if stream.bodies is None or report["bodies_not_kept"]:
        raise BenchError(f"stream {stream.name}: {report['bodies_not_kept']} bodies were not kept")
    right = plain.read_bytes()
    for body in report["bodies"]:
        if brotli.decompress((stream.bodies / body["file"]).read_bytes()) != right:
            raise BenchError(f"{stream.url} came with other content than the file's, {body['count']} times")
    return [body["bytes"] for body in report["bodies"] for _ in range(body["count"])]


def _curl(url: str, *options: str) -> bytes:
    header, *rest = options
    command = ["curl", "--silent", "--show-error", "--fail", "--header", header, *rest, url]
    answer = subprocess.run(command, capture_output=True)
    if answer.returncode != 0:
        raise LoadError(f"curl could not fetch {url}: {answer.stderr.decode().strip()}")
    return answer.stdout
