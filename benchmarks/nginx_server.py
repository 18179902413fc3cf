"""An nginx of one's own on loopback, for measuring.

It runs in the foreground from a temporary folder, on a free port, with everything it writes inside
that folder, and takes nothing from an nginx that may be installed as a service.

    with NginxServer(ServerConfig(root=folder, module="google", level=6)) as server:
        fetch(server.url("/file.js"))
        print(server.cpu_time(), server.peak_memory())
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

COMPRESSED_TYPES = "application/javascript application/json"
POOL = "brio"
READY_PATH = "/nginx-is-ready"


class ServerError(Exception):
    """nginx did not start, stop or behave; the text ends with its error log."""


@dataclass(frozen=True)
class ServerConfig:
    """What to serve and how.

    module is "google", "gzip", "none", or the path of brio's module. pool_threads, tasks and
    brotli_directives mean something to brio alone; without pool_threads it compresses in the event loop.
    With levels, /N/FILE is FILE at level N for each of them.

    A single worker accepts all connections that wait, not one a turn of its loop, which is nginx's default: a
    worker that compresses in each turn would take seconds to accept a generator's connections, and the
    latencies would tell of little else. Several keep the default, so that they share the connections.
    """

    root: Path
    module: str
    level: int = 6
    levels: tuple[int, ...] = ()
    pool_threads: int = 0
    tasks: int = 4
    workers: int = 1
    main_directives: str = ""
    brotli_directives: str = ""
    http_directives: str = ""
    server_directives: str = ""
    listen_options: str = ""

    def load_module(self, modules_path: Path) -> str:
        if self.module in ("gzip", "none"):
            return ""
        if self.module == "google":
            return f"load_module {modules_path / 'ngx_http_brotli_filter_module.so'};"
        return f"load_module {Path(self.module).resolve()};"

    def thread_pool(self) -> str:
        return f"thread_pool {POOL} threads={self.pool_threads};" if self.pool_threads else ""

    def compression(self) -> str:
        if self.module == "none":
            return ""
        if self.module == "gzip":
            return f"gzip on; gzip_types {COMPRESSED_TYPES}; gzip_comp_level {self.level};"
        directives = f"brotli on; brotli_types {COMPRESSED_TYPES}; brotli_comp_level {self.level};"
        if self.module != "google":
            pool = POOL if self.pool_threads else "off"
            directives += f" brotli_thread_pool {pool}; brotli_parallel_tasks {self.tasks};"
        return f"{directives} {self.brotli_directives}"

    def locations(self) -> str:
        directive = "gzip_comp_level" if self.module == "gzip" else "brotli_comp_level"
        texts = (f"location /{n}/ {{ alias {self.root.resolve()}/; {directive} {n}; }}" for n in self.levels)
        return "\n        ".join(texts)

    def text(self, folder: Path, port: int, modules_path: Path) -> str:
        user = "user root;" if os.geteuid() == 0 else ""
        return f"""\
{self.load_module(modules_path)}
{user}
daemon off;
worker_processes {self.workers};
pid {folder}/nginx.pid;
error_log {folder}/error.log notice;
{self.thread_pool()}
{self.main_directives}
events {{ worker_connections 4096; multi_accept {"on" if self.workers == 1 else "off"}; }}
http {{
    types {{
        application/javascript js;
        application/json json;
        text/plain txt;
    }}
    log_format served '$status $body_bytes_sent $sent_http_content_encoding';
    access_log {folder}/access.log served;
    client_body_temp_path {folder}/client_body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_requests 1000000000;
    {self.compression()}
    {self.http_directives}
    server {{
        listen 127.0.0.1:{port} {self.listen_options};
        root {self.root.resolve()};
        location = {READY_PATH} {{
            access_log off;
            return 204;
        }}
        {self.locations()}
        {self.server_directives}
    }}
}}
"""


@dataclass(frozen=True)
class CpuTime:
    """Processor time in seconds: the workers' event loops, and all other threads of theirs."""

    event_loop: float
    threads: float

    def __sub__(self, earlier: CpuTime) -> CpuTime:
        return CpuTime(self.event_loop - earlier.event_loop, self.threads - earlier.threads)

    @property
    def total(self) -> float:
        return self.event_loop + self.threads


@dataclass(frozen=True)
class Served:
    """A response as the access log has it; bytes is the size of the body as it was sent."""

    status: int
    bytes: int
    coding: str

    @property
    def compressed(self) -> bool:
        return self.coding == "br"


