"""Who gets a compressed response, and what the headers then say (RFC 9110)."""

import gzip

import pytest

from harness import upstream as answers
from harness.bodies import text
from harness.decode import decode
from harness.nginx import GOOGLE, STAND_IN

BODY = text(20_000)

# Field lines of Accept-Encoding: does RFC 9110, section 12.5.3, let us send br; does google's module?
ACCEPT = [
    (["br"], True, True),
    (["gzip, deflate, br"], True, True),
    (["gzip,br"], True, True),
    (["BR"], True, True),
    (["br;q=1"], True, True),
    (["br;q=1.000"], True, True),
    (["br;q=0.001"], True, True),
    (["br ; q=0.5"], True, True),
    (["br; q=0.5, gzip; q=0.1"], True, True),
    ([", br"], True, True),
    (["br,"], True, True),
    (["identity, br"], True, True),
    ([], False, False),
    ([""], False, False),
    (["gzip"], False, False),
    (["identity"], False, False),
    (["brx"], False, False),
    (["xbr"], False, False),
    (["br-x"], False, False),
    (["x br"], False, True),
    (["br;q=0"], False, False),
    (["br;q=0."], False, False),
    (["br;q=0.000"], False, False),
    (["br ; q=0"], False, False),
    (["gzip, br;q=0"], False, False),
    # Below we differ on purpose.
    (["*"], True, False),
    (["gzip, *"], True, False),
    (["*;q=0.5"], True, False),
    (["*;q=0"], False, False),
    (["*, br;q=0"], False, False),
    (["br;q=0, *"], False, False),
    (["*;q=0, br"], True, True),
    (["gzip", "br"], True, False),
    (["gzip", "br;q=0"], False, False),
    (["br;Q=0"], False, True),
    (["br;Q=0.5"], True, True),
    (["gzip,\tbr"], True, False),
    (["br\t;\tq=0"], False, False),
    (["br;q=abc"], False, True),
    (["br;q=5"], False, True),
    (["br;q=1.001"], False, True),
    (["br;q=0.0001"], False, False),
    (["br;q="], False, True),
    (["br;level=3"], False, True),
]


def _selected(server):
    selected = []
    for lines, _, _ in ACCEPT:
        response = server.get("/page.html", accept=lines)
        body = decode(response.body) if response.encoding == "br" else response.body
        assert body == BODY
        selected.append(response.encoding == "br")
    return selected


def test_accept_encoding_is_read_as_rfc_9110_says(nginx):
    server = nginx()
    server.file("page.html", BODY)
    expected = [google if STAND_IN else rfc for _, rfc, google in ACCEPT]
    wrong = [(lines, got) for (lines, _, _), got, want in
             zip(ACCEPT, _selected(server), expected) if got != want]
    assert not wrong


def test_the_table_says_truly_what_google_s_module_does(nginx):
    server = nginx(module=GOOGLE)
    server.file("page.html", BODY)
    wrong = [(lines, got) for (lines, _, google), got in zip(ACCEPT, _selected(server))
             if got != google]
    assert not wrong


def test_http2_reads_the_same_field(nginx):
    server = nginx()
    server.file("page.html", BODY)
    with server.h2() as client:
        assert client.request("/page.html", accept="gzip, br").encoding == "br"
        assert client.request("/page.html", accept="br;q=0").encoding is None
        assert client.request("/page.html", accept=None).encoding is None


@pytest.mark.parametrize("accept", ["br", "gzip", None])
def test_vary_comes_once_whenever_the_response_could_differ(nginx, accept):
    server = nginx("""
      location /off/ { brotli off; }
      location /silent/ { gzip_vary off; }
    """, http="gzip_vary on; gzip on;")
    for name in ("page.html", "page.png", "off/page.png", "silent/page.html"):
        server.file(name, BODY)
    server.file("tiny.html", b"tiny")
    with server.h1() as client:
        assert client.request("/page.html", accept=accept).all("vary") == ["Accept-Encoding"]
        for path in ("/page.png", "/off/page.png", "/silent/page.html", "/tiny.html"):
            assert client.request(path, accept=accept).all("vary") == [], path


def test_the_upstream_s_own_vary_is_kept(nginx, upstream):
    upstream.route("/page", answers.with_length(BODY, "Vary: Cookie"))
    server = nginx(f"gzip_vary on; location / {{ proxy_pass http://{upstream.address}; }}")
    response = server.get("/page")
    assert response.encoding == "br"
    assert sorted(response.all("vary")) == ["Accept-Encoding", "Cookie"]


def test_a_compressed_response_has_a_weak_etag_and_can_be_validated(nginx):
    server = nginx()
    server.file("page.html", BODY)
    with server.h1() as client:
        plain = client.request("/page.html", accept=None)
        compressed = client.request("/page.html")
        strong = plain.get("etag")
        assert strong.startswith('"')
        assert compressed.get("etag") == "W/" + strong
        assert compressed.get("last-modified") == plain.get("last-modified")
        for tag in (strong, "W/" + strong):
            again = client.request("/page.html", headers=[("If-None-Match", tag)])
            assert again.status == 304
            assert again.encoding is None
        since = [("If-Modified-Since", compressed.get("last-modified"))]
        assert client.request("/page.html", headers=since).status == 304


def test_a_range_of_a_compressed_response_is_ignored(nginx):
    server = nginx()
    server.file("page.html", BODY)
    with server.h1() as client:
        response = client.request("/page.html", headers=[("Range", "bytes=10-19")])
        assert response.status == 200
        assert response.get("accept-ranges") is None
        assert decode(response.body) == BODY
        plain = client.request("/page.html", accept=None, headers=[("Range", "bytes=10-19")])
        assert plain.status == 206
        assert plain.body == BODY[10:20]
        assert client.request("/page.html", accept=None).get("accept-ranges") == "bytes"


