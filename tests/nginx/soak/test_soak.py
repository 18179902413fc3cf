"""Mixed traffic for minutes (BRIO_SOAK_SECONDS, 600): every body right, nothing left behind."""

import collections
import os
import pathlib
import random
import re
import statistics
import threading
import time
import traceback

import pytest

from harness import upstream as answers
from harness.bodies import noise, pieces, text
from harness.decode import Stream
from harness.http1 import Broken
from harness.nginx import pool, wait_for

SECONDS = float(os.environ.get("BRIO_SOAK_SECONDS", "600"))
RELOAD_EVERY = 5
CLIENTS = 10
LEVELS = range(12)
DEAR_LEVEL = 10  # from here on bodies are short: a megabyte takes more than a second
SIZES = (0, 1, 19, 20, 1000, 5_000, 20_000, 64 * 1024, 200_000, 1_000_000, 5_000_000)
DEAR_SIZE = 200_000
WAYS = ("file", "length", "chunked", "bursts", "short", "reset")
DYING = ("short", "reset")


@pytest.mark.timeout(SECONDS * 2 + 600)
def test_mixed_traffic_with_reloads(nginx, upstream):
    seed = int(os.environ.get("BRIO_SOAK_SEED", time.time()))
    print("seed", seed)
    bodies = {size: text(size) if size % 3 else noise(size // 2) + text(size - size // 2)
              for size in SIZES}
    levels = "\n".join(f"""
      location /{level}/ {{
        brotli_comp_level {level};
        {pool(4, "64k") if level % 2 else pool(1, "1m")}
        location /{level}/up/ {{ proxy_pass http://{upstream.address}/; proxy_http_version 1.1; }}
        location /{level}/now/ {{
          proxy_pass http://{upstream.address}/; proxy_http_version 1.1; proxy_buffering off;
        }}
        location /{level}/inline/ {{ brotli_thread_pool off; alias www/; }}
        alias www/;
      }}""" for level in LEVELS)
    server = nginx(levels, debug=False, http="brotli_memory_limit 256m;")
    server.allow("upstream prematurely closed|Connection reset by peer")
    for size, body in bodies.items():
        server.file(f"{size}.html", body)
        upstream.route(f"/length/{size}", answers.with_length(body))
        upstream.route(f"/chunked/{size}", answers.chunked(pieces(body, 30_000)))
        upstream.route(f"/bursts/{size}", answers.paused(pieces(body, size // 4 + 1), 0.02))
        upstream.route(f"/short/{size}", answers.cut_short(body, size // 2))
        upstream.route(f"/reset/{size}", answers.cut_short(body, size // 2, reset=True))

    done = collections.Counter()
    problems = []
    until = time.monotonic() + SECONDS
    clients = [threading.Thread(target=_client, args=(server, bodies, seed + i, until, done, problems))
               for i in range(CLIENTS)]
    for client in clients:
        client.start()
    workers, resident = _reload_until(server, until, problems)
    for client in clients:
        client.join()
    print(dict(done))
    assert not problems, "\n\n".join(problems[:5])
    assert all(done[kind] > 0 for kind in ("whole", "slow", "aborted", "cut", "h1", "h2")), done

    server.settle()
    assert wait_for(lambda: not (workers - {server.worker}) & set(server.workers()), timeout=60), \
        "an old worker is still there"
    status = server.status()
    assert re.search(r"Reading: 0 Writing: 1 ", status), status
    first, last = _quarters(resident["master"])
    assert last <= 1.2 * first + 2048, f"the master grows from {first} to {last} KiB"
    first, last = _quarters(resident["worker"])
    assert last <= 1.5 * first + 16 * 1024, f"workers grow from {first} to {last} KiB"
    assert _descriptors(server.worker) <= _descriptors_of_fresh(server) + 2


def _client(server, bodies, seed, until, done, problems):
    choose = random.Random(seed)
    while time.monotonic() < until and not problems:
        what = _any_request(choose, bodies)
        try:
            _one(server, bodies, choose, what, done)
        except Exception:  # pylint: disable=broad-except
            problems.append(f"{what}\n{traceback.format_exc()}")


Request = collections.namedtuple("Request", "protocol path size dies manner")


def _any_request(choose, bodies):
    level = choose.choice(LEVELS)
    sizes = [size for size in bodies if level < DEAR_LEVEL or size <= DEAR_SIZE]
    size, way = choose.choice(sizes), choose.choice(WAYS)
    if way == "file":
        path = f"/{level}/{choose.choice(('', 'inline/'))}{size}.html"
    else:
        path = f"/{level}/{choose.choice(('up', 'now'))}/{way}/{size}"
    manner = choose.choice(("whole", "whole", "slow", "aborted"))
    return Request(choose.choice(("h1", "h2")), path, size, way in DYING and size > 1, manner)


def _one(server, bodies, choose, what, done):
    body = bodies[what.size]
    done[what.protocol] += 1
    if what.protocol == "h1":
        status, got, whole = _over_h1(server, choose, what)
    else:
        status, got, whole = _over_h2(server, choose, what)
    if what.manner == "aborted":
        done["aborted"] += 1
        assert status == 502 or body.startswith(got)
    elif what.dies:
        done["cut"] += 1
        assert not whole or status == 502, "a body that is not whole ends as if it were"
        assert status == 502 or body.startswith(got)
    else:
        done[what.manner] += 1
        assert status == 200 and whole
        assert got == body


def _over_h1(server, choose, what):
    slow = what.manner == "slow"
    received, whole, response = bytearray(), False, None
    with server.h1(receive_buffer=4096 if slow else None) as client:
        client.send(what.path)
        stop_at = choose.randrange(what.size // 4 + 1) if what.manner == "aborted" else None
        try:
            response = client.read_head()
            for piece in client.read_pieces():
                received += piece
                if stop_at is not None and len(received) >= stop_at:
                    client.reset()
                    break
                if slow and choose.random() < 0.2:
                    time.sleep(0.005)
            else:
                whole = True
        except Broken:
            assert what.dies, "the connection has ended early"
    status = response.status if response else None
    return (status, *_decoded(response and response.encoding, bytes(received), whole))


def _decoded(encoding, received, whole):
    if encoding != "br":
        return received, whole
    decoder = Stream()
    return decoder.feed(received), whole and decoder.finished


def _over_h2(server, choose, what):
    slow = what.manner == "slow"
    with server.h2(window=4096 if slow else 65535, receive_buffer=4096 if slow else None) as client:
        stream = client.open(what.path)
        if what.manner == "aborted":
            stop_at = choose.choice((0, choose.randrange(what.size // 4 + 1)))
            client.wait(lambda: stream.over or len(stream.body) >= stop_at)
            if choose.random() < 0.5:
                client.reset(stream)
            else:
                client.drop()
            return None, b"", False
        assert client.wait(lambda: stream.over), "no end of stream"
        assert stream.ended or what.dies, f"stream reset: {stream.error}"
        return (stream.status, *_decoded(stream.encoding, bytes(stream.body), stream.ended))


def _reload_until(server, until, problems):
    """All workers that have been, and resident KiB by the end of each of their lives."""
    workers = {server.worker}
    resident = {"master": [], "worker": []}
    while time.monotonic() + RELOAD_EVERY < until and not problems:
        time.sleep(RELOAD_EVERY)
        resident["worker"].append(server.resident_kib())
        resident["master"].append(_resident(server.process.pid))
        server.reload()
        workers.add(server.worker)
    return workers, resident


def _resident(pid):
    text_of = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text_of).group(1))


def _quarters(values):
    quarter = max(len(values) // 4, 1)
    return statistics.median(values[:quarter]), statistics.median(values[-quarter:])


def _descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def _descriptors_of_fresh(server):
    server.reload()
    server.get("/1/1000.html")
    return _descriptors(server.worker)
