"""HTTP/2: many streams, small windows, resets, connections that go away."""

import time

import pytest

from harness.bodies import noise, text
from harness.decode import decode
from harness.http1 import fault
from harness.nginx import EXECUTORS, wait_for

BODY = text(200_000)


def serve(nginx, executor, more=""):
    server = nginx(f"brotli_comp_level 4; {EXECUTORS[executor]} {more}",
                   http="http2_max_concurrent_streams 256;", debug=False)
    server.file("page.html", BODY)
    return server


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_hundred_streams_of_which_half_are_reset(nginx, executor):
    server = serve(nginx, executor)
    with server.h2() as client:
        streams = [client.open("/page.html", headers=fault(f"delay={i % 7}")) for i in range(100)]
        for stream in streams[::2]:
            client.reset(stream)
        kept = streams[1::2]
        assert client.wait(lambda: all(stream.over for stream in kept))
        for stream in kept:
            assert stream.ended, stream.error
            assert decode(bytes(stream.body)) == BODY


@pytest.mark.parametrize("executor", EXECUTORS)
def test_streams_reset_in_the_middle_of_their_body_leave_the_others_intact(nginx, executor):
    server = serve(nginx, executor)
    with server.h2(window=20_000) as client:
        streams = [client.open("/page.html") for _ in range(20)]
        assert client.wait(lambda: all(stream.body for stream in streams[::2]))
        for stream in streams[::2]:
            client.reset(stream)
        kept = streams[1::2]
        assert client.wait(lambda: all(stream.over for stream in kept))
        assert all(decode(bytes(stream.body)) == BODY for stream in kept)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("window", [100, 1_000, 65_535])
def test_small_windows_delay_but_do_not_stop_a_body(nginx, executor, window):
    server = serve(nginx, executor)
    with server.h2(window=window) as client:
        streams = [client.open("/page.html", headers=fault("delay=2")) for _ in range(3)]
        assert client.wait(lambda: all(stream.over for stream in streams))
        for stream in streams:
            assert stream.ended, stream.error
            assert decode(bytes(stream.body)) == BODY


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_closed_window_costs_nothing_and_opens_again(nginx, executor):
    server = serve(nginx, executor)
    body = noise(400_000)
    server.file("noise.html", body)
    with server.h2(window=0, manual=True) as client:
        stream = client.open("/noise.html")
        assert client.wait(lambda: stream.status == 200)
        assert wait_for(lambda: server.cpu_share(0.3) < 0.1), "CPU is used for a closed window"
        assert not stream.body
        while not stream.over:
            client.give(stream, 30_000)
            client.receive(0.05)
        assert stream.ended
        assert decode(bytes(stream.body)) == body


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_dropped_connection_with_jobs_in_flight_is_cleaned_up(nginx, executor):
    server = serve(nginx, executor)
    for round_ in range(10):
        client = server.h2()
        for _ in range(10):
            client.open("/page.html", headers=fault("delay=20"))
        time.sleep(0.004 * round_)
        client.drop()
    assert decode(bytes(server.get("/page.html", "h2").body)) == BODY


@pytest.mark.parametrize("executor", EXECUTORS)
def test_streams_begun_before_goaway_are_finished(nginx, executor):
    server = serve(nginx, executor)
    with server.h2() as client:
        streams = [client.open("/page.html", headers=fault("delay=20")) for _ in range(5)]
        # h2 refuses frames after its own GOAWAY; so the frame goes out beside it.
        client.socket.sendall(bytes.fromhex("000008070000000000") + bytes(8))
        assert client.wait(lambda: all(stream.over for stream in streams))
        for stream in streams:
            assert stream.ended, stream.error
            assert decode(bytes(stream.body)) == BODY


@pytest.mark.parametrize("executor", EXECUTORS)
def test_an_encoder_that_fails_resets_its_stream_alone(nginx, executor):
    server = serve(nginx, executor)
    with server.h2() as client:
        good = [client.open("/page.html", headers=fault("delay=30")) for _ in range(4)]
        bad = client.open("/page.html", headers=fault("fail=1"))
        assert client.wait(lambda: bad.over and all(stream.over for stream in good))
        assert not bad.ended
        assert isinstance(bad.error, int), "the connection must live on"
        for stream in good:
            assert stream.ended, stream.error
            assert decode(bytes(stream.body)) == BODY
