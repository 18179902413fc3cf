"""brotli_static: files compressed beforehand, as gzip_static serves those for gzip."""

import gzip
import os

import brotli
import pytest

from harness.bodies import text
from harness.decode import decode

BODY = text(30_000)
READY = brotli.compress(BODY)  # at the highest level: not what the filter makes
MODES = ("on", "always")


def serve(nginx, mode, more="", **options):
    server = nginx(f"brotli off; brotli_static {mode}; {more}", **options)
    server.file("page.html", BODY)
    server.file("page.html.br", READY)
    server.file("single.html", BODY)
    return server


@pytest.mark.parametrize("protocol", ("h1", "h2"))
@pytest.mark.parametrize("mode", MODES)
def test_the_file_beside_it_is_served_as_it_is(nginx, mode, protocol):
    server = serve(nginx, mode)
    served = server.get("/page.html", protocol)
    assert served.body == READY
    assert served.encoding == "br"
    assert served.get("content-length") == str(len(READY))
    assert served.get("content-type") == "text/html"
    plain = server.get("/single.html", protocol)
    assert plain.encoding is None
    assert plain.body == BODY
    assert served.get("etag") != plain.get("etag")
    assert not served.get("etag").startswith("W/")


@pytest.mark.parametrize("accept, mode, served", [
    ("gzip", "on", False), ("br;q=0", "on", False), (None, "on", False), ("*", "on", True),
    ("gzip", "always", True), ("br;q=0", "always", True), (None, "always", True)])
def test_clients_that_do_not_take_br_get_it_only_with_always(nginx, accept, mode, served):
    response = serve(nginx, mode).get("/page.html", accept=accept)
    assert (response.encoding == "br") == served
    assert response.body == (READY if served else BODY)


def test_off_is_the_default_and_an_inner_block_can_say_so(nginx):
    server = serve(nginx, "on", "location /off/ { brotli_static off; }")
    server.file("off/page.html", BODY)
    server.file("off/page.html.br", READY)
    assert server.get("/off/page.html").body == BODY
    server = nginx("brotli off;")
    server.file("page.html", BODY)
    server.file("page.html.br", READY)
    assert server.get("/page.html").body == BODY


@pytest.mark.parametrize("mode", MODES)
def test_without_the_file_gzip_is_left_alone(nginx, mode):
    server = serve(nginx, mode, http="gzip on; gzip_vary on;")
    response = server.get("/single.html", accept="gzip, br")
    assert response.encoding == "gzip"
    assert gzip.decompress(response.body) == BODY


def test_vary_comes_where_there_is_a_file_and_nowhere_else(nginx):
    server = serve(nginx, "on", "location /silent/ { gzip_vary off; }", http="gzip_vary on;")
    server.file("silent/page.html", BODY)
    server.file("silent/page.html.br", READY)
    for accept in ("br", "gzip", None):
        assert server.get("/page.html", accept=accept).all("vary") == ["Accept-Encoding"]
        assert server.get("/single.html", accept=accept).all("vary") == []
        assert server.get("/silent/page.html", accept=accept).all("vary") == []
    always = serve(nginx, "always", http="gzip_vary on;")
    assert always.get("/page.html").all("vary") == []


def test_a_file_made_beforehand_comes_before_one_for_gzip_and_before_the_filter(nginx):
    server = serve(nginx, "on", "gzip_static on;")
    server.file("page.html.gz", gzip.compress(BODY))
    assert server.get("/page.html", accept="gzip, br").body == READY
    assert server.get("/page.html", accept="gzip").encoding == "gzip"
    filtering = nginx("brotli_static on; brotli on;")
    filtering.file("page.html", BODY)
    filtering.file("page.html.br", READY)
    filtering.file("single.html", BODY)
    assert filtering.get("/page.html").body == READY
    assert decode(filtering.get("/single.html").body) == BODY


