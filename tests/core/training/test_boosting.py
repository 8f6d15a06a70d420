import json
import math
from dataclasses import astuple
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import AdaBoostClassifier

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.codes.binning import bin_values
from askless.core.table.dataset import ClassLabel, Dataset
from askless.core.training.boosting import boost, initial_weights, make_weights
from askless.core.training.params import BoostParams
from askless.core.training.rules import MAX_EDGE, RULES
from askless.core.training.shards import histograms, shards
from tests import naive_boosting
from tests.rounds import naive_run, run
from tests.small import signed_of, table_of
from tests.strategies import datasets
from tests.twins import rows_of, to_naive

UNIT = 1_000_000
GOLDEN = Path(__file__).parent / "golden" / "boosting.json"
CLASSES = (ClassLabel("0", "0"), ClassLabel("1", "1"))
NAN = float("nan")

every_rule = pytest.mark.parametrize("rule", RULES)
# adaboost_rs and adaboost_bt train as adaboost does.
every_score = pytest.mark.parametrize(
    "rule",
    ["adaboost", "adaboost_bt_greedy", "adaboost_bt_smoothed", "hybrid", "speedboost"],
)


def boosted(dataset, rule="adaboost", done=(), **params):
    return run(dataset, BoostParams(rule, **params), done)


def numbers(seed, count):
    """Pseudo-random integers that no library's next version changes."""
    state, found = seed, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        found.append(state >> 33)
    return found


def shop_table(n_samples=24, seed=1):
    """All types, a fee, a bundle, a zero cost, missing cells; no near-ties."""
    features = (
        Feature("free", cost=0),
        Feature("plain", cost=2 * UNIT),
        Feature("kind", "category", cost=UNIT, categories=("a", "b", "c")),
        Feature("flag", "boolean", cost=500_000, group="fee"),
        Feature("test", cost=3 * UNIT, group="fee"),
        Feature("left", cost=0, group="bundle"),
        Feature("right", cost=0, group="bundle"),
    )
    groups = (Group("fee", fee=UNIT), Group("bundle", price=4 * UNIT))
    targets = np.array([number % 2 for number in numbers(seed, n_samples)])
    targets[:2] = 0, 1
    columns = []
    for idx, feature in enumerate(features):
        size = {"category": 3, "boolean": 2}.get(feature.type, 9)
        raw = np.array(numbers(seed + 10 * idx + 7, n_samples))
        column = (raw + (targets * (raw % 3) if size == 9 else 0)) % size * 1.0
        column[raw % 7 == idx] = NAN
        columns.append(column)
    weights = np.array(numbers(seed + 99, n_samples), dtype=np.float64) + 2.0**30
    return Dataset(
        Catalogue(features, groups),
        CLASSES,
        np.array(columns).T.copy(),
        targets,
        weights / weights.sum(),
    )


@every_rule
@pytest.mark.parametrize("seed", [1, 2])
def test_run_equals_the_naive_run(rule, seed):
    dataset = shop_table(seed=seed)

    params = BoostParams(rule, rounds=15, switch=0.4)

    rounds = run(dataset, params)

    expected = naive_run(dataset, params)
    assert [to_naive(a.hypothesis) for a in rounds] == [a.hypothesis for a in expected]
    assert [a.spent for a in rounds] == [a.spent for a in expected]
    for name in ("edge", "alpha", "z"):
        assert [getattr(a, name) for a in rounds] == pytest.approx(
            [getattr(a, name) for a in expected], abs=1e-9
        )


@every_score
@given(dataset=datasets(), tau=st.sampled_from([0.0, 0.5, 1.0]))
def test_every_round_is_the_best_by_the_naive_formulas(rule, dataset, tau):
    params = BoostParams(rule, rounds=4, tau=tau, switch=0.5)

    rounds = run(dataset, params)

    # Rounding decides whether a stump on the very clip is perfect.
    assume(all(abs(added.edge - MAX_EDGE) > 1e-11 for added in rounds))
    choices = [to_naive(added.hypothesis) for added in rounds]
    expected = naive_run(dataset, params, choices)
    for added, twin in zip(rounds, expected, strict=True):
        assert twin.score == pytest.approx(twin.own.score, rel=1e-6, abs=1e-20)
        assert (added.edge, added.z) == pytest.approx((twin.edge, twin.z))
        assert added.spent == twin.spent


