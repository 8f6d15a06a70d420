"""Probabilities: how they are fitted, and that they are honest on rows never seen."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.model.ensemble import N_KNOTS
from askless.core.model.hypotheses import Stump
from askless.core.pipeline import calibration, validation
from askless.core.pipeline.calibration import (
    HeldOutVotes,
    calibrate,
    fit_calibration,
    join_votes,
    penalised_loss,
)
from askless.core.pipeline.validation import (
    MAX_BUDGETS,
    MAX_ROWS,
    collect_votes,
    thin_for_calibration,
    thin_row_budget_pairs,
)
from askless.core.session.probability import compute_knot_weights, decide_label
from askless.core.simulation.simulate import class_probabilities, class_votes, simulate
from askless.core.training.params import BoostParams
from tests.small import ensemble_of, finish, pull, table_of, train

UNIT = 1_000_000
FOUR = Catalogue(tuple(Feature(name, cost=UNIT) for name in "abcd"))


def votes_of(slope, n=400, seed=0, offset=0.0):
    """Scores of two classes with the odds offset + slope * 2F, under two budgets."""
    generator = np.random.default_rng(seed)
    scores = generator.uniform(-1, 1, n)
    chances = 1 / (1 + np.exp(-offset - slope * 2 * scores))
    targets = (generator.random(n) < chances).astype(np.int64)
    shares, budget_idxs = generator.uniform(0, 1, n), np.arange(n) % 2
    return HeldOutVotes(scores[:, None], shares, targets, np.ones(n), budget_idxs)


def fit_all(observed, *, has_offsets=True):
    return finish(fit_calibration(observed, has_offsets=has_offsets))


@pytest.mark.parametrize("slope", [-2.0, 0.0, 0.5, 3.0])
def test_fit_finds_a_slope_that_is_not_negative(slope):
    fitted = fit_all(votes_of(slope, n=4000))

    assert np.mean(fitted.slopes) == pytest.approx(max(slope, 0.0), abs=0.2)
    assert min(fitted.slopes) >= 0


def test_fit_finds_the_offset_of_a_rare_class():
    fitted = fit_all(votes_of(1.0, n=4000, offset=-3.0))

    assert np.mean(fitted.offsets) == pytest.approx(-3.0, abs=0.3)


def test_fit_without_offsets_has_slopes_only():
    fitted = fit_all(votes_of(2.0, offset=-3.0), has_offsets=False)

    assert not np.any(fitted.offsets)


def test_few_separable_votes_keep_a_finite_slope():
    scores = np.linspace(-1, 1, 50)
    targets = (scores > 0).astype(np.int64)
    votes = HeldOutVotes(
        scores[:, None], np.ones(50), targets, np.ones(50), np.zeros(50, np.int64)
    )

    assert 1 < fit_all(votes).slopes[-1] < 100


def test_two_classes_as_outputs_of_several_fit_the_same_odds():
    binary = votes_of(2.0, n=3000)
    both = np.hstack((-binary.scores, binary.scores))

    one, other = fit_all(binary), fit_all(binary._replace(scores=both))

    np.testing.assert_allclose(other.slopes, one.slopes, atol=0.1)
    np.testing.assert_allclose(np.diff(other.offsets), one.offsets, atol=0.1)


def test_change_of_the_loss_is_its_gradient():
    generator = np.random.default_rng(1)
    votes = HeldOutVotes(
        generator.normal(size=(20, 3)),
        generator.random(20),
        generator.integers(0, 3, 20),
        generator.random(20),
        np.zeros(20, np.int64),
    )
    plain = np.repeat([[0.0, 1.0]], (3, 1), axis=1).repeat(N_KNOTS, axis=0)
    near = compute_knot_weights(votes.shares)
    point = plain.ravel() + generator.normal(size=plain.size)

    _, changes = penalised_loss(point, plain, votes, near)

    measured = [
        (
            penalised_loss(point + step, plain, votes, near)[0]
            - penalised_loss(point - step, plain, votes, near)[0]
        )
        / 2e-5
        for step in 1e-5 * np.eye(plain.size)
    ]
    np.testing.assert_allclose(changes, measured, rtol=1e-5, atol=1e-7)


def test_fit_can_be_stopped_between_its_steps(monkeypatch):
    monkeypatch.setattr(calibration, "N_STEPS", 1)
    monkeypatch.setattr(calibration, "N_LOOKS", 3)

    binary = votes_of(0.3, offset=-2.0)
    votes = binary._replace(scores=np.hstack((-binary.scores, binary.scores)))

    stops, fitted = pull(fit_calibration(votes, has_offsets=True))

    assert len(stops) == 3
    assert fitted.offsets[0][1] < fitted.offsets[0][0]


def test_plain_link_stands_where_nothing_beats_it():
    folds = [votes_of(1.0, n=60, seed=seed) for seed in range(4)]

    assert finish(calibrate(folds)) is None


def test_calibration_is_kept_where_it_beats_the_plain_link():
    folds = [votes_of(0.3, offset=-2.0, seed=seed) for seed in range(3)]

    crossed, fitted = finish(calibrate(folds))

    assert len(crossed) == 3
    assert np.mean(fitted.offsets) == pytest.approx(-2.0, abs=0.3)


def test_offsets_whose_labels_err_more_than_the_votes_are_not_kept():
    # Under one budget in ten the votes are right as they are, but an offset fits the
    # other nine best.
    folds = []
    for seed in range(3):
        rare = votes_of(8.0, n=4000, seed=seed, offset=-2.0)
        right = votes_of(9.0, n=800, seed=seed + 9)
        fold = join_votes([rare, right._replace(budget_idxs=right.budget_idxs * 0 + 2)])
        folds.append(fold._replace(scores=fold.scores * 3))

    _, fitted = finish(calibrate(folds))

    assert not np.any(fitted.offsets)


def helpful_table(n_samples, seed):
    """Four features that help a little; a third of the rows is of the second class."""
    generator = np.random.default_rng(seed)
    targets = (np.arange(n_samples) % 3 == 0).astype(np.int64)
    helps = np.outer((1.0, 0.7, 0.5, 0.2), 2.0 * targets - 1.0)
    return table_of(generator.normal(size=helps.shape) + helps, targets, FOUR)


def voters():
    """Four stumps that vote alike, one for each feature."""
    stumps = [Stump(idx, 0.0, (1,)) for idx in range(4)]
    return ensemble_of(stumps, FOUR, alphas=(0.5, 0.25, 0.125, 0.125))


@pytest.mark.parametrize(
    ("n_outputs", "n_parts"), [(1, 2), (2, 3), (3, 5), (10, 12), (1000, 12)]
)
def test_rows_are_spread_for_several_classes(n_outputs, n_parts):
    parts = thin_row_budget_pairs(MAX_ROWS, MAX_BUDGETS, n_outputs)

    assert len(parts) == n_parts
    taken = np.concatenate([np.arange(MAX_ROWS)[part] for part in parts])
    assert sorted(taken) == list(range(MAX_ROWS))


def test_rows_that_are_spread_take_turns_and_weigh_the_same(monkeypatch):
    rows, budgets = helpful_table(60, 0), [UNIT, 2 * UNIT, 3 * UNIT]
    whole = collect_votes(voters(), rows, budgets, "ordered", 0)
    monkeypatch.setattr(validation, "MAX_VOTES", rows.n_samples)

    few = collect_votes(voters(), rows, budgets, "ordered", 0)

    assert few.targets.size == whole.targets.size / 3
    assert few.weights.sum() == pytest.approx(whole.weights.sum())
    assert np.bincount(few.budget_idxs).tolist() == [20, 20, 20]


@pytest.mark.parametrize(("n_outputs", "n_rows"), [(1, 2000), (100, 2000), (1000, 262)])
def test_fewer_rows_are_taken_of_very_many_classes(n_outputs, n_rows):
    assert thin_for_calibration(helpful_table(2500, 0), n_outputs).n_samples == n_rows


def test_votes_of_a_sorted_table_are_of_both_classes():
    n_rows = 2 * MAX_ROWS
    targets = np.repeat([0, 1], n_rows // 2)
    rows = table_of([targets] * 4, targets, FOUR)

    votes = collect_votes(voters(), thin_for_calibration(rows, 1), [None], "ordered", 0)

    assert votes.targets.mean() == 0.5


@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_votes_that_the_priors_answer_are_left_out(policy):
    votes = collect_votes(voters(), helpful_table(60, 0), [0, UNIT], policy, 0)

    assert set(votes.budget_idxs.tolist()) == {1}


# Honest on rows that training never saw. By classes: the largest calibration error (of
# several, one or two hypotheses can't say more), that without a budget, and how much
# worse than the priors' the log-loss may be. (Of five unlike classes offsets would mend
# the first budget, but labels would err more than votes at the next two.) Chance alone
# makes .03 of 800 rows.
BOUNDS = {2: (0.03, 0.03, 0.01), 5: (0.13, 0.11, 0.06), 10: (0.13, 0.04, 0.0)}


def calibration_error(chances, targets, n_bins=10):
    """Expected calibration error over bins of equal size, equal chances together.

    Of two classes that of the second class' probability, of more that of the label's.
    """
    shown = np.ones(targets.size, np.int64)
    if chances.shape[1] > 2:
        shown = chances.argmax(axis=1)
    said = chances[np.arange(targets.size), shown].round(9)
    is_so = shown == targets
    edges = np.sort(said)[np.arange(1, n_bins) * targets.size // n_bins]
    bins = np.searchsorted(np.unique(edges), said, side="right")
    return abs(np.bincount(bins, said) - np.bincount(bins, is_so)).sum() / targets.size


def rare_class():
    X, y = make_classification(
        9000,
        12,
        n_informative=6,
        n_redundant=2,
        weights=[0.93],
        flip_y=0.02,
        class_sep=0.7,
        random_state=0,
    )
    return X, y, 5000, 40


def five_classes():
    X, y = make_classification(
        4000,
        14,
        n_informative=8,
        n_redundant=2,
        n_classes=5,
        flip_y=0.03,
        weights=[0.4, 0.25, 0.2, 0.1, 0.05],
        class_sep=0.9,
        random_state=1,
    )
    return X, y, 2000, 40


def ten_digits():
    X, y = load_digits(return_X_y=True)
    return X, y, 500, 80


@pytest.fixture(scope="module", params=[rare_class, five_classes, ten_digits])
def judged(request):
    """An ensemble and held-out rows, each feature at a cost of 1."""
    X, y, n_train, n_rounds = request.param()
    catalogue = Catalogue(tuple(Feature(f"f{i}", cost=UNIT) for i in range(X.shape[1])))
    rows = table_of(X.T, y, catalogue, n_classes=int(y.max()) + 1)
    seen = rows.take(np.arange(n_train))
    model = finish(train(seen, BoostParams(rounds=n_rounds), folds=3))
    return model.ensemble, rows.take(np.arange(n_train, rows.n_samples))


@pytest.fixture(params=["ordered", "sample"])
def ends(request, judged):
    """Chances, votes and targets at the ends under several budgets."""
    ensemble, rows = judged
    budgets = [*(n * UNIT for n in (1, 2, 4, 8, 16)), None]
    walks = simulate(ensemble, rows.values, budgets, request.param)
    chances = class_probabilities(ensemble, walks)
    return ensemble, chances, class_votes(ensemble, walks), rows.targets


@pytest.mark.slow
def test_labels_err_hardly_more_than_votes(ends):
    ensemble, chances, votes, targets = ends

    labels = decide_label(ensemble, chances)

    excess = (labels != targets[:, None]).mean(0) - (votes != targets[:, None]).mean(0)
    assert excess.max() <= 0.005


@pytest.mark.slow
def test_probabilities_are_no_worse_than_the_priors(ends):
    ensemble, chances, _, targets = ends

    losses = -np.log(chances[np.arange(targets.size), :, targets]).mean(axis=0)

    prior = -np.log(np.array(ensemble.priors)[targets]).mean()
    assert losses.max() <= prior + BOUNDS[chances.shape[-1]][2]


@pytest.mark.slow
def test_probabilities_are_as_often_right_as_they_say(ends):
    _, chances, _, targets = ends

    errors = [calibration_error(one, targets) for one in chances.swapaxes(0, 1)]

    most, last, _ = BOUNDS[chances.shape[-1]]
    assert max(errors) <= most
    assert errors[-1] <= last


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_calibrated_probabilities_beat_the_prior_on_new_rows(policy):
    seen, fresh = helpful_table(150, 1), helpful_table(150, 2)
    ensemble = finish(train(seen, BoostParams(rounds=15), folds=3)).ensemble
    walks = simulate(ensemble, fresh.values, [0, 2 * UNIT, None], policy)

    chances = class_probabilities(ensemble, walks)

    chances = chances[np.arange(150), :, fresh.targets]
    losses = -np.log(chances).mean(axis=0)
    prior = -(2 * np.log(2 / 3) + np.log(1 / 3)) / 3
    assert losses[0] == pytest.approx(prior)
    assert losses[2] < losses[1] < prior
