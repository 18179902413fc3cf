"""A response is whole or visibly broken, one log line says so, and the worker lives on."""

import re

import pytest

from harness import upstream as answers
from harness.bodies import noise, pieces, text
from harness.decode import decode, prefix
from harness.http1 import Broken, fault
from harness.nginx import EXECUTORS, pool, wait_for

BODY = text(300_007)
PROTOCOLS = ("h1", "h2")
WAYS = ("/page.html", "/proxied", "/unbuffered")


def serve(nginx, upstream, executor, **options):
    upstream.route("/proxied", answers.chunked(pieces(BODY, 40_000)))
    upstream.route("/unbuffered", answers.paused(pieces(BODY, 60_000), 0.002))
    server = nginx(f"""
      brotli_comp_level 5;
      {EXECUTORS[executor]}
      location /proxied {{ proxy_pass http://{upstream.address}; proxy_http_version 1.1; }}
      location /unbuffered {{
        proxy_pass http://{upstream.address}; proxy_http_version 1.1; proxy_buffering off;
      }}
    """, **options)
    server.file("page.html", BODY)
    return server


def outcome(server, protocol, path, headers):
    """'whole' (compressed), 'plain' or 'broken'; fails if it is anything else."""
    if protocol == "h1":
        with server.h1() as client:
            client.send(path, headers=headers)
            try:
                response = client.read()
            except Broken:
                response = getattr(client, "response", None)
                if response is not None and response.encoding == "br":
                    assert BODY.startswith(prefix(response.body))
                return "broken"
    else:
        with server.h2() as client:
            response = client.open(path, headers=headers)
            assert client.wait(lambda: response.over), "the stream hangs"
            if response.error is not None:
                assert response.error != "connection", "one stream's failure took all of them"
                if response.encoding == "br":
                    assert BODY.startswith(prefix(response.body))
                return "broken"
    if response.status == 500:
        return "broken"
    assert response.status == 200
    if response.encoding == "br":
        assert decode(bytes(response.body)) == BODY
        return "whole"
    assert bytes(response.body) == BODY
    return "plain"


def complaints(server):
    return [line for line in server.log().splitlines()
            if re.search(r"\[(error|crit|alert|emerg)\]", line)]


def fail_each(server, protocol, path, kind, run_out):
    """Fails event 1, 2, ... of `kind` until `run_out` runs in a row were not hit."""
    broken, quiet, number = 0, 0, 0
    while quiet < run_out:
        number += 1
        assert number < 2_000, "there is always something to fail"
        before = len(complaints(server))
        result = outcome(server, protocol, path, fault(f"{kind}={number}"))
        if result == "whole":
            quiet += 1
            assert len(complaints(server)) == before, complaints(server)[before:]
        else:
            quiet = 0
            broken += 1
            assert wait_for(lambda: len(complaints(server)) > before, timeout=5), (number, result)
            assert len(complaints(server)) == before + 1, complaints(server)[before:]
    return broken


