"""The harness itself: its checks must be able to fail."""

import itertools
import random

import brotli
import pytest

from harness.decode import decode
from harness.pairwise import pairwise


def test_a_stream_without_its_last_byte_is_incomplete():
    with pytest.raises(AssertionError, match="incomplete"):
        decode(brotli.compress(b"hello" * 100)[:-1])


def test_a_stream_with_a_byte_after_its_end_is_refused():
    with pytest.raises((AssertionError, brotli.error)):
        decode(brotli.compress(b"hello" * 100) + b"x")


def test_every_length_of_a_complete_stream_is_accepted():
    for size in (0, 1, 2, 100, 70000):
        body = random.Random(size).randbytes(size)
        assert decode(brotli.compress(body)) == body


def test_pairwise_rows_contain_every_pair():
    columns = {"a": list(range(5)), "b": "xyz", "c": [True, False], "d": list(range(4))}
    rows = pairwise(**columns)
    assert len(rows) < 5 * 3 * 2 * 4 / 3
    for one, other in itertools.combinations(columns, 2):
        seen = {(row[one], row[other]) for row in rows}
        assert seen == set(itertools.product(columns[one], columns[other]))


def test_an_alert_in_the_log_fails_the_test(nginx):
    server = nginx()
    server.settle()
    with open(server.work / "error.log", "a", encoding="utf-8") as log:
        log.write("2026/01/01 00:00:00 [alert] 1#1: made up\n")
    with pytest.raises(AssertionError, match="made up"):
        server.check_logs()
    server.allow("made up")
    server.check_logs()


def test_a_connection_left_open_is_noticed(nginx):
    server = nginx()
    client = server.h1()
    client.request("/missing")
    assert server.active() == server.idle_connections + 1
