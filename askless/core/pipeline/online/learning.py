"""Go on learning, row by row, with a model that online boosting has trained.

Each row is predicted before it is learnt, so the running error is that of rows which
the model had not seen (prequential evaluation; Dawid 1984, Gama, Sebastiao and
Rodrigues 2013).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.figures import Estimate
from askless.core.model.learning_state import (
    OF_LATE,
    RECENT_ROWS,
    SINCE_TRAINING,
    LearningState,
)
from askless.core.model.model import Model
from askless.core.pipeline.online.budget_errors import (
    BudgetError,
    add_played_row,
    describe_budget_errors,
    list_budget_errors,
    play_row,
    split_at_played,
)
from askless.core.pipeline.online.learning_state import (
    copy_arrays,
    get_learning,
    plain_calibrations,
    restore_booster,
)
from askless.core.session.probability import FULL_VOTE, PLAIN, decide_label
from askless.core.training.boosting import sign_weights
from askless.core.training.online.online import OnlineBooster

# Facts of a card that describe the model before it learnt.
STALE = ("sessions", "comparison", "mean_budgets", "rows_set_aside", "rows_sampled")
#: scores (n_rows, n_outputs), and shares of alpha (n_rows,)
Votes = tuple[FloatArray, FloatArray]


class LearntRows(NamedTuple):
    """Rows to learn, in order: checked, and none of weight 0.

    `values` is (n_rows, n_features), as in `Dataset`; `targets` and `weights`
    (n_rows,), the latter in the units of the weight column.
    """

    values: FloatArray
    targets: IntArray
    weights: FloatArray

    def take(self, span: slice) -> "LearntRows":
        """Return some of the rows."""
        return LearntRows(self.values[span], self.targets[span], self.weights[span])


@dataclass(frozen=True)
class LearningReport:
    """What some rows have changed.

    `error` is the share of wrong labels among the rows of this call, each predicted
    before it was learnt; `before` and `after` are the running errors of late. All are
    None without rows. `stumps` counts the weak hypotheses that were not there before,
    `features` names those that no weak hypothesis read before. `under_budgets` are
    errors of sessions of the same rows, or of some of them.
    """

    n_rows: int
    n_learnt: int
    error: Estimate | None
    before: Estimate | None
    after: Estimate | None
    n_stumps: int
    features: tuple[str, ...]
    under_budgets: tuple[BudgetError, ...]


class Learning:
    """A model that learns; the same rows in the same order make the same model.

    How the rows are cut into calls changes nothing, to the bit. Raises RefusedError
    for a model without a learning.
    """

    def __init__(self, model: Model) -> None:
        learning = get_learning(model)
        self.model, self.learning = model, learning
        self.booster = restore_booster(learning, model.ensemble.catalogue)
        self.record, self.class_weights = (
            learning.record.copy(),
            learning.class_weights.copy(),
        )
        self.budget_record = learning.budget_record.copy()
        self.n_rows, self._sums = 0, np.zeros((2, 6))

    def learn(self, rows: LearntRows) -> None:
        """Predict and learn rows, one after the other."""
        n_rows = rows.targets.size
        if not n_rows:
            return
        if not self.learning.budgets:
            self.learn_span(rows)
            return
        first = self.learning.n_learnt + self.n_rows
        for span, n_meant in split_at_played(first, n_rows):
            part = rows.take(span)
            if n_meant:
                self.play(part, n_meant)
            self.learn_span(part)

    def play(self, rows: LearntRows, n_meant: int) -> None:
        """Play the first of some rows as a session, by the model as it is now."""
        now = self.describe_state()
        ensemble = update_ensemble(self.model.ensemble, now, self.booster)
        wrong = play_row(ensemble, rows.values[:1], int(rows.targets[0]), now)
        weight = float(rows.weights[0] / now.weight_unit)
        add_played_row(self.budget_record, wrong, weight, n_meant)

    def learn_span(self, rows: LearntRows) -> None:
        """Predict and learn rows without playing any."""
        n_rows = rows.targets.size
        weights = rows.weights / self.learning.weight_unit
        n_classes = len(self.model.ensemble.classes)
        label_weights = self.booster.params.label_weights
        signed = sign_weights(rows.targets, n_classes, weights, label_weights)
        scores, shares = self.booster.learn(rows.values, signed)
        judged = self.judge((scores, shares), rows.targets, weights)
        late, old = (0.5 ** (1.0 / n) for n in (RECENT_ROWS, self.learning.half_life))
        fades = np.array([1.0, late, old])
        kernels.add_judged_rows(judged, fades, self.record, self.class_weights)
        unfaded = np.ones(3)
        kernels.add_judged_rows(judged, unfaded, self._sums, np.zeros(n_classes))
        self.n_rows += n_rows

    def judge(
        self, votes: Votes, targets: IntArray, weights: FloatArray
    ) -> kernels.JudgedRows:
        """Return each link's errors and chances of the true class on rows."""
        learning, n_outputs = self.learning, self.model.ensemble.n_outputs
        first = replace(
            self.model.ensemble,
            priors=tuple(learning.first_priors.tolist()),
            calibrations=learning.first_calibrations,
        )
        own = replace(first, calibrations=plain_calibrations(n_outputs))
        chances = np.empty((targets.size, 2))
        is_wrong: BoolArray = np.empty((targets.size, 2), np.bool_)
        for place, ensemble in enumerate((first, own)):
            linked = predict_from_all_known(ensemble, *votes)
            chances[:, place] = linked[np.arange(targets.size), targets]
            is_wrong[:, place] = decide_label(ensemble, linked) != targets
        return kernels.JudgedRows(chances, is_wrong, targets, weights)

    def finish(self) -> tuple[Model, LearningReport]:
        """Return the model that has learnt, and what changed.

        Its curve and certificates go, since they are figures of the model before; so
        do its card's. Without a row it is the model as it was.
        """
        before, old = self.learning, self.model.ensemble
        if not self.n_rows:
            late = before.estimate_error(OF_LATE)
            under = list_budget_errors(before, before.budget_record)
            report = LearningReport(0, before.n_learnt, None, late, late, 0, (), under)
            return self.model, report
        state = copy_arrays(self.booster.state)
        learning = replace(self.describe_state(), state=state)
        ensemble = update_ensemble(old, learning, self.booster)
        card = describe_learning(self.model.card, learning, ensemble)
        model = replace(
            self.model, ensemble=ensemble, curve=None, card=card, learning=learning
        )
        is_new = ensemble.is_used & ~old.is_used
        features = ensemble.catalogue.features
        report = LearningReport(
            n_rows=self.n_rows,
            n_learnt=learning.n_learnt,
            error=learning.estimate_share(self._sums[SINCE_TRAINING]),
            before=before.estimate_error(OF_LATE),
            after=learning.estimate_error(OF_LATE),
            n_stumps=len(set(ensemble.hypotheses) - set(old.hypotheses)),
            features=tuple(features[idx].name for idx in np.flatnonzero(is_new)),
            under_budgets=list_budget_errors(learning, before.budget_record),
        )
        return model, report

    def describe_state(self) -> LearningState:
        """Return the state by now, but for the arrays of the booster."""
        return replace(
            self.learning,
            n_learnt=self.learning.n_learnt + self.n_rows,
            class_weights=self.class_weights,
            record=self.record,
            budget_record=self.budget_record,
        )


