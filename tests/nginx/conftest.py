"""Fixtures: `nginx(...)` starts a server and checks it when the test is over; `upstream`."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from harness.nginx import Nginx  # noqa: E402
from harness.upstream import Upstream  # noqa: E402




@pytest.fixture
def nginx(tmp_path):
    """A factory: `nginx("location / { ... }")` is a started server. See harness/nginx.py."""
    servers = []

    def start(server="", **options):
        instance = Nginx(tmp_path / f"nginx{len(servers)}", server, **options)
        servers.append(instance)
        return instance.start()

    yield start
    problems = []
    for server in servers:
        try:
            server.stop()
        except AssertionError as error:
            problems.append(str(error))
    assert not problems, "\n".join(problems)


@pytest.fixture
def nginx_check(tmp_path):
    """`nginx -t`: returns (accepted, messages)."""
    def check(server="", **options):
        return Nginx(tmp_path / "check", server, **options).check()

    return check


@pytest.fixture
def upstream():
    server = Upstream()
    yield server
    server.stop()
