"""Deterministic bodies. The same arguments give the same bytes in every run."""

import functools
import random

_WORDS = ("function return const value static default length buffer response request header "
          "stream window offset result error status module filter chain event").split()


@functools.lru_cache(maxsize=64)
def text(size, seed=1):
    """Compresses like source code: words, numbers, repeated lines."""
    rng = random.Random(seed)
    lines, have = [], 0
    while have < size:
        if lines and rng.random() < 0.2:
            line = rng.choice(lines[-50:])
        else:
            words = rng.choices(_WORDS, k=rng.randint(3, 12))
            line = " ".join(words) + f" {rng.getrandbits(24):x};\n"
        lines.append(line)
        have += len(line)
    return "".join(lines).encode()[:size]


@functools.lru_cache(maxsize=16)
def noise(size, seed=1):
    """Does not compress."""
    return random.Random(seed).randbytes(size)


def pieces(body, size):
    """`body` cut into pieces of `size` bytes."""
    return [body[at:at + size] for at in range(0, len(body), size)]
