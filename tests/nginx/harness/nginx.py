"""A real nginx with the module under test, and what must hold whenever one has run."""

import collections
import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from . import http1, http2

MODULE = os.environ.get("BRIO_MODULE", "")
INSTALLED_NGINX = "/usr/sbin/nginx"
NGINX = os.environ.get("BRIO_NGINX", INSTALLED_NGINX)
GOOGLE = "/usr/lib/nginx/modules/ngx_http_brotli_filter_module.so"

# BRIO_MODULE may name google's module: the tests that do not need brio's own directives hold there
# too, which is how the harness itself is checked.
STAND_IN = "brotli_filter" in os.path.basename(MODULE)

# Linked into BRIO_NGINX: there is nothing to load.
BUILTIN = MODULE == "builtin"

_BAD_LOG = re.compile(r"\[(alert|crit|emerg)\]|exited on signal|exited with code [1-9]|open socket left")
_BAD_OUTPUT = re.compile(r"ERROR: \w+Sanitizer|runtime error:|terminate called|Assertion")

_CONFIG = """
{load}
{user}
daemon off;
master_process {master};
worker_processes {workers};
pid "{work}/nginx.pid";
error_log "{work}/error.log" {level};
{threads}
{main}
events {{ worker_connections 4096; }}
http {{
  types {{ text/html html; text/plain txt; text/css css; application/json json; image/png png; }}
  default_type text/html;
  log_format test '$status $body_bytes_sent "$request_completion" $brotli_ratio $request';
  access_log "{work}/access.log" test;
  client_body_temp_path "{work}/temp/body";
  proxy_temp_path "{work}/temp/proxy";
  fastcgi_temp_path "{work}/temp/fastcgi";
  uwsgi_temp_path "{work}/temp/uwsgi";
  scgi_temp_path "{work}/temp/scgi";
  keepalive_requests 1000000;
  brotli on;
  {http}
  server {{
    listen 127.0.0.1:{h1} backlog=4096;
    listen 127.0.0.1:{h2} http2 backlog=4096;
    {tls_listen}
    root "{work}/www";
    {server}
  }}
  server {{
    listen 127.0.0.1:{status};
    access_log off;
    location / {{ stub_status; }}
  }}
}}
{tail}
"""

_TLS_LISTEN = """
    listen 127.0.0.1:{port} ssl;
    listen 127.0.0.1:{port2} ssl http2;
    ssl_certificate "{work}/cert.pem";
    ssl_certificate_key "{work}/key.pem";
"""


def pool(tasks=1, segment="64k", name="br"):
    """The directives that send work to the thread pool."""
    if STAND_IN:
        return ""
    return (f"brotli_thread_pool {name}; brotli_parallel_tasks {tasks};"
            f" brotli_parallel_segment_size {segment};")


def inline():
    return "" if STAND_IN else "brotli_thread_pool off;"


EXECUTORS = {
    "inline": inline(),
    "pool": pool(tasks=1),
    "segments": pool(tasks=4, segment="64k"),
}


def _free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def _children(pid):
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(stat.parent.name))
    return sorted(found)


def wait_for(predicate, timeout=60, step=0.01):
    """Polls; returns the predicate's last value."""
    deadline = time.monotonic() + timeout
    while True:
        value = predicate()
        if value or time.monotonic() > deadline:
            return value
        time.sleep(step)


