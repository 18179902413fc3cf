"""An nginx that was configured without threads and without gzip, with brio linked in."""

import re

import brotli
import pytest

from harness import upstream as answers
from harness.bodies import text
from harness.decode import decode

BODY = text(500_000)


def test_a_pool_is_refused_with_the_reason(nginx_check):
    accepted, said = nginx_check("brotli_thread_pool default;", threads="")
    assert not accepted
    assert re.search(r'"default".*"off".*without threads in .*nginx\.conf:\d+', said), said


@pytest.mark.parametrize("directive", ("", "brotli_thread_pool off;"))
@pytest.mark.parametrize("protocol", ("h1", "h2"))
def test_responses_are_compressed_in_the_event_loop(nginx, upstream, protocol, directive):
    server = nginx(f"""
      {directive}
      location /up/ {{ proxy_pass http://{upstream.address}/; proxy_http_version 1.1; }}
    """, threads="")
    server.file("page.html", BODY)
    upstream.route("/page", answers.chunked([BODY[:1000], BODY[1000:]]))
    for path in ("/page.html", "/up/page"):
        response = server.get(path, protocol)
        assert response.encoding == "br"
        assert decode(bytes(response.body)) == BODY
    assert server.get("/page.html", protocol, accept="gzip").encoding is None


def test_files_made_beforehand_are_served(nginx):
    server = nginx("brotli_static on;", threads="")
    server.file("page.html", BODY)
    server.file("page.html.br", brotli.compress(BODY))
    assert decode(server.get("/page.html").body) == BODY
