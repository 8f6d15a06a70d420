"""Turns of threads at one thing, in the order in which they came."""

from collections import deque
from threading import Lock


class Turns:
    """A lock that is handed on to whoever waits longest.

    SQLite lets one write at a time. Who finds it busy sleeps and looks again, by and by
    more seldom, so that of many threads one may wait for seconds; here none looks.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.is_taken = False
        self.waiting: deque[Lock] = deque()

    def take(self, timeout_s: float) -> bool:
        """Wait for a turn; False where none came in time."""
        with self.lock:
            if not self.is_taken:
                self.is_taken = True
                return True
            mine = Lock()
            mine.acquire()
            self.waiting.append(mine)
        if mine.acquire(timeout=timeout_s):
            return True
        with self.lock:
            if mine in self.waiting:
                self.waiting.remove(mine)
                return False
        # It came in the moment in which the wait was over.
        return True

    def give(self) -> None:
        """End a turn; any thread may, not only the one that took it."""
        with self.lock:
            if self.waiting:
                self.waiting.popleft().release()
            else:
                self.is_taken = False
