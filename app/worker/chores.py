"""Work that comes again every so often."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from app.logs import LOGGER

# After a failure: a database that is away comes back.
PAUSE_S = 2.0


@dataclass
class Chore:
    """What is to be done every so often; what fails is tried again, after a pause."""

    act: Callable[[], object]
    every_s: float
    due: float = 0.0

    def act_when_due(self) -> None:
        if monotonic() < self.due:
            return
        pause_s = self.every_s
        try:
            self.act()
        except Exception:  # Outermost: the next time it may go well.
            LOGGER.exception("worker.failed")
            pause_s = max(self.every_s, PAUSE_S)
        self.due = monotonic() + pause_s