class NginxServer:
    """A running nginx; a context manager that stops it and removes its folder."""

    START_SECONDS = 10
    STOP_SECONDS = 15

    def __init__(self, config: ServerConfig) -> None:
        self.config = config
        self.folder = Path(tempfile.mkdtemp(prefix="brio-nginx-"))
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._stop()
        finally:
            self._kill()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def error_log(self) -> str:
        log = self.folder / "error.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def problems(self) -> list[str]:
        """What the error log has at level error and above."""
        return [line for line in self.error_log().splitlines() if re.search(r"\[(error|crit|alert|emerg)\]", line)]

    def workers(self) -> list[int]:
        """Process ids of the workers."""
        master = self._running().pid
        return sorted(pid for pid, parent in _parents() if parent == master)

    def cpu_time(self) -> CpuTime:
        """Processor time of all workers so far."""
        workers = self.workers()
        event_loops = sum(_cpu_seconds(pid, pid) for pid in workers)
        everything = sum(_cpu_seconds(pid, thread) for pid in workers for thread in _threads(pid))
        return CpuTime(event_loops, everything - event_loops)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """The workers stand still (SIGSTOP), so that what is read meanwhile is of one moment."""
        for pid in self.workers():
            os.kill(pid, signal.SIGSTOP)
        try:
            while self.states() != {"T"}:
                time.sleep(0.0001)
            yield
        finally:
            for pid in self.workers():
                os.kill(pid, signal.SIGCONT)

    def states(self) -> set[str]:
        """What the workers' threads do: R they run, S they wait, T they are stopped."""
        return {_stat_fields(pid, thread)[0] for pid in self.workers() for thread in _threads(pid)}

    def peak_memory(self) -> int:
        """The largest peak of resident memory (VmHWM) among the workers, in bytes."""
        return max(_memory(pid, "VmHWM") for pid in self.workers())

    def resident_memory(self) -> int:
        """The largest resident memory (VmRSS) among the workers now, in bytes."""
        return max(_memory(pid, "VmRSS") for pid in self.workers())

    def descriptors(self) -> int:
        """Open descriptors of all workers."""
        return sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in self.workers())

    def served(self) -> list[Served]:
        """The responses that have ended so far."""
        fields = (line.split() for line in self._access_log().splitlines())
        return [Served(int(status), int(size), coding) for status, size, coding in fields]

    def answered(self) -> int:
        """How many those are."""
        return self._access_log().count("\n")

    def _access_log(self) -> str:
        return (self.folder / "access.log").read_text()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            raise ServerError(self._with_log("nginx is not running"))
        return self._process

    def _start(self) -> None:
        binary = _nginx()
        configuration = self.folder / "nginx.conf"
        configuration.write_text(self.config.text(self.folder, self.port, _modules_path(binary)))
        log = self.folder / "error.log"
        with (self.folder / "output").open("wb") as output:
            self._process = subprocess.Popen(
                [binary, "-p", self.folder, "-e", log, "-c", configuration],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        deadline = time.monotonic() + self.START_SECONDS
        while not self._answers():
            if self._process.poll() is not None:
                raise ServerError(self._with_log("nginx did not start"))
            if time.monotonic() > deadline:
                raise ServerError(self._with_log(f"nginx did not answer within {self.START_SECONDS} s"))
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(f"GET {READY_PATH} HTTP/1.0\r\n\r\n".encode())
                return connection.recv(16).startswith(b"HTTP/1.1 204")
        except OSError:
            return False

    def _stop(self) -> None:
        process = self._running()
        process.send_signal(signal.SIGQUIT)
        try:
            process.wait(self.STOP_SECONDS)
        except subprocess.TimeoutExpired:
            message = f"nginx did not shut down within {self.STOP_SECONDS} s"
            raise ServerError(self._with_log(message)) from None
        if process.returncode != 0:
            raise ServerError(self._with_log(f"nginx ended with status {process.returncode}"))

    def _kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            workers = self.workers()
            self._process.kill()
            self._process.wait()
            for pid in workers:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _with_log(self, message: str) -> str:
        lines = self.error_log().splitlines() or (self.folder / "output").read_text(errors="replace").splitlines()
        return "\n    ".join([f"{message}; its error log ends:", *lines[-12:]])


def _nginx() -> str:
    binary = shutil.which("nginx", path=os.environ.get("PATH", "") + os.pathsep + "/usr/sbin")
    if binary is None:
        raise ServerError("nginx is not installed")
    return binary


def _modules_path(binary: str) -> Path:
    answer = subprocess.run([binary, "-V"], capture_output=True, text=True, check=True).stderr
    found = re.search(r"--modules-path=(\S+)", answer)
    if found is None:
        raise ServerError(f"{binary} -V names no --modules-path")
    return Path(found.group(1))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _stat_fields(pid: int, thread: int) -> list[str]:
    """The fields of a thread's stat from the state on; the name before them may hold anything."""
    return Path(f"/proc/{pid}/task/{thread}/stat").read_text().rpartition(")")[2].split()


def _parents() -> list[tuple[int, int]]:
    pairs = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                pairs.append((int(entry.name), int(_stat_fields(int(entry.name), int(entry.name))[1])))
            except (FileNotFoundError, ProcessLookupError):
                continue
    return pairs


def _threads(pid: int) -> list[int]:
    return [int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir()]


def _cpu_seconds(pid: int, thread: int) -> float:
    """From schedstat, whose first field counts nanoseconds; /proc/PID/stat has hundredths of a second."""
    return int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0]) / 1e9


def _memory(pid: int, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    if found is None:
        raise ServerError(f"worker {pid} has ended")
    return int(found.group(1)) * 1024
