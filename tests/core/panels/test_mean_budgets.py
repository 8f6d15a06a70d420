"""Sessions with a mean budget spend it, on rows that training never saw."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from askless.core.estimator.classifier import BudgetedBoostingClassifier
from tests.panels import shorten

SHARES = 0.1, 0.5, 1.0

pytestmark = pytest.mark.slow


def cancer():
    """Return the table, its costs, how many rows train, and how many splits."""
    data = load_breast_cancer()
    X = data.data[:, ::2]
    costs = np.random.default_rng(1).integers(1, 6, X.shape[1])
    return X, data.target, costs, 380, 10


def generated():
    """Twelve normal numbers that say less and less; 1,500 rows train."""
    random = np.random.default_rng(5)
    X = random.normal(size=(4000, 12))
    weights = [2.0, 1.5, 1.2, 1.0, 0.8, 0.7, 0.5, 0.4, 0.3, 0.2, 0.0, 0.0]
    odds = 0.8 * X @ weights + 0.8 * X[:, 0] * X[:, 1] - 0.5
    y = (random.random(4000) < 1 / (1 + np.exp(-odds))).astype(int)
    return X, y, np.array([1, 1, 2, 2, 3, 3, 4, 1, 2, 1, 1, 1]), 1500, 1


# Ten splits of a small table are of level full; one large table is always run.
@pytest.fixture(
    scope="module", params=[pytest.param(cancer, marks=pytest.mark.full), generated]
)
def trained(request):
    """Models, each with rows that it never saw: of 189 a mean spend says little."""
    X, y, costs, n_rows, n_splits = request.param()
    models = []
    # The rules for going on decide what is spent, however good the panels are.
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        for seed in range(n_splits):
            rows = np.random.default_rng(seed).permutation(len(y))
            seen, fresh = rows[:n_rows], rows[n_rows:]
            model = BudgetedBoostingClassifier(
                costs=costs.tolist(), folds=0, effort="fast", random_state=seed
            )
            models.append((model.fit(X[seen], y[seen]), X[fresh]))
    return models


def most_of(model):
    """What the rule that errs least spends."""
    return model.ensemble_.panels.stopping.rules[-1].spend / 1e6


def spend_share(model, fresh, budget):
    """What fresh rows spend of a mean budget."""
    amount = round(budget, 2)
    return model.spend(fresh, aim={"mean_budget": amount}).mean() / amount


@pytest.mark.parametrize("share", SHARES)
def test_a_mean_budget_is_spent_on_fresh_rows(trained, share):
    spent = [
        spend_share(model, rows, share * most_of(model)) for model, rows in trained
    ]

    assert np.mean(spent) == pytest.approx(1.0, abs=0.08)


def test_no_more_is_spent_than_helps(trained):
    spent = [spend_share(model, rows, 2 * most_of(model)) for model, rows in trained]

    assert np.mean(spent) == pytest.approx(0.5, abs=0.04)