def _answers(server):
    """What a client sees of ranges, conditions and methods; sizes and names of the coding aside."""
    tag = server.get("/page.html").get("etag")
    requests = [
        dict(headers=[("Range", "bytes=10-19")]), dict(headers=[("Range", "bytes=-5")]),
        dict(headers=[("Range", "bytes=0-3,10-12")]), dict(headers=[("Range", "bytes=9999999-")]),
        dict(headers=[("Range", "bytes=0-9"), ("If-Range", tag)]),
        dict(headers=[("Range", "bytes=0-9"), ("If-Range", '"other"')]),
        dict(headers=[("If-None-Match", tag)]), dict(headers=[("If-None-Match", '"other"')]),
        dict(headers=[("If-Match", '"other"')]), dict(method="HEAD"), dict(method="DELETE"),
        dict(method="POST", headers=[("Content-Length", "0")]),
    ]
    seen = []
    for request in requests:
        response = server.get("/page.html", **request)
        names = {name.lower() for name, _ in response.headers}
        seen.append((response.status, names))
    return seen


def test_ranges_conditions_and_methods_are_answered_as_gzip_static_answers_them(nginx):
    ours = serve(nginx, "always")
    theirs = nginx("brotli off; gzip_static always;")
    theirs.file("page.html", BODY)
    theirs.file("page.html.gz", READY)  # any bytes will do
    assert _answers(ours) == _answers(theirs)


UNUSABLE = {
    "a directory": lambda path: path.mkdir(),
    "empty": lambda path: path.write_bytes(b""),
    "a dangling link": lambda path: path.symlink_to(path.parent / "nowhere"),
    "a link to itself": lambda path: path.symlink_to(path),
    "unreadable": lambda path: (path.write_bytes(READY), path.chmod(0)),
}


@pytest.mark.parametrize("cache", ("", "open_file_cache max=100; open_file_cache_errors on;"))
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", UNUSABLE)
def test_what_cannot_be_served_is_passed_over(nginx, kind, mode, cache):
    if kind == "unreadable" and os.getuid() == 0:
        kind = "a link to itself"  # nothing is unreadable to root
    server = serve(nginx, mode, cache)
    server.allow("bad.html.br")
    server.file("bad.html", BODY)
    UNUSABLE[kind](server.www / "bad.html.br")
    for _ in range(3):
        response = server.get("/bad.html")
        assert response.encoding is None
        assert response.body == BODY


@pytest.mark.parametrize("cache", ("", "open_file_cache max=100; open_file_cache_min_uses 1;"))
def test_links_are_followed_unless_they_are_disabled(nginx, cache):
    server = serve(nginx, "on", f"{cache} location /strict/ {{ disable_symlinks on; }}")
    server.allow("linked.html.br")
    for folder in ("free", "strict"):
        server.file(f"{folder}/linked.html", BODY)
        (server.www / folder / "linked.html.br").symlink_to(server.www / "page.html.br")
        server.file(f"{folder}/own.html", BODY)
        server.file(f"{folder}/own.html.br", READY)
    for _ in range(3):
        assert server.get("/free/linked.html").body == READY
        assert server.get("/strict/linked.html").body == BODY
        assert server.get("/strict/own.html").body == READY


def test_paths_as_long_as_the_file_system_has_them(nginx):
    server = serve(nginx, "on")
    for length in (200, 247, 248, 250, 255):
        name = "n" * (length - len(".html")) + ".html"
        server.file(name, BODY)
        if length <= 252:
            server.file(name + ".br", READY)
        assert server.get(f"/{name}").body == (READY if length <= 252 else BODY)


def test_indexes_aliases_and_error_pages_are_found(nginx):
    server = serve(nginx, "on", """
      location /other/ { alias www/deep/; }
      error_page 404 /missing.html;
    """)
    for name in ("index.html", "deep/page.html", "missing.html"):
        server.file(name, BODY)
        server.file(name + ".br", READY)
    assert server.get("/").body == READY
    assert server.get("/other/page.html").body == READY
    missing = server.get("/nowhere")
    assert missing.status == 404
    assert missing.body == READY


def test_an_included_page_is_never_coded(nginx):
    server = serve(nginx, "always", "location /all/ { ssi on; brotli_static off; }")
    server.file("all/whole.html", b'<!--#include virtual="/page.html" -->')
    response = server.get("/all/whole.html")
    assert response.encoding is None
    assert response.body == BODY


def test_a_page_of_which_only_the_compressed_file_is_there(nginx):
    server = serve(nginx, "on")
    server.file("only.html.br", READY)
    assert server.get("/only.html").body == READY
    assert server.get("/only.html", accept="gzip").status == 404
