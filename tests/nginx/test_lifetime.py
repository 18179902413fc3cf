"""Requests that end while their jobs run: keepalive, resets, reloads, exits, terminated requests."""

import random
import socket
import threading
import time

import pytest

from harness import upstream as answers
from harness.bodies import noise, pieces, text
from harness.decode import decode
from harness.http1 import Broken, fault
from harness.nginx import EXECUTORS, pool, wait_for

BODY = text(300_007)
POOLED = ["pool", "segments"]


def test_keepalive_does_not_free_what_a_job_uses(nginx):
    server = nginx(f"brotli_comp_level 1; {pool(tasks=4, segment='256k')}", debug=False)
    body = text(2_000_000)
    server.file("page.html", body)
    problems = []

    def client():
        try:
            with server.h1() as connection:
                for _ in range(50):
                    assert decode(connection.request("/page.html").body) == body
        except Exception as error:  # an assertion in a thread fails nothing by itself
            problems.append(error)

    threads = [threading.Thread(target=client) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


@pytest.mark.parametrize("protocol", ["h1", "h2"])
def test_a_response_of_64_segments_is_aborted_once(nginx, protocol):
    server = nginx(f"brotli_comp_level 1; {pool(tasks=64, segment='64k')}")
    server.file("page.html", text(64 * 65_536))
    for _ in range(3):
        client = getattr(server, protocol)()
        if protocol == "h1":
            client.send("/page.html", headers=fault("delay=100"))
            time.sleep(0.05)
            client.reset()
        else:
            client.open("/page.html", headers=fault("delay=100"))
            time.sleep(0.05)
            client.drop()
    assert len(server.wait_for_access_log(3)) == 3
    server.settle()
    assert len(server.access_log()) == 3


def read_all(client, protocol, request):
    if protocol == "h1":
        return client.read()
    assert client.wait(lambda: request.over)
    assert request.ended, request.error
    return request


@pytest.mark.parametrize("way", ["/page.html", "/buffered", "/unbuffered"])
@pytest.mark.parametrize("protocol", ["h1", "h2"])
@pytest.mark.parametrize("executor", POOLED)
def test_a_graceful_exit_waits_for_the_pool(nginx, upstream, executor, protocol, way):
    for path in ("/buffered", "/unbuffered"):
        upstream.route(path, answers.chunked(pieces(BODY, 50_000)))
    server = nginx(f"""
      {EXECUTORS[executor]}
      location /buffered {{ proxy_pass http://{upstream.address}; proxy_http_version 1.1; }}
      location /unbuffered {{
        proxy_pass http://{upstream.address}; proxy_http_version 1.1; proxy_buffering off;
      }}
    """)
    server.file("page.html", BODY)
    client = getattr(server, protocol)()
    send = client.send if protocol == "h1" else client.open
    request = send(way, headers=fault("delay=300"))
    time.sleep(0.15)
    server.quit()
    assert decode(bytes(read_all(client, protocol, request).body)) == BODY
    client.close()
    server.wait_for_exit()


@pytest.mark.parametrize("protocol", ["h1", "h2"])
@pytest.mark.parametrize("executor", POOLED)
def test_a_reload_finishes_what_is_in_flight(nginx, executor, protocol):
    server = nginx(EXECUTORS[executor])
    server.file("page.html", BODY)
    for round_ in range(4):
        clients = [getattr(server, protocol)() for _ in range(3)]
        requests = [(client.send if protocol == "h1" else client.open)(
            "/page.html", headers=fault("delay=200")) for client in clients]
        time.sleep(0.05 * round_)
        server.rewrite(threads=f"thread_pool br threads={1 + round_ % 3};")
        old = server.reload()
        for client, request in zip(clients, requests):
            assert decode(bytes(read_all(client, protocol, request).body)) == BODY
            client.close()
        assert wait_for(lambda: not old & set(server.workers())), "the old worker does not leave"
    assert decode(bytes(server.get("/page.html", protocol).body)) == BODY


def test_a_fast_exit_with_a_deep_queue_does_not_crash(nginx):
    for _ in range(5):
        server = nginx(f"brotli_comp_level 9; {pool(tasks=4)}", threads="thread_pool br threads=2;",
                       debug=False)
        server.file("page.html", BODY)
        clients = [server.h1() for _ in range(40)]
        for client in clients:
            client.send("/page.html", headers=fault("delay=20"))
        time.sleep(random.Random(1).random() * 0.1)
        server.terminate()
        for client in clients:
            client.close()


# What a subrequest that answers 444 does to the request: it is closed at once, jobs or not.
TERMINATING = """
  ssi on;
  %(executor)s
  error_page 502 504 = /444;
  location = /444 { return 444; }
  location = /slow { proxy_pass http://%(upstream)s; }
  location = /accel { proxy_pass http://%(upstream)s; }
"""


@pytest.mark.parametrize("includes", [
    ("/444",), ("/slow", "/444"), ("/444", "/slow"), ("/accel",), ("/accel", "/slow"),
    ("/slow", "/accel")], ids=lambda names: "".join(names))
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_subrequest_that_terminates_the_request_ends_it(nginx, upstream, executor, includes):
    def slow(exchange):
        exchange.head(length=100_000)
        time.sleep(0.3)
        exchange.send(text(100_000))

    def accel(exchange):
        time.sleep(0.1)
        exchange.head("X-Accel-Redirect: /444", length=0)

    upstream.route("/slow", slow)
    upstream.route("/accel", accel)
    server = nginx(TERMINATING % {"executor": EXECUTORS[executor], "upstream": upstream.address})
    server.file("page.html", text(100_000) + b"".join(
        b'<!--# include virtual="%s" -->' % name.encode() for name in includes) + text(1_000))
    for protocol in ("h1", "h2"):
        with getattr(server, protocol)() as client:
            if protocol == "h1":
                client.send("/page.html", headers=fault("delay=100"))
                client.read_until_broken()
            else:
                stream = client.open("/page.html", headers=fault("delay=100"))
                assert client.wait(lambda: stream.over)
                assert not stream.ended
    server.wait_for_access_log(2)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_client_that_leaves_a_page_of_subrequests_is_cleaned_up(nginx, upstream, executor):
    upstream.route("/slow", answers.paused(pieces(BODY, 30_000), 0.02))
    server = nginx(TERMINATING % {"executor": EXECUTORS[executor], "upstream": upstream.address})
    server.file("page.html", text(50_000) + b'<!--# include virtual="/slow" -->' * 3)
    for pause in (0, 0.02, 0.1, 0.2):
        client = server.h1()
        client.send("/page.html", headers=fault("delay=60"))
        time.sleep(pause)
        client.reset()
    server.wait_for_access_log(4)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_an_abandoned_cacheable_response_still_fills_the_cache(nginx, upstream, executor):
    body = noise(3_000_000)

    def steady(exchange):
        exchange.head("Cache-Control: max-age=600", length=len(body))
        for piece in pieces(body, 100_000):
            exchange.send(piece)
            time.sleep(0.01)

    upstream.route("/page", steady)
    server = nginx(f"""
      brotli_comp_level 1;
      {EXECUTORS[executor]}
      location / {{
        proxy_pass http://{upstream.address};
        proxy_cache pages;
        add_header X-Cache $upstream_cache_status always;
      }}
    """, http='proxy_cache_path cache keys_zone=pages:1m;', debug=False)
    client = server.h1()
    client.send("/page", headers=fault("delay=20"))
    client.read_head()
    time.sleep(0.1)
    client.reset()
    server.wait_for_access_log(1)
    assert wait_for(lambda: any(path.is_file() and path.stat().st_size > len(body)
                                for path in (server.work / "cache").rglob("?" * 32)))
    again = server.get("/page")
    assert again.get("x-cache") == "HIT"
    assert decode(again.body) == body
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("abort", [False, True], ids=["finished", "aborted"])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_post_action_runs_once(nginx, upstream, executor, abort):
    upstream.route("/after", answers.with_length(b"done" * 1000))
    server = nginx(f"""
      {EXECUTORS[executor]}
      location / {{ post_action /after; }}
      location = /after {{ internal; proxy_pass http://{upstream.address}; }}
    """)
    server.file("page.html", BODY)
    client = server.h1()
    client.send("/page.html", headers=fault("delay=50"))
    if abort:
        time.sleep(0.02)
        client.reset()
    else:
        assert decode(client.read().body) == BODY
        client.close()
    assert wait_for(lambda: upstream.requests), "post_action does not run"
    server.settle()
    assert upstream.requests == ["/after"]


def test_a_client_that_was_gone_before_it_was_seen_costs_a_step_at_most(nginx):
    server = nginx(EXECUTORS["pool"])
    server.file("page.html", text(2_000_000))
    with server.paused():
        client = server.h1()
        client.send("/page.html")
        client.reset()
    assert server.wait_for_access_log(1)[0].startswith("499 ")
    server.settle()
    assert len(server.log_lines(containing="added to thread pool")) <= 1


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_client_that_only_ends_its_side_gets_its_response(nginx, executor):
    server = nginx(EXECUTORS[executor])
    server.file("page.html", BODY)
    with server.paused():
        client = server.h1()
        client.send("/page.html")
        client.socket.shutdown(socket.SHUT_WR)
    assert decode(client.read().body) == BODY


def reset_clients(server, count, threads, seed):
    """Clients that ask, wait a random moment, and reset; every one is accounted for."""
    problems = []

    def work(number):
        rng = random.Random(seed * 1000 + number)
        try:
            for _ in range(count // threads):
                delay = fault(f"delay={rng.choice((0, 1, 3, 10, 20))}")
                path = rng.choice(("/page.html", "/proxied", "/unbuffered", "/ssi/page.html"))
                if rng.random() < 0.7:
                    client = server.h1()
                    client.send(path, headers=delay)
                    if rng.random() < 0.3:
                        client.receive(rng.randrange(1, 5000))
                    time.sleep(rng.random() * 0.03)
                    client.reset()
                else:
                    client = server.h2()
                    streams = [client.open(path, headers=delay) for _ in range(3)]
                    time.sleep(rng.random() * 0.03)
                    client.reset(rng.choice(streams))
                    client.receive(0.01)
                    client.drop()
        except Broken:
            pass
        except Exception as error:  # an assertion in a thread fails nothing by itself
            problems.append(repr(error))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not problems, problems[:3]


def resettable(nginx, upstream, executor):
    upstream.route("/proxied", answers.chunked(pieces(BODY, 20_000)))
    upstream.route("/unbuffered", answers.paused(pieces(BODY, 60_000), 0.003))
    server = nginx(f"""
      brotli_comp_level 5;
      {EXECUTORS[executor]}
      location /proxied {{ proxy_pass http://{upstream.address}; proxy_http_version 1.1; }}
      location /unbuffered {{
        proxy_pass http://{upstream.address}; proxy_http_version 1.1; proxy_buffering off;
      }}
      location /ssi/ {{ ssi on; }}
    """, debug=False)
    server.file("page.html", BODY)
    server.file("ssi/page.html", text(80_000) + b'<!--# include virtual="/proxied" -->'
                b'<!--# include virtual="/page.html" -->')
    return server


def check_resets(server, count, seed):
    reset_clients(server, count, threads=8, seed=seed)
    server.settle()
    for protocol in ("h1", "h2"):
        assert decode(bytes(server.get("/page.html", protocol).body)) == BODY


@pytest.mark.parametrize("executor", EXECUTORS)
def test_clients_that_reset_leave_nothing_behind(nginx, upstream, executor):
    check_resets(resettable(nginx, upstream, executor), 160, seed=1)


@pytest.mark.aborts
@pytest.mark.parametrize("executor", POOLED)
def test_two_thousand_clients_that_reset_leave_nothing_behind(nginx, upstream, executor):
    check_resets(resettable(nginx, upstream, executor), 2000, seed=2)


@pytest.mark.aborts
def test_resets_during_reloads_leave_nothing_behind(nginx, upstream):
    server = resettable(nginx, upstream, "segments")
    storm = threading.Thread(target=reset_clients, args=(server, 400, 4, 3))
    storm.start()
    for _ in range(5):
        time.sleep(0.5)
        server.reload()
    storm.join()
    assert wait_for(lambda: server.workers() == [server.worker])
