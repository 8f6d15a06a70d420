"""Estimates of how much of a training is done, for progress bars only."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple

from askless.core.model.model import Curve, Model
from askless.core.training.rounds import Round

# Share of a training that its validation takes, where it has folds.
VALIDATION_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Progress:
    """A step of a training; `added` is its round, None while choosing or validating.

    `part` counts the folds from 0; the last part is the whole. `share`, 0 to 1, is
    how much of the training is done. `tested` is the curve of the fold that has just
    been trained, on its held-out rows and before any calibration.
    """

    part: int
    n_parts: int
    added: Round | None
    share: float
    tested: Curve | None = None


Training = Generator[Progress, None, Model]


class Part(NamedTuple):
    """A fold, counted from 0, or all rows, which come last."""

    number: int
    n_parts: int
    #: How much of the training is done before and after this part.
    start: float
    end: float
    #: Share of the training that all parts together take.
    room: float
    #: Share of a part that rounds take; the rest is for panels.
    rounds_room: float = 1.0

    @property
    def is_whole(self) -> bool:
        """Whether this part is all rows."""
        return self.number == self.n_parts - 1

    def progress(self, share: float, added: Round | None = None) -> Progress:
        """Return the progress once this share of the part's rounds is done."""
        done = self.start + (self.end - self.start) * self.rounds_room * share
        return Progress(self.number, self.n_parts, added, done)

    def after_rounds(self, share: float) -> Progress:
        """Return the progress once all rounds and this share of the panels are done."""
        done = self.rounds_room + (1.0 - self.rounds_room) * share
        return self._replace(rounds_room=1.0).progress(done)

    def after_validation(self, share: float) -> Progress:
        """Return the progress once this share of the validation is done."""
        done = self.room + (1.0 - self.room) * share
        return Progress(self.number, self.n_parts, None, done)
