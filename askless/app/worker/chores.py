"""Work that a process repeats at intervals."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from askless.app.logs import LOGGER

# The least pause after a failure, such as a database that is away.
PAUSE_S = 2.0


@dataclass
class Chore:
    """An action that is repeated every `every_s` seconds, also after a failure."""

    act: Callable[[], object]
    every_s: float
    due: float = 0.0

    def run_if_due(self) -> None:
        """Run the action if it is time; log what it raises."""
        if monotonic() < self.due:
            return
        pause_s = self.every_s
        try:
            self.act()
        except Exception:  # Outermost: the next time it may go well.
            LOGGER.exception("worker.failed")
            pause_s = max(self.every_s, PAUSE_S)
        self.due = monotonic() + pause_s
