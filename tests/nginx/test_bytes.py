"""Every body arrives byte-exact: levels, windows, executors, ways in, protocols, lengths."""

import itertools

import pytest

from harness import upstream as answers
from harness.bodies import noise, pieces, text
from harness.decode import decode
from harness.nginx import EXECUTORS
from harness.pairwise import pairwise

LEVELS = range(12)
WINDOWS = ("1k", "512k", "16m")
KINDS = ("file", "length", "chunked", "unbuffered")
PROTOCOLS = ("h1", "h2")
K64 = 64 * 1024

# Long enough for four segments of 64k and a rest; no multiple of anything.
BODY = text(300_007)


def locations(upstream, rows):
    """One location for each (level, window, executor): /L/W/E/{file,length,chunked,unbuffered}."""
    config = []
    for level, window, executor in rows:
        base = f"/{level}/{window}/{executor}"
        tuning = f"brotli_comp_level {level}; brotli_window {window}; {EXECUTORS[executor]}"
        proxy = f"proxy_pass http://{upstream.address}/"
        config.append(f"""
          location {base}/ {{
            {tuning}
            location {base}/file {{ try_files /body.html =404; }}
            location {base}/length {{ {proxy}length; }}
            location {base}/chunked {{ {proxy}chunked; proxy_http_version 1.1; }}
            location {base}/unbuffered {{
              {proxy}unbuffered; proxy_http_version 1.1; proxy_buffering off;
            }}
          }}""")
    return "\n".join(config)


def serve(nginx, upstream, body, rows):
    upstream.route("/length", answers.with_length(body))
    upstream.route("/chunked", answers.chunked(pieces(body, 7_001)))
    upstream.route("/unbuffered", answers.paused(pieces(body, 50_021), 0.002))
    server = nginx(locations(upstream, rows), debug=False)
    server.file("body.html", body)
    return server


def verify(response, body, what):
    assert response.status == 200, what
    assert response.encoding == "br", what
    assert decode(bytes(response.body)) == body, what


@pytest.mark.cross
@pytest.mark.parametrize("level", LEVELS)
def test_each_combination_decodes_to_the_original(nginx, upstream, level):
    rows = [(level, window, executor) for window in WINDOWS for executor in EXECUTORS]
    server = serve(nginx, upstream, BODY, rows)
    with server.h1() as h1, server.h2() as h2:
        for (_, window, executor), kind in itertools.product(rows, KINDS):
            for client in (h1, h2):
                path = f"/{level}/{window}/{executor}/{kind}"
                verify(client.request(path), BODY, (type(client).__module__, path))


@pytest.mark.parametrize("level", LEVELS)
def test_every_pair_of_values_decodes_to_the_original(nginx, upstream, level):
    rows = [row for row in pairwise(level=list(LEVELS), kind=KINDS, window=WINDOWS,
                                    executor=list(EXECUTORS), protocol=PROTOCOLS)
            if row["level"] == level]
    server = serve(nginx, upstream, BODY,
                   {(level, row["window"], row["executor"]): None for row in rows})
    for row in rows:
        path = f"/{level}/{row['window']}/{row['executor']}/{row['kind']}"
        verify(server.get(path, row["protocol"]), BODY, row)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_lengths_around_every_edge_decode_to_the_original(nginx, upstream, executor):
    lengths = [0, 1, 19, 20, 21, 4095, 4096, 4097]
    lengths += [n * K64 + more for n in (1, 2, 3, 4, 5, 8) for more in (-1, 0, 1)]
    proxy = f"proxy_pass http://{upstream.address}"
    server = nginx(f"""
      brotli_comp_level 5;
      {EXECUTORS[executor]}
      location /proxied/ {{ {proxy}; proxy_http_version 1.1; }}
      location /unbuffered/ {{ {proxy}; proxy_http_version 1.1; proxy_buffering off; }}
    """, debug=False)
    source = text(max(lengths))
    for length in lengths:
        body = source[:length]
        server.file(f"{length}.html", body)
        for way in ("proxied", "unbuffered"):
            upstream.route(f"/{way}/length/{length}", answers.with_length(body))
            upstream.route(f"/{way}/chunked/{length}", answers.chunked(pieces(body, 16_384)))
    with server.h1() as h1, server.h2() as h2:
        for length, client in itertools.product(lengths, (h1, h2)):
            ways = {
                f"/{length}.html": True,
                **{f"/{way}/{kind}/{length}": kind == "length"
                   for way in ("proxied", "unbuffered") for kind in ("length", "chunked")}
            }
            for path, length_is_known in ways.items():
                response = client.request(path)
                body = bytes(response.body)
                if length_is_known and length < 20:
                    assert response.encoding is None, path
                    assert response.get("content-length") == str(length), path
                else:
                    assert response.encoding == "br", path
                    body = decode(body)
                assert body == source[:length], path


@pytest.mark.parametrize("level", LEVELS)
def test_a_file_has_the_same_bytes_inline_and_on_the_pool(nginx, upstream, level):
    rows = [(level, window, executor) for window in WINDOWS for executor in ("inline", "pool")]
    server = nginx(locations(upstream, rows), debug=False)
    with server.h1() as client:
        for size in (20, 4_095, K64, 3 * K64 + 1, 600_011 if level < 10 else 300_007):
            body = text(size)
            server.file("body.html", body)
            for window in WINDOWS:
                inline = client.request(f"/{level}/{window}/inline/file")
                verify(inline, body, (level, window, size))
                pooled = client.request(f"/{level}/{window}/pool/file")
                assert pooled.body == inline.body, (level, window, size)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_pieces_of_one_byte_decode_to_the_original(nginx, upstream, executor):
    body = text(3_000)
    server = nginx(f"""
      {EXECUTORS[executor]}
      location / {{ proxy_pass http://{upstream.address}; proxy_http_version 1.1; }}
      location /now/ {{
        proxy_pass http://{upstream.address}/; proxy_http_version 1.1; proxy_buffering off;
      }}
    """)
    upstream.route("/one", answers.chunked(pieces(body, 1)))
    for path, protocol in itertools.product(("/one", "/now/one"), PROTOCOLS):
        verify(server.get(path, protocol), body, path)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_bytes_that_do_not_compress_decode_to_the_original(nginx, executor):
    server = nginx(f"brotli_comp_level 5; {EXECUTORS[executor]}", debug=False)
    body = noise(5 * K64 + 3)
    server.file("noise.html", body)
    for protocol in PROTOCOLS:
        verify(server.get("/noise.html", protocol), body, protocol)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_many_responses_of_different_level_and_window_share_workspaces(nginx, upstream, executor):
    rows = [(level, window, executor) for level in (0, 2, 5, 9) for window in WINDOWS]
    server = serve(nginx, upstream, BODY, rows)
    with server.h2() as client:
        streams = [client.open(f"/{level}/{window}/{executor}/file") for level, window, _ in rows * 2]
        assert client.wait(lambda: all(stream.over for stream in streams))
        for stream in streams:
            assert stream.ended, stream.error
            verify(stream, BODY, stream.number)
