"""Ranges: what nginx cuts out of a body must not be compressed as if it were all of it."""

import pytest

from harness.bodies import text
from harness.decode import decode
from harness.nginx import EXECUTORS

BODY = text(900_001)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_range_of_a_sliced_response_stays_a_range(nginx, executor):
    origin = nginx("brotli off;")
    origin.file("page.html", BODY)
    server = nginx(f"""
      location / {{
        slice 128k;
        proxy_http_version 1.1;
        proxy_set_header Range $slice_range;
        proxy_pass http://127.0.0.1:{origin.port};
      }}
      {EXECUTORS[executor]}
    """)
    whole = server.get("/page.html")
    assert whole.status == 200 and decode(whole.body) == BODY
    for first, last in [(0, 9), (200_000, 700_000), (899_990, 900_000)]:
        part = server.get("/page.html", headers=[("Range", f"bytes={first}-{last}")])
        assert part.status == 206 and part.encoding is None
        assert part.body == BODY[first:last + 1]
