"""Headless Chromium over HTTP/2 with TLS: a page of 30 compressed assets."""

import json
import os
import re
import subprocess
import sys
import pathlib

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "nginx"))

from harness.bodies import text  # noqa: E402
from harness.nginx import EXECUTORS, Nginx  # noqa: E402

KINDS = ("js", "css", "json")
EACH = 10

# Every asset is used in the way of its kind, and the page says what the browser made of it.
PAGE = """<!doctype html><html><head><meta charset="utf-8"><title>assets</title>
<link rel="icon" href="data:,">%s</head><body><pre id="seen"></pre><script>
const data = %s;
window.addEventListener("load", async () => {
  const answers = await Promise.all(data.map((name) => fetch(name).then((r) => r.json())));
  const entries = performance.getEntriesByType("resource").map((e) => ({
    name: e.name, protocol: e.nextHopProtocol, sent: e.encodedBodySize, size: e.decodedBodySize}));
  document.getElementById("seen").textContent = JSON.stringify({
    scripts: window.loaded, sheets: document.styleSheets.length,
    data: answers.map((a) => a.text.length), entries});
});
</script></body></html>
"""


def _asset(kind, number):
    filler = text(20_000 + 3000 * number, seed=number).decode()
    if kind == "js":
        return f"window.loaded = (window.loaded || 0) + 1; /* {filler} */"
    if kind == "css":
        return f".c{number} {{ color: red }} /* {filler} */"
    return json.dumps({"text": filler})


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_page_of_thirty_assets_loads_without_an_error(tmp_path, executor):
    server = Nginx(tmp_path / "nginx", f"""
      access_log seen.log seen;
      brotli_types text/css application/javascript application/json;
      {EXECUTORS[executor]}
    """, http="""
      log_format seen '$server_protocol $sent_http_content_encoding $status $uri';
      types { application/javascript js; }
    """, tls=True)
    names = {kind: [f"{kind}{i}.{kind}" for i in range(EACH)] for kind in KINDS}
    for kind in KINDS:
        for number, name in enumerate(names[kind]):
            server.file(name, _asset(kind, number).encode())
    links = "".join(f'<link rel="stylesheet" href="{name}">' for name in names["css"])
    links += "".join(f'<script src="{name}"></script>' for name in names["js"])
    server.file("index.html", (PAGE % (links, json.dumps(names["json"]))).encode())
    server.start()
    try:
        shown = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--ignore-certificate-errors", "--enable-logging=stderr", "--virtual-time-budget=30000",
             f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom",
             f"https://127.0.0.1:{server.tls_port2}/"],
            capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": str(tmp_path)})
    finally:
        server.stop()
    assert "CONSOLE" not in shown.stderr, shown.stderr
    seen = json.loads(re.search(r'<pre id="seen">(.*?)</pre>', shown.stdout).group(1))
    assert seen["scripts"] == EACH
    assert seen["sheets"] == EACH
    assert len(seen["data"]) == EACH
    entries = [entry for entry in seen["entries"] if entry["name"].startswith("https:")]
    assert len(entries) == len(KINDS) * EACH
    assert all(entry["protocol"] == "h2" and entry["sent"] < entry["size"] / 2 for entry in entries)
    served = [line.split() for line in (server.work / "seen.log").read_text().splitlines()]
    assert len(served) >= len(entries) + 1
    assert all(line[:3] == ["HTTP/2.0", "br", "200"] for line in served), served
