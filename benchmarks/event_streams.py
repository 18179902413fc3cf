"""Event streams: an upstream that sends them, and readers that note when each event could be decoded.

Both are processes of their own. An event carries its number and the time it was sent, by the clock that
all processes of a machine share; so readers alone can tell whether an event could be decoded before the
next one of its stream was sent.
"""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

import brotli

from generator import LoadError

EVENT_BYTES = 200
PERIOD_SECONDS = 1.0
FILLER = '"symbol": "BRIO", "bid": 101.25, "ask": 101.5, "volume": 4200, "venue": "loopback", "state": "open", '
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def _event(number: int) -> bytes:
    text = f'data: {{"number": {number}, "sent": {time.monotonic():.6f}, {FILLER}'
    return f"{text.ljust(EVENT_BYTES - 3, '.')}}}\n\n".encode()


def _sent(event: str) -> tuple[int, float]:
    """An event's number and time."""
    _, _, text = event.partition('"number": ')
    number, _, text = text.partition(', "sent": ')
    return int(number), float(text.partition(",")[0])


# ------------------------------------------------------------------------------------- the upstream


@contextmanager
def upstream() -> Iterator[int]:
    """An upstream on loopback that sends events for as long as somebody listens; its port."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_run_upstream, args=(sender,), daemon=True)
    process.start()
    sender.close()
    try:
        yield receiver.recv()
    finally:
        process.kill()
        process.join()


def _run_upstream(ready: Connection) -> None:
    async def serve() -> None:
        server = await asyncio.start_server(_send_events, "127.0.0.1", 0, backlog=1024)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(serve())


async def _send_events(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)
        started = time.monotonic()
        for number in itertools.count():
            await asyncio.sleep(started + number * PERIOD_SECONDS - time.monotonic())
            if reader.at_eof():
                break
            writer.write(b"%x\r\n%b\r\n" % (EVENT_BYTES, _event(number)))
            await writer.drain()
    writer.close()


# ------------------------------------------------------------------------------------- the readers


@dataclass
class Seen:
    """What all readers together have seen."""

    compressed: int = 0
    events: int = 0
    late: int = 0
    delays: list[float] = field(default_factory=list)


class _Reader(asyncio.Protocol):
    """One stream: takes its chunks apart, decodes what has come, and looks at the events in it."""

    def __init__(self, request: bytes, seen: Seen) -> None:
        self._request = request
        self._seen = seen
        self._decoder: brotli.Decompressor | None = None
        self._headers_over = False
        self._bytes = b""
        self._text = ""
        self._next = 0
        self._decoded = 0.0
        self.problem = "no answer"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._bytes += data
        if not self._headers_over:
            self._read_headers()
        if self._headers_over:
            self._read_chunks()

    def connection_lost(self, _: Exception | None) -> None:
        self.problem = self.problem or "the stream has ended"

    def _read_headers(self) -> None:
        headers, end, rest = self._bytes.partition(b"\r\n\r\n")
        if end:
            self._headers_over = True
            self.problem = ""
            self._bytes = rest
            if b"content-encoding: br" in headers.lower():
                self._seen.compressed += 1
                self._decoder = brotli.Decompressor()

    def _read_chunks(self) -> None:
        while True:
            size, end, rest = self._bytes.partition(b"\r\n")
            length = int(size, 16) if end else 0
            if not end or len(rest) < length + 2:
                return
            self._bytes = rest[length + 2 :]
            self._read_events(rest[:length])

    def _read_events(self, body: bytes) -> None:
        self._text += (self._decoder.process(body) if self._decoder else body).decode()
        *events, self._text = self._text.split("\n\n")
        now = time.monotonic()
        for event in events:
            number, sent = _sent(event)
            if number != self._next:
                self.problem = f"event {number} came where {self._next} was due"
            # The one before came late if it could not be decoded before this one was sent.
            if number > 0 and self._decoded >= sent:
                self._seen.late += 1
            self._next = number + 1
            self._decoded = now
            self._seen.events += 1
            self._seen.delays.append(now - sent)

    def finish(self) -> None:
        """An event that never came is late too."""
        if time.monotonic() - self._decoded > 2 * PERIOD_SECONDS:
            self._seen.late += 1
        self.transport.abort()


async def _read_all(port: int, path: str, streams: int, seconds: float) -> Seen:
    loop = asyncio.get_running_loop()
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: br\r\n\r\n".encode()
    seen = Seen()
    readers = []
    for _ in range(streams):
        _, reader = await loop.create_connection(lambda: _Reader(request, seen), "127.0.0.1", port)
        readers.append(reader)
        await asyncio.sleep(PERIOD_SECONDS / streams)
    await asyncio.sleep(seconds)
    problems = [reader.problem for reader in readers if reader.problem]
    if problems:
        raise LoadError(f"{len(problems)} event streams failed: {problems[0]}")
    for reader in readers:
        reader.finish()
    return seen


def _run_readers(port: int, path: str, streams: int, seconds: float, result: Connection) -> None:
    try:
        result.send(asyncio.run(_read_all(port, path, streams, seconds)))
    except Exception as failure:
        result.send(failure)


def read(port: int, path: str, streams: int, seconds: float) -> Seen:
    """Opens so many streams, evenly over one period, and reads them until `seconds` after that."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_run_readers, args=(port, path, streams, seconds, sender), daemon=True)
    process.start()
    sender.close()
    seen: Seen | Exception = receiver.recv()
    process.join()
    if isinstance(seen, Exception):
        raise seen
    return seen
