"""The generator against tools of good name, and its back ends against each other, on one server.

The server answers most requests after 5 ms and each twentieth after 30 ms, so that rate, median and p99
are its own and not those of whatever else the machine does. BRIO_LOADGEN names the program; without it
the release build's is taken.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

GENERATOR = Path(
    os.environ.get("BRIO_LOADGEN")
    or Path(__file__).resolve().parent.parent / "build" / "release" / "benchmarks" / "brio-loadgen"
)
SECONDS = 2
CONNECTIONS = 8
RATE = 500
ATTEMPTS = 5
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nagreement"


@dataclass(frozen=True)
class Load:
    """Requests a second, and times in milliseconds."""

    rate: float
    p50: float
    p99: float

    def agrees_with(self, other: Load) -> bool:
        pairs = ((self.rate, other.rate, 1.5), (self.p50, other.p50, 1.5), (self.p99, other.p99, 3.0))
        return all(1 / most < one / another < most for one, another, most in pairs)


def serve(ready: Connection) -> None:
    turns = count()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(0.005 if next(turns) % 20 else 0.030)
                writer.write(ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def listen() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(listen())


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=serve, args=(sender,), daemon=True)
    process.start()
    yield f"http://127.0.0.1:{receiver.recv()}/page"
    process.kill()
    process.join()


def output_of(*command: object) -> str:
    words = [str(word) for word in command]
    answer = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def ours(url: str, *pace: object, backend: str = "epoll") -> Load:
    stream = ("--stream", "page", "--url", url, *pace)
    report = json.loads(output_of(GENERATOR, "--backend", backend, "--duration", SECONDS, *stream))
    (page,) = report["streams"]
    assert page["errors"]["total"] == 0
    return Load(page["rate"], page["latency_ms"]["p50"], page["latency_ms"]["p99"])


def wrk(url: str) -> Load:
    text = output_of("wrk", "--threads", 1, "--connections", CONNECTIONS, "--duration", SECONDS, "--latency", url)
    times = {
        name: float(number) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit]
        for name, number, unit in re.findall(r"^\s+(50|99)%\s+([\d.]+)(us|ms|s)$", text, re.MULTILINE)
    }
    rate = re.search(r"^Requests/sec:\s+([\d.]+)$", text, re.MULTILINE)
    assert rate is not None, text
    return Load(float(rate.group(1)), times["50"], times["99"])


def h2load(url: str, log: Path) -> Load:
    text = output_of("h2load", "--h1", "--clients", CONNECTIONS, "--duration", SECONDS, f"--log-file={log}", url)
    times = sorted(int(line.split()[2]) / 1000 for line in log.read_text().splitlines())
    rate = re.search(r", ([\d.]+) req/s", text)
    assert rate is not None, text
    return Load(float(rate.group(1)), times[len(times) // 2], times[len(times) * 99 // 100])


def agree(pairs: Iterator[tuple[Load, Load]]) -> None:
    """Once in a few attempts: the machine may be busy in one half of any of them."""
    seen = []
    for one, other in pairs:
        seen.append((one, other))
        if one.agrees_with(other):
            return
    pytest.fail(f"no attempt agreed: {seen}")


def test_rate_and_p99_agree_with_those_of_wrk(url: str) -> None:
    agree((ours(url, "--closed", CONNECTIONS), wrk(url)) for _ in range(ATTEMPTS))


def test_rate_and_p99_agree_with_those_of_h2load(url: str, tmp_path: Path) -> None:
    logs = [tmp_path / f"log{attempt}" for attempt in range(ATTEMPTS)]
    agree((ours(url, "--closed", CONNECTIONS), h2load(url, log)) for log in logs)


@pytest.mark.parametrize("pace", [("--closed", CONNECTIONS), ("--rate", RATE)], ids=["closed", "open"])
def test_epoll_and_io_uring_agree(url: str, pace: tuple[object, ...]) -> None:
    agree((ours(url, *pace), ours(url, *pace, backend="io_uring")) for _ in range(ATTEMPTS))
