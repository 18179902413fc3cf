"""What the functional tests stand on: a real nginx, upstreams that misbehave, strict clients."""