def test_a_206_of_the_upstream_is_not_touched(nginx, upstream):
    def partial(exchange):
        exchange.head(f"Content-Range: bytes 0-99/{len(BODY)}", status="206 Partial Content",
                      length=100)
        exchange.send(BODY[:100])
    upstream.route("/page", partial)
    server = nginx(f"location / {{ proxy_pass http://{upstream.address}; }}")
    response = server.get("/page", headers=[("Range", "bytes=0-99")])
    assert response.status == 206
    assert response.encoding is None
    assert response.body == BODY[:100]


def test_an_encoded_response_is_not_encoded_again(nginx, upstream):
    upstream.route("/page", answers.with_length(BODY, "Content-Encoding: deflate"))
    server = nginx(f"location / {{ proxy_pass http://{upstream.address}; }}")
    response = server.get("/page")
    assert response.all("content-encoding") == ["deflate"]
    assert response.body == BODY


@pytest.mark.parametrize("path", ["/page.html", "/proxied"])
def test_br_wins_over_gzip_and_gzip_serves_the_others(nginx, upstream, path):
    upstream.route("/proxied", answers.chunked([BODY]))
    server = nginx(f"""
      gzip on;
      location /proxied {{ proxy_pass http://{upstream.address}; proxy_http_version 1.1; }}
    """)
    server.file("page.html", BODY)
    both = server.get(path, accept="gzip, br")
    assert both.all("content-encoding") == ["br"]
    assert decode(both.body) == BODY
    assert server.get(path, accept="gzip").all("content-encoding") == ["gzip"]
    assert server.get(path, accept="gzip, br;q=0").all("content-encoding") == ["gzip"]


def test_text_is_inserted_and_replaced_before_compression(nginx):
    server = nginx("""
      location /sub/ { sub_filter 'needle' 'thread'; sub_filter_once off; }
      location /add/ { add_after_body /after.html; }
      location /ssi/ { ssi on; }
    """)
    body = text(10_000) + b"needle" * 100
    server.file("sub/page.html", body)
    server.file("add/page.html", body)
    server.file("after.html", b"the end of it")
    server.file("ssi/page.html", body + b'<!--# include virtual="/after.html" -->' + body)
    for protocol in ("h1", "h2"):
        assert decode(server.get("/sub/page.html", protocol).body) == body.replace(
            b"needle", b"thread")
        assert decode(server.get("/add/page.html", protocol).body) == body + b"the end of it"
        assert decode(server.get("/ssi/page.html", protocol).body) == (
            body + b"the end of it" + body)


def test_a_gzipped_upstream_is_unpacked_first(nginx, upstream):
    packed = gzip.compress(BODY)
    upstream.route("/page", answers.with_length(packed, "Content-Encoding: gzip"))
    server = nginx(f"""
      gunzip on;
      location / {{ proxy_pass http://{upstream.address}; }}
    """)
    response = server.get("/page")
    assert response.all("content-encoding") == ["br"]
    assert decode(response.body) == BODY


def _compressed(server, upstream, lines, ask):
    upstream.route("/page", answers.with_length(BODY, *lines))
    return server.get("/page", accept="br, gzip", headers=ask).encoding is not None


PROXIED = ["off", "any", "expired", "no-cache", "no-store", "private", "no_last_modified", "no_etag",
           "auth", "expired no-cache no_etag", "private auth no_last_modified"]
FROM_UPSTREAM = [
    [], ["Expires: Thu, 01 Jan 1970 00:00:01 GMT"], ["Expires: Thu, 31 Dec 2037 23:55:55 GMT"],
    ["Expires: soon"], ["Cache-Control: no-cache"], ["Cache-Control: max-age=5, No-Store"],
    ["Cache-Control: private=x"], ["Cache-Control: public", "Cache-Control: no-cache"],
    ["Cache-Control: max-age=5"], ["Last-Modified: Thu, 01 Jan 1970 00:00:01 GMT"], ['ETag: "x"'],
]


@pytest.mark.parametrize("kinds", PROXIED)
def test_proxies_get_compressed_what_gzip_proxied_would_compress(nginx, upstream, kinds):
    place = f"location / {{ proxy_pass http://{upstream.address}; }}"
    ours = nginx(f"brotli_proxied {kinds}; {place}")
    theirs = nginx(f"brotli off; gzip on; gzip_proxied {kinds}; {place}")
    wrong = []
    for lines in FROM_UPSTREAM:
        for ask in ([("Via", "1.1 x")], [("Via", "1.1 x"), ("Authorization", "Basic eDp5")]):
            if _compressed(ours, upstream, lines, ask) != _compressed(theirs, upstream, lines, ask):
                wrong.append((lines, ask))
    assert not wrong
    assert _compressed(ours, upstream, [], [])  # no proxy


@pytest.mark.parametrize("line, forbids", [
    ("no-transform", True), ("max-age=3 ,\tNo-Transform ", True), ("no-transforms", False),
    ("x=no-transform", False), ("max-age=3", False)])
def test_no_transform_is_honoured_where_that_is_asked(nginx, upstream, line, forbids):
    upstream.route("/page", answers.with_length(BODY, f"Cache-Control: {line}"))
    server = nginx(f"""
      gzip_vary on;
      location / {{ proxy_pass http://{upstream.address}; brotli_no_transform on; }}
      location /as-ever/ {{ proxy_pass http://{upstream.address}/; }}
    """)
    response = server.get("/page")
    assert (response.encoding is None) == forbids
    assert response.all("vary") == ([] if forbids else ["Accept-Encoding"])
    assert server.get("/as-ever/page").encoding == "br"