@pytest.mark.slow
@every_score
@given(dataset=datasets())
def test_normaliser_keeps_the_bound_of_schapire_and_singer(rule, dataset):
    for added in boosted(dataset, rule, rounds=6):
        assert added.z <= math.sqrt(1 - min(added.edge, MAX_EDGE) ** 2) + 1e-12


@every_rule
def test_bought_stump_has_no_edge_left_on_the_new_weights(rule):
    dataset = shop_table()
    values = np.nan_to_num(dataset.values, nan=4.0)
    dataset = Dataset(dataset.catalogue, CLASSES, values, *astuple(dataset)[3:5])
    shard = bin_values(dataset), initial_weights(dataset)
    weights = make_weights([shard], BoostParams())
    for added in boosted(dataset, rule, rounds=5):
        weights.apply(added.hypothesis, added.alpha)

        moduli, signs = (
            np.abs(signed_of(weights)).tolist(),
            dataset.signs[:, None].tolist(),
        )
        stump = to_naive(added.hypothesis)
        edge = naive_boosting.edge_of(stump, rows_of(values), moduli, signs)
        assert edge == pytest.approx(0.0, abs=1e-12)


@every_rule
def test_alpha_of_a_perfect_stump_is_clipped_and_ends_the_run(rule):
    perfect = table_of([[0, 0, 1, 1], [0, 1, 0, 1]], [0, 0, 1, 1])

    rounds = boosted(perfect, rule, rounds=9)

    assert [added.edge for added in rounds] == [1.0]
    assert rounds[0].alpha == pytest.approx(math.atanh(1 - 1e-9))


def test_run_does_not_go_on_after_a_perfect_round():
    perfect = table_of([[0, 0, 1, 1]], [0, 0, 1, 1])
    done = boosted(perfect, rounds=9)

    assert boosted(perfect, done=done, rounds=9) == []


@every_rule
@pytest.mark.parametrize(
    "columns",
    [[[1, 1, 1, 1]], [[0, 0, 1, 1]], [[NAN] * 4], [[NAN, 2, 2, NAN]]],
    ids=["constant", "useless", "empty", "constant or missing"],
)
def test_table_without_an_edge_yields_no_round(rule, columns):
    assert boosted(table_of(columns, [0, 1, 0, 1]), rule) == []


def test_table_without_features_yields_no_round():
    bare = table_of([], [0, 1])

    assert boosted(bare) == []


def test_rows_without_the_feature_keep_their_share_of_the_weight():
    # Present: 0.5 right, 0.125 wrong, hence gamma = 0.375.
    table = table_of(
        [[0, 0, 1, 1, NAN]], [0, 1, 1, 1, 1], weights=[0.25, 0.125, 0.125, 0.125, 0.375]
    )

    added = boosted(table, rounds=1)[0]

    alpha = 0.5 * math.log(1.375 / 0.625)
    z = 0.5 * math.exp(-alpha) + 0.125 * math.exp(alpha) + 0.375
    assert (added.edge, added.alpha, added.z) == pytest.approx((0.375, alpha, z))


def test_speedboost_weighs_by_the_rows_that_have_the_feature():
    table = table_of(
        [[0, 0, 1, 1, NAN]], [0, 1, 1, 1, 1], weights=[0.25, 0.125, 0.125, 0.125, 0.375]
    )

    added = boosted(table, "speedboost", rounds=1)[0]

    assert added.alpha == pytest.approx(0.5 * math.log(0.5 / 0.125))
    assert added.z == pytest.approx(0.375 + 2 * math.sqrt(0.5 * 0.125))


def test_equal_features_tie_to_the_first():
    column = [0, 1, 2, 3, 4]
    twins = table_of([[9] * 5, column, column], [0, 1, 0, 1, 1])

    assert boosted(twins, rounds=1)[0].hypothesis.feature_idx == 1


def test_run_stops_after_its_rounds():
    rounds = boosted(shop_table(), rounds=7)

    assert [added.number for added in rounds] == [1, 2, 3, 4, 5, 6, 7]


def chunky_table(n_classes):
    """Several chunks of rows, features packed and alone."""
    n_samples = 5000
    generator = np.random.default_rng(n_classes)
    targets = np.arange(n_samples) % n_classes
    columns = [
        np.floor((generator.normal(size=n_samples) + targets / 2) * scale)
        for scale in (0.5, 1, 2, 30, 60, 200) * 4
    ]
    for column in columns[::2]:
        column[generator.random(n_samples) < 0.1] = NAN
    weights = generator.random(n_samples) + 0.1
    weights /= weights.sum()
    return table_of(columns, targets, n_classes=n_classes, weights=weights)


