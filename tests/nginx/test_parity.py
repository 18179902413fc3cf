"""The same requests to google's module and to ours: the same headers and the same plain body."""

import os

import pytest

from harness import upstream as answers
from harness.bodies import text
from harness.decode import decode
from harness.nginx import GOOGLE, inline, pool

BODY = text(30_000)

REQUESTS = {
    "GET": {"path": "/page.html"},
    "GET without br": {"path": "/page.html", "accept": "gzip"},
    "HEAD": {"path": "/page.html", "method": "HEAD"},
    "HEAD proxied": {"path": "/proxied", "method": "HEAD"},
    "HEAD without br": {"path": "/page.html", "method": "HEAD", "accept": None},
    "204": {"path": "/204"},
    "200 without a body": {"path": "/empty"},
    "an empty file": {"path": "/empty.html"},
    "304": {"path": "/page.html", "headers": [("If-Modified-Since", "Fri, 01 Jan 2038 00:00:00 GMT")]},
    "206 plain": {"path": "/page.png", "headers": [("Range", "bytes=5-9")]},
    "a range of a compressed file": {"path": "/page.html", "headers": [("Range", "bytes=5-9")]},
    "404 with a page": {"path": "/missing.html"},
    "404 built in": {"path": "/builtin/missing.html"},
    "403": {"path": "/denied"},
    "500": {"path": "/500"},
    "301": {"path": "/301"},
    "a status of its own": {"path": "/return"},
    "proxied": {"path": "/proxied"},
    "proxied without length": {"path": "/proxied/chunked"},
    "an error of the upstream": {"path": "/proxied/404"},
    "internal redirect": {"path": "/redirect"},
    "named location": {"path": "/named"},
    "X-Accel-Redirect": {"path": "/proxied/accel"},
    "POST": {"path": "/proxied", "method": "POST", "headers": [("Content-Length", "0")]},
    "encoded by the upstream": {"path": "/proxied/encoded"},
}

SERVER = """
  gzip_vary on;
  server_tokens off;
  error_page 404 =404 /errors/404.html;
  location /errors/ { internal; }
  location /builtin/ { error_page 418 /never; }
  location = /204 { return 204; }
  location = /empty { return 200; }
  location = /denied { deny all; }
  location = /500 { return 500 "an error page of more than twenty bytes"; }
  location = /301 { return 301 /page.html; }
  location = /return { return 200 "a body of more than twenty bytes from the configuration"; }
  location = /redirect { rewrite ^ /page.html last; }
  location = /named { try_files /nothing @fallback; }
  location @fallback { rewrite ^ /page.html break; }
  location /proxied { proxy_pass http://%(upstream)s; proxy_http_version 1.1; }
  %(executor)s
"""


def _servers(nginx, upstream):
    upstream.route("/proxied", answers.with_length(BODY, 'ETag: "tag"', "Accept-Ranges: bytes"))
    upstream.route("/proxied/chunked", answers.chunked([BODY]))
    upstream.route("/proxied/404", lambda exchange: (
        exchange.head(status="404 Not Found", length=len(BODY)), exchange.send(BODY)))
    upstream.route("/proxied/accel", answers.with_length(
        b"", "X-Accel-Redirect: /page.html"))
    upstream.route("/proxied/encoded", answers.with_length(BODY, "Content-Encoding: gzip"))
    for executor, module in ((inline(), None), (pool(), None), ("", GOOGLE)):
        server = nginx(SERVER % {"upstream": upstream.address, "executor": executor}, module=module)
        for name in ("page.html", "page.png", "errors/404.html"):
            # One time for all servers: ETag and Last-Modified come from it.
            os.utime(server.file(name, BODY), (1_700_000_000, 1_700_000_000))
        os.utime(server.file("empty.html", b""), (1_700_000_000, 1_700_000_000))
        yield server


def _answer(server, protocol, request):
    response = server.get(protocol=protocol, **request)
    body = bytes(response.body)
    if response.encoding == "br" and request.get("method") != "HEAD":
        body = decode(body)
    headers = [(name.lower(), value) for name, value in response.headers if name.lower() != "date"]
    # Ports differ.
    headers = [(name, "" if name == "location" else value) for name, value in headers]
    return response.status, headers, body


@pytest.mark.parametrize("protocol", ["h1", "h2"])
def test_headers_and_bodies_are_those_of_google_s_module(nginx, upstream, protocol):
    inlined, pooled, google = _servers(nginx, upstream)
    for name, request in REQUESTS.items():
        expected = _answer(google, protocol, request)
        assert _answer(inlined, protocol, request) == expected, name
        assert _answer(pooled, protocol, request) == expected, name


def test_http_1_0_is_answered_as_google_s_module_does(nginx, upstream):
    answers_of_each = []
    for server in _servers(nginx, upstream):
        got = []
        for path in ("/page.html", "/proxied", "/empty", "/missing.html"):
            for headers in ([], [("Connection", "keep-alive")]):
                got.append(_answer(server, "h1", {"path": path, "version": "1.0",
                                                  "headers": headers}))
        answers_of_each.append(got)
    inlined, pooled, google = answers_of_each
    assert inlined == google
    assert pooled == google


def test_a_head_request_after_another_on_one_connection_does_not_hang(nginx, upstream):
    for server in _servers(nginx, upstream):
        with server.h1() as client:
            for path in ("/page.html", "/proxied", "/204", "/empty", "/page.html"):
                client.request(path, method="HEAD")
                client.nothing_more()
            assert decode(client.request("/page.html").body) == BODY
