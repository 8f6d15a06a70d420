"""Figures of chances: against scikit-learn, plain Python and rows drawn again."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from askless.core.model.figures import wilson_interval
from askless.core.model.hypotheses import Stump
from askless.core.simulation.curves import Endings, compare_paired
from askless.core.simulation.figures import ScoredRows, compute_figures
from tests.small import ensemble_of, table_of

MEANS = ("auroc", "log_loss", "brier", "calibration_error")


def ensemble_with(n_classes: int, error_costs=None):
    stump = Stump(0, 0.5, (1,) if n_classes == 2 else (1,) * n_classes)
    made = ensemble_of([stump], n_classes=n_classes)
    return replace(made, error_costs=error_costs)


def score(targets, chances, weights=None, groups=None) -> ScoredRows:
    """Rows under one budget; of two classes `chances` may be the second's."""
    chances, targets = np.array(chances, np.float64), np.array(targets, np.int64)
    if chances.ndim == 1:
        chances = np.column_stack((1.0 - chances, chances))
    weights = np.ones(targets.size) if weights is None else np.array(weights, float)
    groups = np.arange(targets.size) if groups is None else np.array(groups)
    return ScoredRows(targets, weights / weights.sum(), groups, chances[:, None])


def draw(n_rows: int, n_classes: int = 2, seed: int = 0) -> ScoredRows:
    """Rows with chances that are about right, some of them the same."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.ones(n_classes), n_rows).round(2) + 0.01
    chances /= chances.sum(axis=1, keepdims=True)
    targets = [rng.choice(n_classes, p=chance) for chance in chances]
    return score(targets, chances, rng.integers(1, 4, n_rows))


def figures_of(rows: ScoredRows, threshold=None, error_costs=None):
    made = ensemble_with(rows.chances.shape[2], error_costs)
    (found,) = compute_figures(made, rows, threshold)
    return found


@pytest.mark.parametrize("n_classes", [2, 4])
def test_figures_are_those_of_scikit_learn(n_classes):
    rows = draw(200, n_classes)
    chances = rows.chances[:, 0]
    said = chances[:, 1] if n_classes == 2 else chances
    options = {"sample_weight": rows.weights}

    found = figures_of(rows)

    ranked = {"multi_class": "ovr", "average": "weighted"} if n_classes > 2 else {}
    auroc = roc_auc_score(rows.targets, said, **ranked, **options)
    assert found.auroc.value == pytest.approx(auroc)
    assert found.log_loss.value == pytest.approx(
        log_loss(rows.targets, chances, **options)
    )
    assert found.brier.value == pytest.approx(
        brier_score_loss(rows.targets, said, scale_by_half=True, **options)
    )


def test_shares_have_wilsons_intervals():
    rows = score([1] * 10 + [0] * 20, [0.9] * 8 + [0.1] * 2 + [0.2] * 15 + [0.6] * 5)

    found = figures_of(rows)

    assert found.sensitivity.value == pytest.approx(0.8)
    assert found.sensitivity.interval == pytest.approx(wilson_interval(0.8, 10))
    assert found.specificity.value == pytest.approx(0.75)
    assert found.specificity.interval == pytest.approx(wilson_interval(0.75, 20))


def test_threshold_says_from_which_chance_a_row_is_positive():
    rows = score([1, 1, 0, 0], [0.3, 0.9, 0.3, 0.1])

    assert figures_of(rows).sensitivity.value == 0.5
    assert figures_of(rows, 0.3).sensitivity.value == 1.0
    assert figures_of(rows, 0.3).specificity.value == 0.5


def test_shares_of_several_classes_are_their_mean():
    chances = np.eye(3)[[0, 0, 1, 2]] * 0.7 + 0.1

    found = figures_of(score([0, 1, 1, 2], chances))

    assert found.sensitivity.value == pytest.approx((1 + 0.5 + 1) / 3)
    assert found.specificity.value == pytest.approx((2 / 3 + 1 + 1) / 3)


def test_errors_cost_what_they_cost():
    costs = ((0.0, 1.0), (9.0, 0.0))
    rows = score([1, 1, 0, 0], [0.05, 0.9, 0.3, 0.02])

    found = figures_of(rows, error_costs=costs)

    # From a chance of 0.1 on it is cheaper to say the second class.
    assert found.expected_cost.value == pytest.approx((9 + 1) / 4)
    assert figures_of(rows).expected_cost is None


def test_interval_of_auroc_is_that_of_delong():
    rows = draw(60)
    rows = rows._replace(weights=np.full(60, 1 / 60))
    chances, is_its = rows.chances[:, 0, 1], rows.targets == 1
    above = np.subtract.outer(chances[is_its], chances[~is_its])
    wins = (above > 0) + 0.5 * (above == 0)
    sides = [wins.mean(axis=axis) for axis in (1, 0)]
    spread = math.sqrt(sum(side.var(ddof=1) / side.size for side in sides))

    found = figures_of(rows).auroc

    odds = [math.log(one / (1 - one)) for one in found.interval]
    reach = 1.959963984540054 * spread / (wins.mean() * (1 - wins.mean()))
    assert found.value == pytest.approx(wins.mean())
    assert odds[1] - odds[0] == pytest.approx(2 * reach)


def test_a_class_of_one_row_leaves_auroc_its_interval():
    rows = draw(60, 2)
    chances = np.pad(rows.chances, ((0, 0), (0, 0), (0, 1)))
    targets = rows.targets.copy()
    targets[0] = 2

    found = figures_of(rows._replace(targets=targets, chances=chances)).auroc

    assert found.interval is not None


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_intervals_are_as_wide_as_those_of_rows_drawn_again(n_classes):
    rows, rng = draw(300, n_classes), np.random.default_rng(1)
    # Too sure of themselves: about no gap, one above and one below look the same.
    sure = rows.chances**3 / (rows.chances**3).sum(axis=2, keepdims=True)
    rows = rows._replace(weights=np.full(300, 1 / 300), chances=sure)
    values = []
    for _ in range(100):
        idxs = rng.integers(0, 300, 300)
        again = rows._replace(targets=rows.targets[idxs], chances=sure[idxs])
        found = figures_of(again)
        values.append([getattr(found, figure).value for figure in MEANS])

    found = figures_of(rows)

    limits = [getattr(found, figure).interval for figure in MEANS]
    spreads = [(high - low) / 3.92 for low, high in limits]
    assert spreads == pytest.approx(np.std(values, axis=0), rel=0.3)


def repeat_rows(rows: ScoredRows) -> ScoredRows:
    twice = (np.repeat(part, 2, axis=0) for part in rows[:4])
    return ScoredRows(*twice)._replace(weights=np.repeat(rows.weights / 2, 2))


def test_rows_that_belong_together_count_once():
    rows = draw(80)
    twice = repeat_rows(rows)
    apart = twice._replace(group_idxs=np.arange(160))

    found, together = figures_of(rows), figures_of(twice)

    for name in (*MEANS, "sensitivity", "specificity"):
        one, other = getattr(found, name), getattr(together, name)
        assert other.value == pytest.approx(one.value)
        assert other.interval == pytest.approx(one.interval)
        low, high = getattr(figures_of(apart), name).interval
        assert high - low < other.interval[1] - other.interval[0]


def test_rows_of_twice_the_variance_count_half():
    rows = draw(80)
    twice = repeat_rows(rows)._replace(group_idxs=np.arange(160), variance_factor=2.0)

    found, shared = figures_of(rows), figures_of(twice)

    for name in (*MEANS, "auroc", "sensitivity", "specificity"):
        alone, other = getattr(found, name), getattr(shared, name)
        assert other.value == pytest.approx(alone.value)
        # Means are corrected by n / (n - 1) rows, of which there are more.
        assert other.interval == pytest.approx(alone.interval, rel=0.02)
    for narrow, wide in zip(found.reliability, shared.reliability, strict=True):
        assert wide.observed.interval == pytest.approx(narrow.observed.interval)


@pytest.mark.parametrize("sizes", [(4, 100, 100), (2, 30, 30)])
def test_more_variance_makes_no_interval_narrower(sizes):
    targets = np.repeat(np.arange(3), sizes)
    rows = score(targets, 0.1 + 0.7 * np.eye(3)[targets])

    plain = figures_of(rows).auroc.interval
    shared = figures_of(rows._replace(variance_factor=2.25)).auroc.interval

    assert shared[0] < plain[0]
    assert shared[1] >= plain[1]


def test_calibration_error_is_the_mean_gap_of_ten_groups_of_rows():
    chances = np.repeat([0.1, 0.3, 0.8], 20)
    targets = np.concatenate([np.arange(20) < n for n in (2, 10, 14)])

    found = figures_of(score(targets, chances))

    assert found.calibration_error.value == pytest.approx((0 + 0.2 + 0.1) / 3)
    assert [bin_.mean_chance for bin_ in found.reliability] == pytest.approx(
        [0.1, 0.3, 0.8]
    )
    observed = [bin_.observed.value for bin_ in found.reliability]
    assert observed == pytest.approx([0.1, 0.5, 0.7])
    limits = found.reliability[1].observed.interval
    assert limits == pytest.approx(wilson_interval(0.5, 20))


@pytest.mark.parametrize("n_rows", [13, 15, 55, 63])
def test_calibration_error_is_never_negative_by_rounding(n_rows):
    targets = np.arange(n_rows) % 2
    share = targets.mean()

    figures = figures_of(score(targets, np.full((n_rows, 2), [1 - share, share])))

    assert figures.calibration_error.value >= 0


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_shares_stay_within_0_and_1_whatever_the_weights(seed):
    rng = np.random.default_rng(seed)
    targets = np.arange(2 + seed) % 2

    found = figures_of(score(targets, targets * 1.0, rng.random(targets.size)))

    shares = (found.auroc, found.sensitivity, found.specificity, found.brier)
    assert [share.value for share in shares] == pytest.approx([1, 1, 1, 0], abs=1e-9)
    for share in shares:
        assert 0 <= share.value <= 1
        assert (
            share.interval is None or 0 <= share.interval[0] <= share.interval[1] <= 1
        )


def test_calibration_of_several_classes_is_that_of_the_label():
    chances = np.tile([0.2, 0.7, 0.1], (10, 1))

    found = figures_of(score([1] * 6 + [0] * 4, chances))

    (one,) = found.reliability
    assert (one.mean_chance, one.observed.value) == pytest.approx((0.7, 0.6))


def test_rows_of_one_class_have_no_auroc():
    found = figures_of(score([0, 0, 0], [0.2, 0.3, 0.4]))

    assert (found.auroc, found.sensitivity) == (None, None)
    assert found.specificity.value == 1.0


def test_weightless_rows_say_nothing():
    rows = score([0, 1, 1, 0], [0.2, 0.3, 0.4, 0.9], [1, 1, 1, 0])
    few = score([0, 1, 1], [0.2, 0.3, 0.4])

    assert figures_of(rows) == figures_of(few)


def test_order_that_is_never_wrong_is_not_called_certain():
    perfect = figures_of(score([0, 0, 0, 1, 1], [0.1, 0.2, 0.3, 0.8, 0.9]))
    even = figures_of(score([0, 0, 1, 1], [0.4] * 4))

    assert perfect.auroc.value == 1.0
    assert perfect.auroc.interval == pytest.approx(wilson_interval(1.0, 2))
    assert even.auroc.interval == (0.5, 0.5)


def test_too_few_rows_have_no_interval():
    lone = figures_of(score([1], [0.7]))
    pair = figures_of(score([0, 1], [0.2, 0.7]))

    assert lone.log_loss.interval is None
    assert lone.auroc is None
    assert pair.auroc.interval is None


def test_differences_are_those_of_the_same_rows():
    dataset = table_of([np.arange(8.0)])
    wrong = np.zeros((8, 2), np.bool_)
    first = Endings(wrong, wrong, np.zeros((8, 2), np.int64), None)
    worse = wrong.copy()
    worse[:3, 1] = True
    second = Endings(worse, worse, first.spent, None)

    same, more = compare_paired(dataset, second, first)
    _, less = compare_paired(dataset, first, second)

    spread = np.std([1] * 3 + [0] * 5, ddof=1) / math.sqrt(8)
    assert (same.value, same.interval) == (0.0, (0.0, 0.0))
    assert more.value == -less.value == pytest.approx(3 / 8)
    assert more.interval[1] - more.value == pytest.approx(1.95996398 * spread)
    assert less.interval == pytest.approx((-more.interval[1], -more.interval[0]))
