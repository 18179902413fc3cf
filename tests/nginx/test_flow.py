"""Bytes keep moving: flushes, slow and stalled clients, small buffers, subrequests."""

import contextlib
import itertools
import queue
import threading
import time

import pytest

from harness import http1
from harness import upstream as answers
from harness.bodies import noise, pieces, text
from harness.decode import Stream, decode
from harness.http1 import fault
from harness.nginx import EXECUTORS, pool, wait_for

K64 = 64 * 1024
PROTOCOLS = ("h1", "h2")
BUFFERING = {"buffered": "", "unbuffered": "proxy_buffering off;"}


def proxied(upstream, executor, more=""):
    return f"""
      {EXECUTORS.get(executor, executor)}
      {more}
      location / {{ proxy_pass http://{upstream.address}; proxy_http_version 1.1; }}
      location /now/ {{
        proxy_pass http://{upstream.address}/; proxy_http_version 1.1; proxy_buffering off;
      }}
    """


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_body_in_bursts_arrives_whole(nginx, upstream, executor):
    body = text(500_000)
    server = nginx(proxied(upstream, executor))
    upstream.route("/bursts", answers.paused(pieces(body, 100_000), 0.1))
    for path, protocol in itertools.product(("/bursts", "/now/bursts"), PROTOCOLS):
        assert decode(bytes(server.get(path, protocol).body)) == body


@pytest.mark.parametrize("executor", EXECUTORS)
def test_an_empty_body_of_unknown_length_ends(nginx, upstream, executor):
    server = nginx(proxied(upstream, executor, "location = /return { return 200; }"))
    upstream.route("/empty", answers.chunked([]))
    upstream.route("/late", answers.paused([], 0))
    for path, protocol in itertools.product(("/empty", "/now/empty"), PROTOCOLS):
        response = server.get(path, protocol)
        assert response.encoding == "br"
        assert decode(bytes(response.body)) == b""
    assert server.get("/return").body == b""


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_body_that_ends_on_a_segment_edge_after_a_pause_is_whole(nginx, upstream, executor):
    body = text(4 * K64)
    server = nginx(proxied(upstream, executor))
    upstream.route("/edge", answers.paused(pieces(body, K64), 0.05))
    for path, protocol in itertools.product(("/edge", "/now/edge"), PROTOCOLS):
        assert decode(bytes(server.get(path, protocol).body)) == body


@pytest.mark.parametrize("threads", ("off", "br"))
def test_fixed_cuts_at_the_edges_of_what_arrives_do_not_stop_the_response(nginx, upstream, threads):
    body = text(4 * K64)
    server = nginx(proxied(upstream, pool(1, "64k fixed", threads)))
    upstream.route("/edge", answers.paused(pieces(body, K64), 0.05))
    for path, protocol in itertools.product(("/edge", "/now/edge"), PROTOCOLS):
        assert decode(bytes(server.get(path, protocol).body)) == body


class Events:
    """An upstream that sends its next event only when the client has decoded the one before."""

    def __init__(self, *headers):
        self._go = queue.Queue()
        self._headers = headers

    def __call__(self, exchange):
        exchange.head("Content-Type: text/event-stream", *self._headers, chunked=True)
        while (event := self._go.get(timeout=http1.TIMEOUT)) is not None:
            exchange.chunk(event)
        exchange.end()

    def send(self, event):
        self._go.put(event)

    def end(self):
        self._go.put(None)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("way", ["/now/events", "/events"])
