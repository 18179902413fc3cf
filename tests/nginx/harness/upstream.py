"""An upstream that does exactly what the test says, one thread a connection."""

import contextlib
import socket
import struct
import threading
import time


class Exchange:
    """One request and the ways to answer it."""

    def __init__(self, connection, method, path, headers):
        self.connection = connection
        self.method = method
        self.path = path
        self.headers = headers

    def head(self, *headers, status="200 OK", length=None, chunked=False, close=True):
        lines = [f"HTTP/1.1 {status}", *headers]
        if length is not None:
            lines.append(f"Content-Length: {length}")
        if chunked:
            lines.append("Transfer-Encoding: chunked")
        if close:
            lines.append("Connection: close")
        if not any(line.lower().startswith("content-type") for line in headers):
            lines.append("Content-Type: text/html")
        self.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def send(self, data):
        self.connection.sendall(data)

    def chunk(self, data):
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self):
        self.send(b"0\r\n\r\n")

    def reset(self):
        """RST, in the middle of whatever it was."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


class Upstream:
    def __init__(self):
        self._routes = {}
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.requests = []
        self._stopping = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def route(self, path, handler):
        self._routes[path] = handler

    def stop(self):
        self._stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        while not self._stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, contextlib.suppress(OSError):
            data = b""
            while b"\r\n\r\n" not in data:
                piece = connection.recv(65536)
                if not piece:
                    return
                data += piece
            first, *lines = data.split(b"\r\n\r\n", 1)[0].decode("latin-1").split("\r\n")
            method, path, _ = first.split(" ", 2)
            headers = dict(line.split(": ", 1) for line in lines if ": " in line)
            self.requests.append(path)
            handler = self._routes.get(path.split("?", 1)[0])
            exchange = Exchange(connection, method, path, headers)
            if handler is None:
                exchange.head(status="404 Not Found", length=0)
            else:
                handler(exchange)


# ------------------------------------------------------------------------------ ready handlers


def with_length(body, *headers):
    def handler(exchange):
        exchange.head(*headers, length=len(body))
        exchange.send(body)
    return handler


def chunked(pieces, *headers):
    def handler(exchange):
        exchange.head(*headers, chunked=True)
        for piece in pieces:
            if piece:
                exchange.chunk(piece)
        exchange.end()
    return handler


def paused(pieces, pause, *headers):
    """Chunked, with a pause after each piece."""
    def handler(exchange):
        exchange.head(*headers, chunked=True)
        for piece in pieces:
            exchange.chunk(piece)
            time.sleep(pause)
        exchange.end()
    return handler


def cut_short(body, sent, *headers, reset=False):
    """Promises all of `body`, sends `sent` bytes and is gone."""
    def handler(exchange):
        exchange.head(*headers, length=len(body))
        exchange.send(body[:sent])
        if reset:
            time.sleep(0.2)  # RST overtakes data that nobody has read
            exchange.reset()
    return handler
