"""The log odds of rows by panels, computed once for all that play these rows."""

import weakref
from hashlib import blake2b

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.ladder.panels import PanelLadder
from askless.core.session.ladders import choose_predictor, ladder_of, mark_known
from askless.core.session.position import Position

#: by panel: log odds, (n_rows, n_outputs), and which rows have them, (n_rows,)
KeptLogits = dict[int, tuple[FloatArray, BoolArray]]


class LogitCache:
    """Log odds of rows by panels; those of whole panels are computed once."""

    def __init__(
        self, ladder: PanelLadder, values: FloatArray, kept: KeptLogits
    ) -> None:
        self.ladder, self.values, self.kept = ladder, values, kept

    @classmethod
    def share(cls, ensemble: Ensemble, values: FloatArray) -> "LogitCache":
        """Return a cache that has what was computed for the same rows before.

        A validation plays the same rows by several policies. Only the last rows of a
        ladder are kept, as long as they are in use and the same.
        """
        ladder = ladder_of(ensemble)
        # An array may have been written to since.
        flat = np.ascontiguousarray(values).reshape(-1).data
        digest, last = blake2b(flat).digest(), ladder.last_rows
        # Read and written as one, since threads may play rows of their own.
        rows, before, kept = last[0] if last else (None, b"", KeptLogits())
        if rows is None or rows() is not values or before != digest:
            fresh = kept = KeptLogits()
            last[:] = [(weakref.ref(values, lambda _: fresh.clear()), digest, fresh)]
        return cls(ladder, values, kept)

    def predict(self, position: Position, row_idxs: IntArray) -> FloatArray:
        """Return the log odds of rows of a position; (n_rows, n_outputs)."""
        number, known = choose_predictor(position), mark_known(position)
        return self.predict_by(number, known, row_idxs)

    def predict_by(
        self, number: int, is_known: BoolArray, row_idxs: IntArray
    ) -> FloatArray:
        """Return the log odds of rows by a panel and what is known of them."""
        if self.ladder.reads_just(number, is_known):
            return self.predict_whole(number, row_idxs)
        return self.ladder.predict_logits(number, self.values[row_idxs], is_known)

    def predict_whole(self, number: int, row_idxs: IntArray) -> FloatArray:
        """Return the log odds of rows by a panel alone, of which all is known."""
        n_rows, n_outputs = len(self.values), self.ladder.starts.size
        if number not in self.kept:
            self.kept[number] = (
                np.empty((n_rows, n_outputs)),
                np.zeros(n_rows, np.bool_),
            )
        logits, is_there = self.kept[number]
        lacking = row_idxs[~is_there[row_idxs]]
        if lacking.size:
            panel = self.ladder.panels[number]
            logits[lacking] = panel.logits(self.values[lacking], self.ladder.starts)
            is_there[lacking] = True
        return logits[row_idxs]
