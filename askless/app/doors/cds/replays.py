"""Remembers which tokens were used: each opens the service once."""

import heapq
import json
from hashlib import sha256
from threading import Lock
from typing import Any


class Replays:
    """The tokens that this process has taken and that have not expired.

    At most `most` are remembered, each in some hundred bytes. Beyond that the one that
    expires first is forgotten, and could be used again until then.
    """

    def __init__(self, most: int = 100_000) -> None:
        self.most = most
        self.lock = Lock()
        self.used: set[bytes] = set()
        #: the same tokens by when they expire, in seconds since 1970
        self.by_expiry: list[tuple[float, bytes]] = []

    def use(self, issuer: str, jti: Any, expiry: float, now: float) -> bool:
        """Use a token; return whether it was not used before.

        A token is known by its issuer and its `jti`, which may be any JSON. `expiry` is
        the last moment at which it would be taken, a leeway included.
        """
        token = sha256(json.dumps([issuer, jti], sort_keys=True).encode()).digest()
        with self.lock:
            while self.by_expiry and self.by_expiry[0][0] < now:
                self.forget_first()
            if token in self.used:
                return False
            self.used.add(token)
            heapq.heappush(self.by_expiry, (expiry, token))
            if len(self.used) > self.most:
                self.forget_first()
        return True

    def forget_first(self) -> None:
        """Forget the token that expires first."""
        _, token = heapq.heappop(self.by_expiry)
        self.used.remove(token)