def run_learner(learner, n_classes, done=()):
    """Twelve rounds over all rows and features, or what is left of them."""
    params = BoostParams("speedboost", rounds=12, learner=learner, leaves=4, factors=2)
    rounds = run(chunky_table(n_classes), params, done)
    assert len(rounds) == 12 - len(done)
    return rounds


every_learner = pytest.mark.parametrize("learner", ["stump", "tree", "product"])


@pytest.mark.slow
@every_learner
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rounds_are_the_same_to_the_bit_whatever_the_number_of_threads(
    learner, n_classes, monkeypatch
):
    serial = run_learner(learner, n_classes)
    for name in ("PARALLEL_SUMS", "PARALLEL_CELLS"):
        monkeypatch.setattr(histograms, name, 0)
    monkeypatch.setattr(shards, "PARALLEL_ROWS", 0)
    most = numba.config.NUMBA_NUM_THREADS
    try:
        for n_threads in sorted({1, min(2, most)}):
            numba.set_num_threads(n_threads)
            assert repr(run_learner(learner, n_classes)) == repr(serial)
    finally:
        numba.set_num_threads(most)


def test_weights_given_are_not_changed():
    dataset = shop_table()
    signed = initial_weights(dataset)
    before = signed.copy()

    shards = [(bin_values(dataset), signed)]
    list(boost(shards, dataset.catalogue, BoostParams(rounds=2)))

    assert signed.tolist() == before.tolist()


class NaiveStump(ClassifierMixin, BaseEstimator):
    """The naive best stump as a scikit-learn classifier of 0 and 1."""

    def fit(self, X, y, sample_weight):
        signs = (2 * y[:, None] - 1).tolist()
        self.classes_ = np.unique(y)
        bests = [
            naive_boosting.best_split(
                X.tolist(), sample_weight[:, None].tolist(), signs, idx, 0
            )
            for idx in range(X.shape[1])
        ]
        self.feature_idx_ = max(range(len(bests)), key=lambda i: (bests[i].edge, -i))
        self.best_ = bests[self.feature_idx_]
        return self

    def predict(self, X):
        is_above = X[:, self.feature_idx_] > self.best_.cut
        return np.where(is_above == (self.best_.votes[0] > 0), 1, 0)


def test_errors_and_votes_equal_those_of_scikit_learn_with_the_same_stumps():
    dataset = shop_table()
    values = np.ascontiguousarray(dataset.values[:, [0, 1, 4, 5, 6]])
    values[np.isnan(values)] = 4.0
    table = Dataset(
        Catalogue(tuple(Feature(name) for name in "abcde")),
        CLASSES,
        values,
        dataset.targets,
        dataset.weights,
    )
    peer = AdaBoostClassifier(NaiveStump(), n_estimators=10)
    peer.fit(values, dataset.targets, sample_weight=dataset.weights)

    rounds = boosted(table, rounds=10)

    errors = [(1 - added.edge) / 2 for added in rounds]
    assert errors == pytest.approx(peer.estimator_errors_.tolist())
    # SAMME's vote is ln((1 - e)/e), twice the alpha of AdaBoost.
    alphas = [2 * added.alpha for added in rounds]
    assert alphas == pytest.approx(peer.estimator_weights_.tolist())
    idxs = [added.hypothesis.feature_idx for added in rounds]
    assert idxs == [estimator.feature_idx_ for estimator in peer.estimators_]


def plain(stump):
    (vote,) = stump.votes
    return [stump.feature_idx, stump.cut, vote, stump.is_category]


@pytest.fixture(scope="session")
def golden_runs():
    table = shop_table(n_samples=40, seed=4)
    return {
        rule: [
            {"stump": plain(added.hypothesis), "spent": added.spent}
            | {name: getattr(added, name) for name in ("edge", "alpha", "z")}
            for added in boosted(table, rule, rounds=20, switch=0.3)
        ]
        for rule in RULES
    }


@pytest.mark.slow
def test_whole_runs_are_as_they_were(golden_runs, is_rewriting):
    if is_rewriting:
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(json.dumps(golden_runs, indent=1) + "\n", encoding="utf-8")
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))

    assert golden_runs.keys() == golden.keys()
    for rule, rounds in golden.items():
        assert golden_runs[rule] == [
            round
            | {name: pytest.approx(round[name]) for name in ("edge", "alpha", "z")}
            for round in rounds
        ]
