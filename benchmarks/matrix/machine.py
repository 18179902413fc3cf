"""Where a run was made: the machine, the versions and the commit, for the record."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import datetime, timezone
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("nginx", "libbrotli1", "libnginx-mod-http-brotli-filter", "zlib1g")


def describe() -> dict[str, str]:
    processor = _from_file("/proc/cpuinfo", r"model name\s*:\s*(.*)")
    memory = _from_file("/proc/meminfo", r"MemTotal:\s*(\d+) kB")
    system = _from_file("/etc/os-release", r'PRETTY_NAME="?([^"\n]*)')
    facts = {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "commit": _commit(),
        "processor": f"{processor}, {len(os.sched_getaffinity(0))} usable CPUs",
        "memory": f"{int(memory) / 2**20:.0f} GiB",
        "system": f"{system}, Linux {platform.release()}",
    }
    return facts | {package: _version(package) for package in PACKAGES}


def _commit() -> str:
    commit = _answer("git", "-C", str(REPOSITORY), "rev-parse", "--short=12", "HEAD")
    changed = _answer("git", "-C", str(REPOSITORY), "status", "--porcelain", "--", "include", "nginx_binding")
    return f"{commit} and uncommitted changes" if changed else commit


def _version(package: str) -> str:
    return _answer("dpkg-query", "-W", "-f", "${Version}", package)


def _answer(*command: str) -> str:
    try:
        answer = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return "unknown"
    return answer.stdout.strip() if answer.returncode == 0 else "unknown"


def _from_file(path: str, pattern: str) -> str:
    found = re.search(pattern, Path(path).read_text())
    return found.group(1) if found else "unknown"
