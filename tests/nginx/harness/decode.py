"""Brotli bodies must be one complete stream: nothing missing, nothing after its end."""

import brotli


def decode(data):
    """The decoded body; fails unless `data` is exactly one complete stream."""
    decoder = brotli.Decompressor()
    body = decoder.process(data[:-1]) if len(data) > 1 else b""
    assert not decoder.is_finished(), "bytes after the end of the brotli stream"
    body += decoder.process(data[-1:])
    assert decoder.is_finished(), f"the brotli stream is incomplete after {len(data)} bytes"
    return body


class Stream:
    """Decodes what has come so far."""

    def __init__(self):
        self._decoder = brotli.Decompressor()
        self.body = b""

    def feed(self, data):
        if data:
            self.body += self._decoder.process(bytes(data))
        return self.body

    @property
    def finished(self):
        return self._decoder.is_finished()


def prefix(data):
    """What can be decoded of a stream that may have been cut; fails if it is not a valid prefix."""
    return Stream().feed(data)
