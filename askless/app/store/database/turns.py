"""A lock that threads get in the order in which they asked for it."""

from collections import deque
from threading import Lock


class Turns:
    """A fair lock: the thread that has waited longest gets it next.

    SQLite lets one connection write at a time. The others poll, less and less often, so
    that among many threads one may wait for seconds. Here no thread polls.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.is_taken = False
        self.waiting: deque[Lock] = deque()

    def take(self, timeout_s: float) -> bool:
        """Wait for a turn; return False if none came in time."""
        with self.lock:
            if not self.is_taken:
                self.is_taken = True
                return True
            mine = Lock()
            # Taken here, it makes the second `acquire` below wait until `give` releases
            # it.
            mine.acquire()
            self.waiting.append(mine)
        if mine.acquire(timeout=timeout_s):
            return True
        with self.lock:
            if mine in self.waiting:
                self.waiting.remove(mine)
                return False
        # The turn came just as the wait ended.
        return True

    def give(self) -> None:
        """End a turn; any thread may, not only the one that took it."""
        with self.lock:
            if self.waiting:
                self.waiting.popleft().release()
            else:
                self.is_taken = False
