"""The Debian package on a system of its own (needs root): installed in place of google's, served from,
and removed again. BRIO_PACKAGE names the .deb, BRIO_SYSTEM a folder for the system.
"""

import os
import pathlib
import shutil
import socket
import subprocess
import time

import pytest

PACKAGE = pathlib.Path(os.environ["BRIO_PACKAGE"])
WORK = pathlib.Path(os.environ["BRIO_SYSTEM"])
NAME = "libnginx-mod-http-brio"
GOOGLE = ("libnginx-mod-http-brotli-filter", "libnginx-mod-http-brotli-static")
BODY = b"<p>a page that compresses</p>\n" * 2000

SITE = """
brotli on;
brotli_types text/plain;
brotli_static on;
{more}
server {{
  listen 127.0.0.1:{port};
  root /srv;
}}
"""


class System:
    def __init__(self, root):
        self.root = root
        self.port = _free_port()

    def run(self, script, check=True):
        result = subprocess.run(self._inside(script), capture_output=True, text=True, timeout=1800)
        assert not check or result.returncode == 0, result.stdout + result.stderr
        return result

    def _inside(self, script):
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "chroot", str(self.root),
                "env", "-i", f"PATH={path}", "DEBIAN_FRONTEND=noninteractive", "sh", "-ec",
                f"mount -t proc proc /proc; {script}"]

    def install(self, *what):
        self.run(f"apt-get -q install -y --no-install-recommends {' '.join(what)}")

    def installed(self, name):
        found = self.run(f"dpkg-query -W -f '${{db:Status-Abbrev}}' {name}", check=False)
        return found.stdout.startswith("ii")

    def write(self, path, data):
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data if isinstance(data, bytes) else data.encode())

    def site(self, more=""):
        self.write("/etc/nginx/conf.d/test.conf", SITE.format(port=self.port, more=more))

    def serve(self):
        return Server(self)


class Server:
    """nginx in the system, for as long as the block lasts."""

    def __init__(self, system):
        self._system = system

    def __enter__(self):
        self._process = subprocess.Popen(
            self._system._inside("exec nginx -g 'daemon off;'"), stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._system.port)) == 0:
                    return self
            assert self._process.poll() is None, self._process.stderr.read()
            time.sleep(0.05)
        raise AssertionError("nginx does not listen")

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()

    def get(self, path):
        """The answer's headers, and its body decoded by curl."""
        answer = subprocess.run(
            ["curl", "-s", "-D", "-", "--compressed", "-H", "Accept-Encoding: br",
             f"http://127.0.0.1:{self._system.port}{path}"], check=True, capture_output=True).stdout
        head, _, body = answer.partition(b"\r\n\r\n")
        return head.decode().lower(), body


def _free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def _source():
    """Where this machine gets its packages from, and the name of its release."""
    release = dict(line.rstrip().split("=", 1) for line in open("/etc/os-release") if "=" in line)
    codename = release["VERSION_CODENAME"].strip('"')
    targets = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"],
        check=True, capture_output=True, text=True).stdout.split("\n")
    return next(line.split()[0] for line in targets if line.endswith(f" {codename}")), codename


@pytest.fixture(scope="module")
def system():
    root = WORK / "root"
    shutil.rmtree(root, ignore_errors=True)
    WORK.mkdir(parents=True, exist_ok=True)
    mirror, codename = _source()
    subprocess.run(["debootstrap", "--variant=minbase", codename, str(root), mirror], check=True,
                   stdout=subprocess.DEVNULL)
    for path in ("etc/apt", "etc/ssl", "usr/share/ca-certificates", "usr/local/share/ca-certificates"):
        if pathlib.Path("/", path).is_dir():
            shutil.copytree(pathlib.Path("/", path), root / path, dirs_exist_ok=True, symlinks=True)
    for path in ("/etc/resolv.conf", "/etc/hosts"):
        shutil.copyfile(path, root / path.lstrip("/"))
    made = System(root)
    made.write("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n")
    (root / "usr/sbin/policy-rc.d").chmod(0o755)
    made.run("apt-get -q update")
    made.install("nginx", *GOOGLE)
    made.run("rm -f /etc/nginx/sites-enabled/default")
    made.write("/srv/page.html", BODY)
    made.write("/srv/ready.html", BODY)
    made.site()
    shutil.copy(PACKAGE, root / "tmp/package.deb")
    yield made
    shutil.rmtree(root, ignore_errors=True)


def test_it_takes_the_place_of_google_s_packages(system):
    with system.serve() as server:
        assert "content-encoding: br" in server.get("/page.html")[0]
    assert all(system.installed(name) for name in GOOGLE)
    system.install("/tmp/package.deb")
    assert system.installed(NAME)
    assert not any(system.installed(name) for name in GOOGLE)


def test_a_configuration_for_those_serves_compressed_pages(system):
    system.run("nginx -t")
    with system.serve() as server:
        head, body = server.get("/page.html")
        assert "content-encoding: br" in head
        assert body == BODY


def test_a_pool_can_be_named(system):
    system.site("brotli_thread_pool default; brotli_thread_pool_min_length 0;")
    system.run("nginx -t")
    with system.serve() as server:
        head, body = server.get("/page.html")
        assert "content-encoding: br" in head
        assert body == BODY


def test_it_is_of_nginx_s_own_interface(system):
    depends = system.run(f"dpkg-query -W -f '${{Depends}}' {NAME}").stdout
    offered = system.run("dpkg-query -W -f '${Provides}' nginx nginx-common || true").stdout
    interface = next(word for word in depends.replace(",", " ").split() if word.startswith("nginx-abi"))
    assert interface in offered


def test_removed_it_leaves_nothing(system):
    system.write("/etc/nginx/conf.d/test.conf", "")
    system.run(f"apt-get -q purge -y {NAME}")
    left = system.run("find / -xdev -name '*brio*' -not -path '/proc/*' -not -path '/var/cache/*' "
                      "-not -path '/tmp/*'").stdout
    assert left == ""
    system.run("nginx -t")