def predict_from_all_known(
    ensemble: Ensemble, scores: FloatArray, shares: FloatArray
) -> FloatArray:
    """Return the class chances of rows by all that is known, (n_rows, n_classes).

    `scores` (n_rows, n_outputs); `shares` (n_rows,) are those of alpha that is known.
    Where nothing is, they are the priors.
    """
    arrays = ensemble.calibration_arrays
    link = arrays.get(ensemble.policy, arrays.get(FULL_VOTE, PLAIN))
    chances = np.empty((scores.shape[0], len(ensemble.classes)))
    kernels.link_votes(scores, shares, link, ensemble.class_priors, 0.0, chances)
    return chances


def update_ensemble(
    old: Ensemble, learning: LearningState, booster: OnlineBooster
) -> Ensemble:
    """Return the ensemble with the weak hypotheses that a booster has now.

    Nothing was measured of what it is now.
    """
    stumps = booster.stumps()
    calibrations = learning.first_calibrations
    if not learning.keeps_calibrations:
        calibrations = plain_calibrations(old.n_outputs)
    shares = learning.class_weights / learning.class_weights.sum()
    return replace(
        old,
        hypotheses=tuple(stump for stump, _ in stumps),
        alphas=tuple(alpha for _, alpha in stumps),
        priors=tuple(shares.tolist()),
        calibrations=calibrations,
        certification=None,
        measured=None,
        knees=(),
    )


def describe_learning(
    card: Mapping[str, object], learning: LearningState, ensemble: Ensemble
) -> dict[str, object]:
    """Return a card whose facts hold for the model that has learnt."""
    features = ensemble.catalogue.features
    facts = {name: fact for name, fact in card.items() if name not in STALE}
    since = learning.estimate_error(SINCE_TRAINING)
    late = learning.estimate_error(OF_LATE)
    assert since is not None, "rows were learnt"
    assert late is not None, "rows were learnt"
    return facts | {
        "hypotheses": len(ensemble.hypotheses),
        "features_used": [features[i].name for i in np.flatnonzero(ensemble.is_used)],
        "learnt": {
            "rows": learning.n_learnt,
            "error": since.value,
            "interval": list(since.interval or ()),
            "recent_error": late.value,
            "recent_interval": list(late.interval or ()),
            "log_loss": learning.mean_loss(SINCE_TRAINING),
            "keeps_calibration": learning.keeps_calibrations,
            "budgets": describe_budget_errors(learning),
        },
    }
