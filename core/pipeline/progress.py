"""How much of a training is done; guesses, for progress bars only."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple

from core.model.model import Model
from core.training.rounds import Round

# Of a training that has folds.
VALIDATION_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Progress:
    """One more round; `added` is None while something is chosen, or validated.

    `part` counts the folds from 0, the last part is the whole. `share` of the training
    is done, 0 to 1.
    """

    part: int
    n_parts: int
    added: Round | None
    share: float


Training = Generator[Progress, None, Model]


class Part(NamedTuple):
    """A fold, counted from 0, or all rows, which come last."""

    number: int
    n_parts: int
    #: What all parts take of the whole training.
    room: float
    #: What rounds take of a part; the rest is for panels.
    rounds_room: float = 1.0

    @property
    def is_whole(self) -> bool:
        """Whether these are all rows."""
        return self.number == self.n_parts - 1

    def progress(self, share: float, added: Round | None = None) -> Progress:
        """Return how much of the whole is done once this much of the part is."""
        done = self.room * (self.number + self.rounds_room * share) / self.n_parts
        return Progress(self.number, self.n_parts, added, done)

    def rounded(self, share: float) -> Progress:
        """Return the same once the rounds and this much of the panels are done."""
        done = self.rounds_room + (1.0 - self.rounds_room) * share
        return self._replace(rounds_room=1.0).progress(done)

    def validated(self, share: float) -> Progress:
        """Return the same once this much of the validation is done."""
        done = self.room + (1.0 - self.room) * share
        return Progress(self.number, self.n_parts, None, done)
