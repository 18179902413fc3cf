"""What else a configuration that has grown for years puts before and behind the filter."""

import random
import re
import socket
import threading
import time

import pytest

from harness import upstream as answers
from harness.bodies import pieces, text
from harness.decode import decode
from harness.http1 import fault
from harness.nginx import EXECUTORS, pool, wait_for

BODY = text(400_000)
PROTOCOLS = ("h1", "h2")

both = pytest.mark.parametrize("protocol", PROTOCOLS)
each_executor = pytest.mark.parametrize("executor", EXECUTORS)


def compressed(response, body=BODY, status=200):
    assert response.status == status
    assert response.encoding == "br"
    assert decode(bytes(response.body)) == body


@both
@each_executor
def test_a_cache_holds_the_plain_body_and_serves_it_compressed(nginx, upstream, executor, protocol):
    versions = [BODY, text(400_000, seed=2)]

    def answer(exchange):
        answers.chunked(pieces(versions[min(len(upstream.requests), 2) - 1], 50_000))(exchange)
    upstream.route("/page", answer)
    server = nginx(f"""
      {EXECUTORS[executor]}
      location / {{
        proxy_pass http://{upstream.address}; proxy_http_version 1.1;
        proxy_cache all; proxy_cache_valid 200 1s; proxy_cache_use_stale updating;
        proxy_cache_background_update on; add_header X-Cache $upstream_cache_status;
      }}
    """, http="proxy_cache_path cache keys_zone=all:1m;")
    miss = server.get("/page", protocol)
    compressed(miss)
    assert miss.get("x-cache") == "MISS"
    hit = server.get("/page", protocol)
    compressed(hit)
    assert hit.get("x-cache") == "HIT"
    assert server.get("/page", protocol, accept="gzip").body == BODY
    time.sleep(2.1)
    stale = server.get("/page", protocol)
    compressed(stale)
    assert stale.get("x-cache") == "STALE"
    assert wait_for(lambda: len(upstream.requests) == 2), "no update in the background"
    assert wait_for(lambda: decode(bytes(server.get("/page", protocol).body)) == versions[1])


class Fcgi:
    """Answers each FastCGI request with `body`, in records of `size` bytes."""

    def __init__(self, body, size):
        self._out = b"Content-Type: text/html\r\n\r\n" + body
        self._size = size

    @staticmethod
    def _record(kind, content):
        return bytes((1, kind, 0, 1)) + len(content).to_bytes(2, "big") + b"\0\0" + content

    def serve(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                while self._read(connection) != (5, b""):  # the end of the request's body
                    pass
                for piece in pieces(self._out, self._size):
                    connection.sendall(self._record(6, piece))
                connection.sendall(self._record(6, b"") + self._record(3, bytes(8)))

    def _read(self, connection):
        head = self._exactly(connection, 8)
        content = self._exactly(connection, int.from_bytes(head[4:6], "big"))
        self._exactly(connection, head[6])
        return head[1], content

    @staticmethod
    def _exactly(connection, size):
        data = b""
        while len(data) < size:
            data += connection.recv(size - len(data))
        return data


@both
@each_executor
@pytest.mark.parametrize("buffering", ("on", "off"))
def test_a_fastcgi_server_behind_it(nginx, executor, protocol, buffering):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=Fcgi(BODY, 8000).serve, args=(listener,), daemon=True).start()
        server = nginx(f"""
          {EXECUTORS[executor]}
          location / {{
            fastcgi_pass 127.0.0.1:{listener.getsockname()[1]}; fastcgi_buffering {buffering};
            fastcgi_param REQUEST_METHOD $request_method;
          }}
        """)
        for _ in range(3):
            compressed(server.get("/page", protocol))
        listener.shutdown(socket.SHUT_RDWR)


@both
@each_executor
def test_subrequests_that_only_decide(nginx, upstream, executor, protocol):
    upstream.route("/yes", lambda exchange: exchange.head(status="204 No Content"))
    upstream.route("/no", lambda exchange: exchange.head(status="403 Forbidden", length=0))
    upstream.route("/copy", answers.with_length(BODY))
    server = nginx(f"""
      {EXECUTORS[executor]}
      location = /page.html {{ auth_request /yes; mirror /copy; }}
      location = /secret.html {{ auth_request /no; }}
      location = /yes {{ internal; proxy_pass http://{upstream.address}; }}
      location = /no {{ internal; proxy_pass http://{upstream.address}; }}
      location = /copy {{ internal; proxy_pass http://{upstream.address}; }}
    """)
    for name in ("page.html", "secret.html"):
        server.file(name, BODY)
    for _ in range(3):
        compressed(server.get("/page.html", protocol))
    assert wait_for(lambda: upstream.requests.count("/copy") == 3)
    forbidden = server.get("/secret.html", protocol)
    assert forbidden.status == 403
    assert b"403 Forbidden" in decode(bytes(forbidden.body))