def test_each_event_is_decodable_before_the_next_is_sent(nginx, upstream, executor, protocol, way):
    server = nginx(proxied(upstream, executor, "brotli_types text/event-stream;"))
    upstream.route("/events", events := Events("X-Accel-Buffering: no"))
    stream = Stream()
    with getattr(server, protocol)() as client:
        if protocol == "h1":
            client.send(way)
            # The headers come before there is any event.
            assert client.read_head().encoding == "br"
            arriving = client.read_pieces()
        else:
            response = client.open(way)
            assert client.wait(lambda: response.status)
            assert response.encoding == "br"
        sent, fed = b"", 0
        # The fourth is longer than a segment, the others are not worth a hop.
        for event in (b"data: one\n\n", b"data: two\n\n", b"data: " + b"3" * 30 + b"\n\n",
                      b"data: " + text(70_000) + b"\n\n", b"data: last\n\n"):
            events.send(event)
            sent += event
            while len(stream.body) < len(sent):
                if protocol == "h1":
                    stream.feed(next(arriving))
                else:
                    assert client.wait(lambda: len(response.body) > fed), "the event does not come"
                    stream.feed(response.body[fed:])
                    fed = len(response.body)
            assert stream.body == sent
            assert not stream.finished
        events.end()
        if protocol == "h1":
            for piece in arriving:
                stream.feed(piece)
        else:
            assert client.wait(lambda: response.over) and response.ended
            stream.feed(response.body[fed:])
    assert stream.finished
    assert stream.body == sent


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_buffered_upstream_that_pauses_does_not_hold_back_what_is_done(nginx, upstream, executor):
    gate = threading.Event()
    body = noise(4_000_000)

    def handler(exchange):
        exchange.head(chunked=True)
        for piece in pieces(body[:3_500_000], K64):
            exchange.chunk(piece)
        assert gate.wait(http1.TIMEOUT)
        exchange.chunk(body[3_500_000:])
        exchange.end()

    upstream.route("/pause", handler)
    server = nginx(proxied(upstream, executor, "brotli_comp_level 1;"), debug=False)
    stream = Stream()
    with server.h1() as client:
        client.send("/pause")
        client.read_head()
        for piece in client.read_pieces():
            if len(stream.feed(piece)) > 2_000_000:
                gate.set()
    assert stream.finished
    assert stream.body == body


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("segment", ["256k", "1m"])
def test_small_proxy_buffers_are_not_starved_by_large_segments(nginx, upstream, executor, segment):
    body = text(20_000_000)
    upstream.route("/large", answers.chunked(pieces(body, 1_000_000)))
    executors = {**EXECUTORS, "segments": pool(tasks=4, segment=segment)}
    server = nginx(f"""
      brotli_comp_level 1;
      {executors[executor]}
      location / {{
        proxy_pass http://{upstream.address}; proxy_http_version 1.1;
        proxy_buffers 4 4k; proxy_busy_buffers_size 8k; proxy_max_temp_file_size 0;
      }}
    """, debug=False)
    assert decode(server.get("/large").body) == body