@pytest.mark.parametrize("path", WAYS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_each_allocation_that_fails_breaks_one_response_visibly(nginx, upstream, executor,
                                                               protocol, path):
    server = serve(nginx, upstream, executor, debug=False)
    # An allocation may fail without harm: what it was for is done another way.
    assert fail_each(server, protocol, path, "alloc", run_out=12) > 0
    assert outcome(server, protocol, path, []) == "whole"


@pytest.mark.parametrize("path", WAYS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_each_step_that_fails_breaks_one_response_visibly(nginx, upstream, executor, protocol, path):
    server = serve(nginx, upstream, executor, debug=False)
    assert fail_each(server, protocol, path, "fail", run_out=2) > 0
    assert outcome(server, protocol, path, []) == "whole"


@pytest.mark.parametrize("path", WAYS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("executor", ["pool", "segments"])
def test_refused_jobs_delay_but_do_not_break_a_response(nginx, upstream, executor, protocol, path):
    server = serve(nginx, upstream, executor)
    for number in (1, 2, 3, 4, 5, 6, "*"):
        assert outcome(server, protocol, path, fault(f"refuse={number}")) == "whole", number
        assert outcome(server, protocol, path, fault(f"refuse={number} delay=5")) == "whole", number
    assert not complaints(server)


@pytest.mark.parametrize("length", [0, 1])
@pytest.mark.parametrize("tasks", [1, 4])
def test_a_full_queue_of_the_pool_breaks_nothing_and_does_not_flood_the_log(nginx, tasks, length):
    server = nginx(f"brotli_comp_level 5; {pool(tasks=tasks)}",
                   threads=f"thread_pool br threads=1 max_queue={length};", debug=False)
    server.file("page.html", BODY)
    clients = [server.h1() for _ in range(120)]
    for client in clients:
        client.send("/page.html", headers=fault("delay=2"))
    with server.h2() as other:
        streams = [other.open("/page.html") for _ in range(60)]
        for client in clients:
            assert decode(client.read().body) == BODY
        assert other.wait(lambda: all(stream.over for stream in streams))
        assert all(decode(bytes(stream.body)) == BODY for stream in streams)
    assert len(complaints(server)) <= len(clients) + len(streams)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_client_that_is_gone_is_noted_once_and_is_no_error(nginx, executor):
    server = nginx(f"brotli_comp_level 5; {EXECUTORS[executor]}", debug=False)
    server.file("page.html", noise(3_000_000))
    client = server.h1(receive_buffer=4096)
    client.send("/page.html", headers=fault("delay=100"))
    client.read_head()
    client.reset()
    server.wait_for_access_log(1)
    server.settle()
    assert not complaints(server)
    notes = [line for line in server.log_lines("info") if " client: 127.0.0.1" in line]
    assert len(notes) == 1, notes


# ------------------------------------------------------------------------- upstreams that fail

LOST = {
    "sends less than it promised": answers.cut_short(BODY, 150_000),
    "resets the connection": answers.cut_short(BODY, 150_000, reset=True),
    "ends without the last chunk": lambda exchange: (
        exchange.head(chunked=True), exchange.chunk(BODY[:150_000])),
}


@pytest.mark.parametrize("reason", LOST)
@pytest.mark.parametrize("buffering", ["on", "off"])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_what_an_upstream_sent_before_it_failed_is_delivered_then_broken(
        nginx, upstream, executor, buffering, reason):
    upstream.route("/page", LOST[reason])
    server = nginx(f"""
      brotli_comp_level 5;
      {EXECUTORS[executor]}
      location / {{
        proxy_pass http://{upstream.address}; proxy_http_version 1.1; proxy_buffering {buffering};
      }}
    """)
    with server.h1() as client:
        client.send("/page", accept=None)
        plain = client.read_until_broken().body
    with server.h1() as client:
        client.send("/page")
        response = client.read_until_broken()
        assert response.encoding == "br"
        got = prefix(response.body)
    if "reset" in reason:
        # How much nginx reads of what a reset cut off varies.
        assert BODY.startswith(got) and len(got) > 100_000
    else:
        assert got == plain == BODY[:150_000]
    with server.h2() as client:
        stream = client.open("/page")
        assert client.wait(lambda: stream.over)
        assert not stream.ended
        assert isinstance(stream.error, int), "the connection must live on"
        assert BODY.startswith(prefix(stream.body))


@pytest.mark.parametrize("buffering", ["on", "off"])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_an_upstream_that_stalls_is_given_up(nginx, upstream, executor, buffering):
    def stall(exchange):
        exchange.head(length=len(BODY))
        exchange.send(BODY[:150_000])
        exchange.connection.recv(1)  # until nginx closes

    upstream.route("/page", stall)
    server = nginx(f"""
      proxy_read_timeout 1s;
      {EXECUTORS[executor]}
      location / {{ proxy_pass http://{upstream.address}; proxy_buffering {buffering}; }}
    """)
    with server.h1() as client:
        client.send("/page")
        response = client.read_until_broken()
        assert BODY.startswith(prefix(response.body))
    assert server.log_lines("error", "upstream timed out")


@pytest.mark.parametrize("buffering", ["on", "off"])
@pytest.mark.parametrize("executor", ["pool", "segments"])
def test_a_slow_pool_is_no_slow_upstream(nginx, upstream, executor, buffering):
    body = noise(700_000)
    upstream.route("/page", answers.with_length(body))
    server = nginx(f"""
      proxy_read_timeout 1s; brotli_comp_level 1;
      {EXECUTORS[executor]}
      location / {{
        proxy_pass http://{upstream.address}; proxy_buffering {buffering};
        proxy_buffers 4 4k; proxy_busy_buffers_size 8k; proxy_max_temp_file_size 0;
      }}
    """, debug=False)
    clients = [server.h1() for _ in range(8)]
    for client in clients:
        client.send("/page", headers=fault("delay=300"))
    for client in clients:
        assert decode(client.read().body) == body
    assert not server.log_lines("error", "upstream timed out")