@both
@each_executor
def test_redirects_inside(nginx, upstream, executor, protocol):
    upstream.route("/accel", lambda exchange: exchange.head("X-Accel-Redirect: /inner/page.html",
                                                            length=0))
    upstream.route("/named", answers.chunked(pieces(BODY, 30_000)))
    server = nginx(f"""
      {EXECUTORS[executor]}
      error_page 404 /missing.html;
      location = /accel {{ proxy_pass http://{upstream.address}; }}
      location /inner/ {{ internal; alias www/; }}
      location = /named {{ try_files /nowhere @up; }}
      location @up {{ proxy_pass http://{upstream.address}; proxy_http_version 1.1; }}
      location = /rewritten {{ rewrite ^ /page.html last; }}
      location = /returned {{ return 200 "{'0123456789' * 300}"; }}
      location /shown/ {{ proxy_pass http://{upstream.address}; proxy_intercept_errors on; }}
    """)
    for name in ("page.html", "index.html", "missing.html"):
        server.file(name, BODY)
    for path in ("/accel", "/named", "/rewritten", "/", "/page.html"):
        compressed(server.get(path, protocol))
    compressed(server.get("/returned", protocol), b"0123456789" * 300)
    compressed(server.get("/nowhere", protocol), status=404)
    compressed(server.get("/shown/nothing", protocol), status=404)


@both
@each_executor
def test_thirty_includes_that_come_in_any_order(nginx, upstream, executor, protocol):
    choose = random.Random(1)
    parts = {f"/part{i}": text(choose.randrange(60_000), seed=i) for i in range(30)}

    def late(body, pause):
        def answer(exchange):
            time.sleep(pause)
            answers.chunked(pieces(body, 10_000))(exchange)
        return answer
    for path, body in parts.items():
        upstream.route(path, late(body, choose.random() / 3))
    server = nginx(f"""
      ssi on; {EXECUTORS[executor]}
      location /part {{ proxy_pass http://{upstream.address}; proxy_http_version 1.1; }}
    """)
    server.file("page.html", "|".join(f'<!--# include virtual="{path}" -->' for path in parts).encode())
    compressed(server.get("/page.html", protocol), b"|".join(parts.values()))


@each_executor
def test_what_is_added_around_a_page_is_compressed_with_it(nginx, executor):
    server = nginx(f"""
      {EXECUTORS[executor]}
      add_before_body /before.html; add_after_body /after.html; addition_types *;
      sub_filter 'module' 'MODULE'; sub_filter_once off;
    """)
    for name, body in (("page.html", BODY), ("before.html", b"before"), ("after.html", b"after")):
        server.file(name, body)
    body = decode(server.get("/page.html").body)
    assert body == b"before" + BODY.replace(b"module", b"MODULE") + b"after"


@both
@pytest.mark.parametrize("executor", ("pool", "segments"))
def test_a_worker_that_may_not_wait_longer_ends_all_the_same(nginx, executor, protocol):
    server = nginx(EXECUTORS[executor], main="worker_shutdown_timeout 500ms;")
    server.file("page.html", text(1_000_000))
    client = getattr(server, protocol)()
    send = client.send if protocol == "h1" else client.open
    request = send("/page.html", headers=fault("delay=400"))
    time.sleep(0.1)
    old = server.reload()
    if protocol == "h1":
        client.read_until_broken()
    else:
        assert client.wait(lambda: request.over)
        assert not request.ended
    client.close()
    assert wait_for(lambda: not old & set(server.workers())), "the old worker does not leave"
    assert decode(bytes(server.get("/page.html", protocol).body)) == text(1_000_000)


@both
def test_several_workers_at_once(nginx, protocol):
    server = nginx(pool(tasks=4), workers=4, debug=False)
    server.file("page.html", BODY)
    problems = []

    def ask():
        for _ in range(5):
            try:
                compressed(server.get("/page.html", protocol))
            except Exception as problem:  # pylint: disable=broad-except
                problems.append(problem)
    clients = [threading.Thread(target=ask) for _ in range(16)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert not problems
    assert len(server.workers()) == 4


@both
@each_executor
def test_without_a_master_process(nginx, executor, protocol):
    server = nginx(EXECUTORS[executor], workers=0)
    server.file("page.html", BODY)
    for _ in range(5):
        compressed(server.get("/page.html", protocol))


GZIP_SAMPLE = """
    brotli            on;
    brotli_min_length 1000;
    brotli_proxied    expired no-cache no-store private auth;
    brotli_types      text/plain application/xml;
"""

GOOGLE_SAMPLE = """
    brotli on;
    brotli_comp_level 6;
    brotli_static on;
    brotli_types application/atom+xml application/javascript application/json application/vnd.api+json
                 application/rss+xml application/vnd.ms-fontobject application/x-font-opentype
                 application/x-font-truetype application/x-font-ttf application/x-javascript
                 application/xhtml+xml application/xml font/eot font/opentype font/otf font/truetype
                 image/svg+xml image/vnd.microsoft.icon image/x-icon image/x-win-bitmap text/css
                 text/javascript text/plain text/xml;
"""


@pytest.mark.parametrize("sample", (GZIP_SAMPLE, GOOGLE_SAMPLE), ids=("gzip's", "google's"))
def test_published_samples_run_as_they_are(nginx, sample):
    server = nginx(sample)
    server.file("page.txt", BODY)
    response = server.get("/page.txt")
    compressed(response)
    assert re.match("text/plain", response.get("content-type"))
