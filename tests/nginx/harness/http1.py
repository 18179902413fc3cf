"""An HTTP/1.x client that forgives nothing: a body without its proper end is an error."""

import socket
import ssl
import struct

TIMEOUT = 120


class Broken(Exception):
    """The connection ended before the response did."""


class Response:
    def __init__(self, status, headers):
        self.status = status
        self.headers = headers
        self.body = b""
        self.pieces = []

    def all(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        return values[0] if values else default

    @property
    def encoding(self):
        return self.get("content-encoding")


class Connection:
    def __init__(self, port, tls=False, receive_buffer=None):
        raw = socket.socket()
        if receive_buffer:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        raw.settimeout(TIMEOUT)
        raw.connect(("127.0.0.1", port))
        self.socket = raw
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            # A missing close_notify is an error, not an end.
            self.socket = context.wrap_socket(raw, suppress_ragged_eofs=False)
        self._buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Ends with RST instead of FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    # ------------------------------------------------------------------------------ sending

    def send(self, path, method="GET", headers=(), version="1.1", accept="br"):
        lines = [f"{method} {path} HTTP/{version}", "Host: test"]
        for value in [accept] if isinstance(accept, str) else accept or []:
            lines.append(f"Accept-Encoding: {value}")
        lines += [f"{name}: {value}" for name, value in headers]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        self._method = method

    def request(self, path, **options):
        self.send(path, **options)
        return self.read()

    # ---------------------------------------------------------------------------- receiving

    def receive(self, size=65536):
        """Raw bytes, b'' at the end."""
        if self._buffer:
            data, self._buffer = self._buffer[:size], self._buffer[size:]
            return data
        try:
            return self.socket.recv(size)
        except ConnectionResetError as error:
            raise Broken("reset") from error

    def _fill(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError as error:
            raise Broken("reset") from error
        if not data:
            raise Broken("closed")
        self._buffer += data

    def _line(self):
        while b"\r\n" not in self._buffer:
            self._fill()
        line, self._buffer = self._buffer.split(b"\r\n", 1)
        return line

    def _exactly(self, size):
        while len(self._buffer) < size:
            self._fill()
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def read_head(self):
        version, status, *_ = self._line().decode("latin-1").split(" ", 2)
        assert version in ("HTTP/1.1", "HTTP/1.0"), version
        headers = []
        while line := self._line():
            name, _, value = line.decode("latin-1").partition(":")
            headers.append((name, value.strip()))
        self.response = Response(int(status), headers)
        return self.response

    def read_pieces(self):
        """The body as it arrives; each item also goes to response.body and response.pieces."""
        for piece in self._pieces(self.response):
            self.response.body += piece
            self.response.pieces.append(piece)
            yield piece

    def _pieces(self, response):
        if self._method == "HEAD" or response.status in (204, 304):
            return
        if "chunked" in (response.get("transfer-encoding") or ""):
            assert response.get("content-length") is None
            while True:
                size = int(self._line(), 16)
                if size == 0:
                    assert self._line() == b"", "trailers are not expected"
                    return
                yield self._exactly(size)
                assert self._exactly(2) == b"\r\n", "a chunk must end with CRLF"
        elif response.get("content-length") is not None:
            left = int(response.get("content-length"))
            while left:
                if not self._buffer:
                    self._fill()
                data, self._buffer = self._buffer[:left], self._buffer[left:]
                left -= len(data)
                yield data
        else:
            while data := self.receive():
                yield data

    def read(self):
        self.read_head()
        for _ in self.read_pieces():
            pass
        return self.response

    def read_until_broken(self):
        """Reads a response that must not end cleanly; returns what came."""
        response = None
        try:
            response = self.read_head()
            for _ in self.read_pieces():
                pass
        except Broken:
            return response
        raise AssertionError("the response ended as if it were whole")

    def at_end(self):
        """True when the server has closed and nothing is left to read."""
        try:
            return self.receive() == b""
        except Broken:
            return True

    def nothing_more(self):
        """Asserts that no byte follows the last response."""
        assert self._buffer == b"", self._buffer[:80]


def fault(text):
    """The header by which a fault build takes faults for one response."""
    return [("X-Brio-Fault", text)]