@pytest.mark.parametrize("executor", ["pool", "segments"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_client_that_waits_for_the_pool_is_not_timed_out(nginx, executor, protocol):
    server = nginx(f"send_timeout 1s; {EXECUTORS[executor]}")
    body = text(100_000)
    server.file("page.html", body)
    response = server.get("/page.html", protocol, headers=fault("delay=3000"))
    assert decode(bytes(response.body)) == body


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_client_that_stops_reading_is_timed_out(nginx, executor):
    server = nginx(f"send_timeout 1s; brotli_comp_level 0; {EXECUTORS[executor]}", debug=False)
    server.file("large.html", noise(16_000_000))
    with server.h1(receive_buffer=4096) as client:
        client.send("/large.html")
        client.read_head()
        assert wait_for(lambda: server.access_log()), "the dead client is kept"
        assert server.log_lines("info", "client timed out")
        assert wait_for(lambda: server.active() == server.idle_connections)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_stalled_clients_cost_no_cpu_and_bounded_memory(nginx, executor):
    server = nginx(f"brotli_comp_level 0; {EXECUTORS[executor]}", debug=False)
    resident = []
    for size in (6_000_000, 36_000_000):
        server.file(f"{size}.html", noise(size))
        with contextlib.ExitStack() as clients:
            for _ in range(32):
                client = clients.enter_context(server.h1(receive_buffer=4096))
                client.send(f"/{size}.html")
                client.read_head()
            assert wait_for(lambda: server.cpu_share(0.3) < 0.1), "the worker does not come to rest"
            resident.append(server.resident_kib())
        server.settle()
    small, large = resident
    assert large < 1.25 * small + 65_536, resident


def test_the_event_loop_rests_while_threads_work(nginx):
    server = nginx(EXECUTORS["segments"])
    server.file("page.html", text(1_000_000))
    clients = [server.h1() for _ in range(4)]
    for client in clients:
        client.send("/page.html", headers=fault("delay=700"))
    time.sleep(0.3)
    assert server.cpu_share(1, threads=False) < 0.2
    for client in clients:
        assert decode(client.read().body) == text(1_000_000)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_subrequests_are_delivered_in_their_order(nginx, upstream, executor, protocol):
    proxied_part, static_part = text(5_000_000, seed=2), text(5_000_000, seed=3)
    upstream.route("/part", answers.chunked(pieces(proxied_part, 100_000)))
    server = nginx(f"""
      brotli_comp_level 1;
      ssi on;
      {EXECUTORS[executor]}
      location = /part {{ proxy_pass http://{upstream.address}; proxy_http_version 1.1; }}
    """, debug=False)
    server.file("static.html", static_part)
    server.file("page.html", b'first <!--# include virtual="/part" --> second '
                             b'<!--# include virtual="/static.html" --> last')
    response = server.get("/page.html", protocol)
    assert decode(bytes(response.body)) == (
        b"first " + proxied_part + b" second " + static_part + b" last")


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_limited_rate_is_kept_and_the_body_finishes(nginx, executor):
    server = nginx(f"limit_rate 200k; brotli_comp_level 1; {EXECUTORS[executor]}")
    body = noise(600_000)
    server.file("page.html", body)
    start = time.monotonic()
    response = server.get("/page.html")
    assert decode(response.body) == body
    # The first second's share comes at once; far above what is left means: not limited.
    assert time.monotonic() - start > 1.0


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_client_that_leaves_a_limited_response_is_noticed(nginx, executor):
    server = nginx(f"limit_rate 20k; brotli_comp_level 1; {EXECUTORS[executor]}", debug=False)
    server.file("page.html", noise(2_000_000))
    client = server.h1()
    client.send("/page.html")
    client.read_head()
    client.reset()
    server.wait_for_access_log(1)


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_plain_responses_after_compressed_ones_end_properly(nginx, executor, tls):
    server = nginx(EXECUTORS[executor], tls=True)
    body = text(200_000)
    server.file("page.html", body)
    server.file("page.png", body)
    with server.h1(tls=tls) as client:
        for _ in range(5):
            compressed = client.request("/page.html")
            assert decode(compressed.body) == body
            assert client.request("/page.png").body == body
            client.nothing_more()
        last = client.request("/page.html", headers=[("Connection", "close")])
        assert decode(last.body) == body
        # With TLS: an end without close_notify would raise here.
        assert client.receive() == b""


@pytest.mark.parametrize("executor", EXECUTORS)
def test_http2_over_tls_decodes_to_the_original(nginx, executor):
    server = nginx(EXECUTORS[executor], tls=True)
    body = text(700_000)
    server.file("page.html", body)
    with server.h2(tls=True) as client:
        streams = [client.open("/page.html") for _ in range(5)]
        assert client.wait(lambda: all(stream.over for stream in streams))
        for stream in streams:
            assert stream.ended
            assert decode(bytes(stream.body)) == body


@pytest.mark.parametrize("executor", EXECUTORS)
def test_file_reads_and_temp_files_on_threads_do_not_disturb(nginx, upstream, executor):
    body = text(4_000_000)
    upstream.route("/large", answers.with_length(body))
    server = nginx(f"""
      aio threads=br; aio_write on; sendfile on; output_buffers 2 32k;
      brotli_comp_level 2;
      {EXECUTORS[executor]}
      location = /large {{ proxy_pass http://{upstream.address}; proxy_buffers 4 8k; }}
    """, debug=False)
    server.file("large.html", body)
    for path, protocol in itertools.product(("/large", "/large.html"), PROTOCOLS):
        assert decode(bytes(server.get(path, protocol).body)) == body


def test_slow_readers_get_the_whole_body(nginx):
    server = nginx(f"brotli_comp_level 1; {EXECUTORS['segments']}", debug=False)
    body = noise(1_500_000)
    server.file("page.html", body)
    with server.h1(receive_buffer=8192) as client:
        client.send("/page.html")
        client.read_head()
        for _ in client.read_pieces():
            time.sleep(0.002)
        assert decode(client.response.body) == body


def test_a_limited_upstream_goes_on_when_a_slow_client_catches_up(nginx, upstream):
    """The timer of an upstream that proxy_limit_rate holds back is a delay, and stays one."""
    body = noise(3_000_000)
    upstream.route("/slow", answers.with_length(body))
    server = nginx(f"""
      location / {{
        proxy_pass http://{upstream.address};
        proxy_limit_rate 1000k;
        proxy_max_temp_file_size 0;
        proxy_read_timeout 60s;
      }}
      {pool(tasks=1)}
    """)
    with server.h1(receive_buffer=4096) as client:
        client.send("/slow")
        time.sleep(2)
        started = time.monotonic()
        assert decode(client.read().body) == body
        assert time.monotonic() - started < 30  # and not a read timeout later