class Nginx:
    def __init__(self, work, server="", *, http="", main="", threads="thread_pool br threads=2;",
                 tail="", module=None, load=None, debug=True, tls=False, workers=1):
        """`workers`: how many; with 0 the one process does the work without a master."""
        self.work = pathlib.Path(work)
        self.www = self.work / "www"
        for directory in ("www", "temp"):
            (self.work / directory).mkdir(parents=True, exist_ok=True)
        self._nginx = INSTALLED_NGINX if module and BUILTIN else NGINX
        module = module or MODULE
        assert module, "BRIO_MODULE must name the module to test (./dev test sets it)"
        load_module = "" if module == "builtin" else f'load_module "{module}";'
        self._texts = {
            "load": load if load is not None else load_module,
            "server": server, "http": http, "main": main, "threads": threads,
            "tail": tail, "master": "on" if workers else "off", "workers": workers or 1,
        }
        self._has_master = workers > 0
        self._tls = tls
        self._level = "debug" if debug else "info"
        self._allowed = []
        self._clients = []
        self._log_seen = 0
        self.process = None
        self.killed = False

    # ------------------------------------------------------------------------------- starting

    def write_config(self):
        h1, h2, status, tls, tls2 = self._ports = _free_ports(5)
        self.port, self.port2, self.status_port, self.tls_port, self.tls_port2 = self._ports
        listen = ""
        if self._tls:
            self._make_certificate()
            listen = _TLS_LISTEN.format(port=tls, port2=tls2, work=self.work)
        self._write(h1, h2, status, listen)

    def _write(self, h1, h2, status, listen):
        self._listen = listen
        path = self.work / "nginx.conf"
        path.write_text(_CONFIG.format(
            work=self.work, h1=h1, h2=h2, status=status, tls_listen=listen, level=self._level,
            user="user root;" if os.getuid() == 0 else "", **self._texts))
        return path

    def _make_certificate(self):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", "2", "-subj", "/CN=test", "-keyout", self.work / "key.pem",
             "-out", self.work / "cert.pem"], check=True, capture_output=True)

    def check(self):
        """`nginx -t`: (accepted, what it said)."""
        self.write_config()
        result = subprocess.run(
            [self._nginx, "-t", "-p", self.work, "-c", self.work / "nginx.conf"],
            capture_output=True, text=True, timeout=120)
        return result.returncode == 0, result.stderr + self.log()

    def start(self):
        for attempt in range(5):
            self.write_config()
            with open(self.work / "output", "wb") as output:
                self.process = subprocess.Popen(
                    [self._nginx, "-p", self.work, "-c", self.work / "nginx.conf"],
                    stdout=output, stderr=output, stdin=subprocess.DEVNULL)
            if wait_for(lambda: self.process.poll() is not None or self._answers()):
                if self.process.poll() is None:
                    break
            text = self.output() + self.log()
            self.process.kill()
            self.process.wait()
            assert "Address already in use" in text and attempt < 4, f"nginx did not start: {text}"
            (self.work / "error.log").unlink()
        self.worker = self.workers()[0]
        self.idle_connections = self.active()
        return self

    def _answers(self):
        try:
            return self.active() > 0 and self.workers()
        except (OSError, http1.Broken):
            return False

    def rewrite(self, **texts):
        """Changes the config text for the next reload; ports stay."""
        self._texts.update(texts)
        self._write(self.port, self.port2, self.status_port, self._listen)

    def reload(self):
        """HUP; returns when new workers answer."""
        before = set(self.workers())
        self.process.send_signal(signal.SIGHUP)
        assert wait_for(lambda: set(self.workers()) - before), "no new worker after HUP"
        self.worker = max(set(self.workers()) - before)
        return before

    def refused_reload(self, message):
        """HUP with a configuration that is refused with `message`: nothing else changes."""
        before = self.workers()
        self.allow(re.escape(message))
        self.process.send_signal(signal.SIGHUP)
        assert wait_for(lambda: message in self.log()), "the configuration is not refused"
        assert self.workers() == before

    @contextlib.contextmanager
    def paused(self):
        """The worker stands still: what clients do meanwhile, it sees all at once."""
        os.kill(self.worker, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.worker, signal.SIGCONT)

    # --------------------------------------------------------------------------------- files

    def file(self, name, body):
        path = self.www / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        return path

    # ------------------------------------------------------------------------------- clients

    def h1(self, tls=False, **options):
        client = http1.Connection(self.tls_port if tls else self.port, tls=tls, **options)
        self._clients.append(client)
        return client

    def h2(self, tls=False, **options):
        client = http2.Connection(self.tls_port2 if tls else self.port2, tls=tls, **options)
        self._clients.append(client)
        return client

    def get(self, path, protocol="h1", **options):
        """One request on a connection of its own."""
        with getattr(self, protocol)() as client:
            return client.request(path, **options)

    # ----------------------------------------------------------------------------- observing

    def workers(self):
        return _children(self.process.pid) if self._has_master else [self.process.pid]

    def status(self):
        """stub_status."""
        with http1.Connection(self.status_port) as client:
            return client.request("/", headers=[("Connection", "close")]).body.decode()

    def active(self):
        """Active connections, the one that asks included."""
        return int(re.search(r"Active connections: (\d+)", self.status()).group(1))

    def output(self):
        path = self.work / "output"
        return path.read_text(errors="replace") if path.exists() else ""

    def log(self):
        path = self.work / "error.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def log_lines(self, level=None, containing=""):
        return [line for line in self.log().splitlines()
                if (level is None or f"[{level}]" in line) and containing in line]

    def access_log(self):
        path = self.work / "access.log"
        return path.read_text().splitlines() if path.exists() else []

    def wait_for_access_log(self, count):
        assert wait_for(lambda: len(self.access_log()) >= count), self.access_log()
        return self.access_log()

    def resident_kib(self):
        text = pathlib.Path(f"/proc/{self.worker}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text).group(1))

    def cpu_ticks(self, threads=True):
        """CPU used by the worker so far (clock ticks); `threads`: its pool's threads too."""
        base = pathlib.Path(f"/proc/{self.worker}")
        stat = base / "stat" if threads else base / "task" / str(self.worker) / "stat"
        fields = stat.read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    def cpu_share(self, seconds, threads=True):
        """Share of one CPU that the worker takes over the next `seconds`."""
        before, start = self.cpu_ticks(threads), time.monotonic()
        time.sleep(seconds)
        used = (self.cpu_ticks(threads) - before) / os.sysconf("SC_CLK_TCK")
        return used / (time.monotonic() - start)

    def allow(self, pattern):
        """A log line of a bad level that this test provokes on purpose."""
        self._allowed.append(re.compile(pattern))

    # -------------------------------------------------------------------------------- ending

    def quit(self):
        """QUIT: the worker finishes what it has begun. wait_for_exit() must follow."""
        self.killed = True
        self.process.send_signal(signal.SIGQUIT)

    def wait_for_exit(self):
        assert self._exited(60), "no graceful exit"
        assert self.process.returncode == 0, self.process.returncode

    def terminate(self):
        """TERM: the worker leaves at once."""
        self.killed = True
        self.process.send_signal(signal.SIGTERM)
        self.wait_for_exit()

    def settle(self):
        """Waits until no client is connected any more; fails if that does not happen."""
        for client in self._clients:
            client.close()
        settled = wait_for(lambda: self.active() <= self.idle_connections, step=0.05)
        assert settled, f"{self.active()} connections are still active: a request hangs"

    def stop(self):
        """Everything that must hold after any test."""
        try:
            if self.process.poll() is None and not self.killed:
                self.settle()
                assert self.worker in self.workers(), "the worker has died"
                idle = wait_for(lambda: self.cpu_share(0.2) < 0.2, timeout=30)
                assert idle, "the worker uses CPU although nothing runs"
                self._check_tasks()
                self.process.send_signal(signal.SIGQUIT)
                self.wait_for_exit()
        finally:
            if self.process.poll() is None:
                for pid in [*self.workers(), self.process.pid]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                self.process.wait()
        self.check_logs()

    def _exited(self, timeout):
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        return True

    def check_logs(self):
        log = self.log()
        bad = [line for line in log.splitlines() if _BAD_LOG.search(line)
               and not any(allowed.search(line) for allowed in self._allowed)]
        assert not bad, "\n".join(bad[:20])
        output = self.output()
        assert not _BAD_OUTPUT.search(output), output[:20000]

    def _check_tasks(self):
        """Each task that was added to a pool had its completion run (seen at level debug)."""
        log = "\n".join(self.log_lines(containing=f" {self.worker}#"))
        added = collections.Counter(re.findall(r"task #(\d+) added to thread pool", log))
        done = collections.Counter(re.findall(r"run completion handler for task #(\d+)", log))
        missing = added - done
        assert not missing, f"tasks without completion: {sorted(missing)[:20]}"
