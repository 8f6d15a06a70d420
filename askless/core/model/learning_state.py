"""Hold the state of online boosting in a model, and its running figures."""

from dataclasses import dataclass
from typing import get_args

import numpy as np

from askless.core import kernels
from askless.core.arrays import Arrays, FloatArray
from askless.core.model.ensemble import Calibration
from askless.core.model.figures import Estimate, wilson_interval

#: the arrays of `LearningState.state` in order, with their types: the last argument of
#: numpy's `ndarray[shape, dtype[type]]`
ARRAYS = {
    name: np.dtype(get_args(get_args(array)[1])[0])
    for name, array in kernels.OnlineState.__annotations__.items()
}
# Columns of `LearningState.record`. A link turns votes into chances: that of training,
# and the one that online boosting itself fits.
WEIGHT, SQUARES, WRONG, LOSS, OWN_WRONG, OWN_LOSS = range(6)
# Its rows: all rows learnt since training, and those of late.
SINCE_TRAINING, OF_LATE = range(2)
# A row learnt so many rows ago counts half among those of late.
RECENT_ROWS = 500
# The link of training is judged from so much weight of rows of late on.
LEAST_WEIGHT = 100.0


@dataclass(frozen=True, eq=False)
class LearningState(Arrays):
    """The state of online boosting, and what is known of the rows learnt so far.

    `rounds`, `half_life`, `tau`, `cost_floor` (micro-units), `label_weights` and `seed`
    are the parameters of the training. `state` are the arrays of the booster by name,
    in its order. `class_weights` (n_classes,) sum the weights of the rows of each
    class, and older rows fade by the half-life. `record` (2, 6) sums, over rows that
    were predicted before they were learnt, weights, squared weights, weights of wrong
    labels and log-losses. `budget_record` (n_budgets, 2, 3) has the first three of rows
    that were played as sessions under each of the `budgets` (micro-units; None:
    unlimited) before they were learnt.
    """

    rounds: int
    half_life: int
    tau: float
    cost_floor: int | None
    label_weights: str
    seed: int
    #: the column of the weights; None: each row counts 1
    weight_column: str | None
    #: the weight, in that column, of a row that counts 1
    weight_unit: float
    #: other columns of the table of training, which rows to learn may have too
    ignored: tuple[str, ...]
    #: rows learnt since training
    n_learnt: int
    class_weights: FloatArray
    record: FloatArray
    #: class shares of training, which ties follow
    first_priors: FloatArray
    #: calibrations of training, by policy
    first_calibrations: tuple[tuple[str, Calibration], ...]
    state: tuple[tuple[str, np.ndarray], ...]
    #: those of the training's curve; (): it has none
    budgets: tuple[int | None, ...]
    budget_record: FloatArray

    @property
    def keeps_calibrations(self) -> bool:
        """Whether the calibrations of training hold on the rows of late.

        They are dropped while their log-loss there is above that of online boosting's
        own link. Few rows say nothing of that.
        """
        late = self.record[OF_LATE]
        is_worse = bool(late[LOSS] > late[OWN_LOSS])
        return not (is_worse and late[WEIGHT] >= LEAST_WEIGHT)

    def estimate_error(self, span: int) -> Estimate | None:
        """Return the share of wrong labels of a span of `record`; None without rows."""
        return self.estimate_share(self.record[span])

    def estimate_share(self, sums: FloatArray) -> Estimate | None:
        """Return the share of wrong labels in sums like those of `record`, (6,).

        The labels are those of the link that the model predicts by now; the rows had a
        say in which link that is.
        """
        return estimate_wrong(sums, WRONG if self.keeps_calibrations else OWN_WRONG)

    def mean_loss(self, span: int) -> float | None:
        """Return the mean log-loss of a span of `record`; None without rows."""
        sums = self.record[span]
        column = LOSS if self.keeps_calibrations else OWN_LOSS
        return float(sums[column] / sums[WEIGHT]) if sums[WEIGHT] > 0 else None


def estimate_wrong(sums: FloatArray, column: int = WRONG) -> Estimate | None:
    """Return the share of wrong labels in sums of rows; None without rows."""
    if not sums[WEIGHT] > 0:
        return None
    # By rounding, differences of sums may leave the range by a digit.
    share = float(min(max(sums[column] / sums[WEIGHT], 0.0), 1.0))
    # The effective number of rows of unequal weights (Kish 1965).
    n_rows = float(sums[WEIGHT] ** 2 / sums[SQUARES])
    return Estimate(share, wilson_interval(share, n_rows))
