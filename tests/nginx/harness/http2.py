"""An HTTP/2 client (prior knowledge, or over TLS) with windows in the test's hand."""

import contextlib
import socket
import ssl
import struct
import time

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

TIMEOUT = 120


class Stream:
    def __init__(self, number):
        self.number = number
        self.status = None
        self.headers = []
        self.body = bytearray()
        self.ended = False
        self.error = None  # the code of RST_STREAM, or "connection"
        self.unacknowledged = 0

    @property
    def over(self):
        return self.ended or self.error is not None

    def all(self, name):
        return [value for key, value in self.headers if key == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        return values[0] if values else default

    @property
    def encoding(self):
        return self.get("content-encoding")


class Connection:
    """`window`: initial window of each stream. `manual`: stream windows are never given back."""

    def __init__(self, port, window=65535, manual=False, tls=False, receive_buffer=None):
        raw = socket.socket()
        if receive_buffer:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        raw.settimeout(TIMEOUT)
        raw.connect(("127.0.0.1", port))
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = raw
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            context.set_alpn_protocols(["h2"])
            self.socket = context.wrap_socket(raw)
            assert self.socket.selected_alpn_protocol() == "h2"
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self.h2.local_settings = h2.settings.Settings(
            client=True, initial_values={
                h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window,
                h2.settings.SettingCodes.ENABLE_PUSH: 0,
                h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 100,
            })
        self.manual = manual
        self.window = window
        self.streams = {}
        self._partial = b""
        self.closed = False
        self.went_away = False
        self.h2.initiate_connection()
        # The connection's own window never limits; the streams' windows do.
        self.h2.increment_flow_control_window(2**30)
        self.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def drop(self):
        """Ends with RST, without GOAWAY."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def flush(self):
        if data := self.h2.data_to_send():
            self.socket.sendall(data)

    def open(self, path, method="GET", headers=(), accept="br"):
        number = self.h2.get_next_available_stream_id()
        fields = [(":method", method), (":scheme", "http"), (":authority", "test"), (":path", path)]
        for value in [accept] if isinstance(accept, str) else accept or []:
            fields.append(("accept-encoding", value))
        fields += [(name.lower(), value) for name, value in headers]
        self.streams[number] = stream = Stream(number)
        self.h2.send_headers(number, fields, end_stream=True)
        self.flush()
        return stream

    def reset(self, stream, code=8):
        if not stream.over:
            self.h2.reset_stream(stream.number, code)
            stream.error = code
            self.flush()

    def give(self, stream, size):
        """Opens the stream's window by `size` bytes."""
        self.h2.increment_flow_control_window(size, stream.number)
        self.flush()

    def goaway(self):
        self.h2.close_connection()
        self.flush()

    def receive(self, timeout=TIMEOUT):
        """One read; False at the timeout."""
        self.socket.settimeout(timeout)
        try:
            data = self.socket.recv(65536)
        except (TimeoutError, socket.timeout):
            return False
        except ConnectionResetError:
            data = b""
        if not data:
            self.closed = True
            for stream in self.streams.values():
                if not stream.over:
                    stream.error = "connection"
            return True
        for event in self.h2.receive_data(self._without_goaway(data)):
            self._on(event)
        if not self.closed:
            self.flush()
        return True

    def _without_goaway(self, data):
        """Whole frames only. h2 takes no more data after GOAWAY, but streams may go on; so h2 does
        not get to see it."""
        self._partial += data
        frames = b""
        while len(self._partial) >= 9:
            size = 9 + int.from_bytes(self._partial[:3], "big")
            if len(self._partial) < size:
                break
            frame, self._partial = self._partial[:size], self._partial[size:]
            if frame[3] == 7:
                self.went_away = True
            else:
                frames += frame
        return frames

    def _on(self, event):
        stream = self.streams.get(getattr(event, "stream_id", None))
        if stream is None:
            return
        if isinstance(event, h2.events.ResponseReceived):
            stream.headers = [pair for pair in event.headers if not pair[0].startswith(":")]
            stream.status = int(dict(event.headers)[":status"])
        elif isinstance(event, h2.events.DataReceived):
            stream.body += event.data
            if not self.manual and event.flow_controlled_length and not stream.over:
                # Given back in halves, as clients do.
                stream.unacknowledged += event.flow_controlled_length
                if stream.unacknowledged * 2 >= self.window and event.stream_ended is None:
                    with contextlib.suppress(h2.exceptions.StreamClosedError):
                        self.h2.increment_flow_control_window(stream.unacknowledged, stream.number)
                    stream.unacknowledged = 0
        elif isinstance(event, h2.events.StreamEnded):
            stream.ended = True
        elif isinstance(event, h2.events.StreamReset):
            stream.error = event.error_code

    def wait(self, until, timeout=TIMEOUT):
        """Receives until the predicate holds; returns whether it did."""
        deadline = time.monotonic() + timeout
        while not until():
            left = deadline - time.monotonic()
            if left <= 0 or self.closed:
                return until()
            self.receive(left)
        return True

    def request(self, path, **options):
        stream = self.open(path, **options)
        assert self.wait(lambda: stream.over), "no end of stream"
        assert stream.ended, f"stream reset: {stream.error}"
        stream.body = bytes(stream.body)
        return stream
