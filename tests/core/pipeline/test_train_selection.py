"""Trainings that select their features first."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from askless.app.documents.model.model import model_to_json
from askless.app.documents.spec.spec import read_spec
from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.codes.folds import deal_strata
from askless.core.errors import RefusedError
from askless.core.model.model import Model
from askless.core.pipeline.check import check_training
from askless.core.selection.params import SelectionParams
from askless.core.selection.search import select_subset, selection_bytes
from askless.core.selection.subset import extend_subset, make_subset
from askless.core.selection.table import make_selection_table
from askless.core.session import machine
from askless.core.simulation.simulate import simulate
from askless.core.training.params import BoostParams
from tests.documents import through_json
from tests.small import finish, pull, table_of, train

# One of each way to grow an ensemble; rules differ in how they weigh rows alone, and
# `auto` is `panels` (test_auto.py).
GROWN = ("panels", "adaboost_bt_smoothed", "cascade", "online", "random_forest")
QUICK = SelectionParams(rounds=5, n_neighbours=5)
UNIT = 1_000_000


def telling(n_samples=100, seed=0):
    """A feature of noise, two that tell the class together, and a category of noise."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(3, n_samples))
    targets = x[1] + x[2] + 0.5 * generator.normal(size=n_samples) > 0
    features = (
        Feature("noise", cost=UNIT),
        Feature("one", cost=2 * UNIT, group="g"),
        Feature("other", cost=3 * UNIT, group="g"),
        Feature("colour", "category", cost=0, categories=("a", "b", "c")),
    )
    catalogue = Catalogue(features, (Group("g", fee=7 * UNIT),))
    colours = generator.integers(0, 3, n_samples)
    return table_of([*x, colours], targets, catalogue)


def useless(n_samples=40):
    """Two features that tell nothing, and 3 rows of 5 in the second class."""
    targets = np.tile([0, 0, 1, 1, 1], n_samples // 5)
    return table_of([np.full(n_samples, 7.0), np.arange(n_samples) % 2], targets)


def trained(dataset, params=None, **others) -> Model:
    options = {"selection": QUICK, "folds": 0} | others
    return pull(train(dataset, params or BoostParams(rounds=4), **options))[1]


def selected_on(dataset, params=QUICK):
    return finish(select_subset(dataset, params))


def used(model):
    return np.flatnonzero(model.ensemble.is_used).tolist()


# What is read, and what is told.


@pytest.mark.usefixtures("short_panels")
@pytest.mark.slow
@pytest.mark.parametrize("algorithm", GROWN)
def test_no_algorithm_reads_a_feature_that_was_not_selected(algorithm):
    params = BoostParams(algorithm, rounds=4, stages=1, false_alarm=1.0)
    dataset = telling()

    model = trained(dataset, params)

    names = [feature.name for feature in model.ensemble.catalogue.features]
    assert names == [feature.name for feature in dataset.catalogue.features]
    assert model.ensemble.hypotheses
    assert set(used(model)) <= {1, 2}
    assert through_json(model) == model


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "search"), [("stump", "lazy"), ("tree", "ucb"), ("product", "all")]
)
def test_no_learner_reads_a_feature_that_was_not_selected(learner, search):
    params = BoostParams(rounds=4, learner=learner, search=search, search_size=1)

    model = trained(telling(), params)

    assert len(model.ensemble.hypotheses) == 4
    assert set(used(model)) <= {1, 2}


@pytest.mark.slow
def test_card_tells_the_subset_its_cost_and_the_path():
    found = selected_on(telling())

    whole = trained(telling()).card

    # Counted before the columns that are not selected are blanked.
    assert whole["missing_cells"] == 0
    card = whole["selection"]
    assert card["features"] == ["one", "other"] or card["features"] == ["other", "one"]
    assert card["cost_micros"] == (2 + 3 + 7) * UNIT
    assert (card["method"], card["learner"], card["rounds"]) == ("fs2boost", "knn", 5)
    assert (card["n_neighbours"], card["significance"]) == (5, 0.05)
    told = [card["empty_value"], card["value"], card["accuracy"], card["hypotheses"]]
    assert told == pytest.approx(
        [found.empty_value, found.value, found.accuracy, found.n_hypotheses]
    )
    assert [step["is_taken"] for step in card["steps"]] == [True, True, False]
    first = card["steps"][0]
    assert first["feature"] == card["features"][0]
    assert first["candidates"][first["feature"]] == first["value"]
    assert first["gain"] == pytest.approx(found.steps[0].gain)
    assert first["needed"] == pytest.approx(found.steps[0].needed)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["bagging", "random_forest"])
def test_out_of_bag_error_is_not_told_of_selected_features(algorithm):
    """The selection has seen the rows that each tree left out."""
    params = BoostParams(algorithm, rounds=4)

    plain = trained(telling(), params, selection=None).card

    assert "out_of_bag_error" not in trained(telling(), params).card
    assert "out_of_bag_error" in plain
    assert "selection" not in plain


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sfs", "fs2boost"])
def test_stumps_select_by_each_method(method):
    params = replace(QUICK, method=method, learner="stump")

    card = trained(telling(), selection=params).card["selection"]

    assert {"one", "other"} <= set(card["features"])


def test_several_classes_are_selected_for():
    generator = np.random.default_rng(5)
    targets = generator.integers(0, 3, 90)
    columns = [generator.integers(0, 2, 90), targets == 0, targets == 2]

    model = trained(table_of(columns, targets, n_classes=3))

    assert used(model) == [1, 2]


# Honest figures.


def test_selection_of_a_fold_sees_its_training_rows_only():
    """A column is the class in one fold and noise elsewhere.

    It is selected where that fold is trained on, and not where it is held out.
    """
    generator = np.random.default_rng(3)
    targets = np.tile([0, 1], 60)
    dataset = table_of([np.zeros(120)], targets)
    held, other = deal_strata(dataset, 2, seed=0)
    leaking = generator.permutation(targets)
    leaking[held] = targets[held]
    dataset = table_of([leaking], targets)
    stump = replace(QUICK, learner="stump")
    assert selected_on(dataset.take(held), stump).feature_idxs == (0,)
    assert selected_on(dataset.take(other), stump).feature_idxs == ()

    progress, model = pull(
        train(dataset, BoostParams(rounds=3), folds=2, selection=stump)
    )

    parts_with_rounds = {share.part for share in progress if share.added is not None}
    assert parts_with_rounds == {1, 2}
    assert model.card["selection"]["features"] == ["f0"]
    # Half of the rows are judged by a model that may read nothing; this one reads f0.
    assert model.curve.mean_spends[-1] == UNIT


@pytest.mark.slow
def test_shuffled_classes_give_a_curve_no_better_than_chance():
    """Selecting on all rows would pick the columns that fit held-out rows by luck."""
    generator = np.random.default_rng(0)
    targets = np.tile([0, 1], 30)
    dataset = table_of(generator.normal(size=(30, 60)), targets)
    params = replace(QUICK, method="sfs", n_neighbours=3)

    model = trained(dataset, BoostParams(rounds=10), selection=params, folds=3)

    assert model.card["selection"]["accuracy"] > 0.65
    assert model.curve.errors[-1] > 0.45


# Nothing selected.


@pytest.mark.usefixtures("short_panels")
@pytest.mark.slow
@pytest.mark.parametrize("algorithm", GROWN)
def test_empty_subset_asks_nothing_and_says_the_majority(algorithm):
    params = BoostParams(algorithm, rounds=4, false_alarm=0.0)

    model = trained(useless(), params, folds=2)

    ensemble = model.ensemble
    assert ensemble.hypotheses == ()
    card = model.card["selection"]
    assert (card["features"], card["cost_micros"]) == ([], 0)
    assert card["value"] == card["empty_value"] == pytest.approx(2 * np.sqrt(0.24))
    state = machine.start(ensemble, None)
    assert machine.next_question(ensemble, state) is None
    forecast = machine.forecast(ensemble, state)
    assert forecast.label == 1
    assert forecast.probabilities == pytest.approx((0.4, 0.6))
    assert model.curve.errors == pytest.approx([0.4] * len(model.curve.errors))
    assert set(model.curve.max_spends) == {0}
    assert through_json(model) == model


def test_rows_of_an_empty_cascade_are_walked():
    ensemble = trained(useless(), BoostParams("cascade", rounds=3)).ensemble

    walks = simulate(ensemble, useless().values, [0, None])

    assert walks.spent.sum() == 0


# Progress and interruption.


@pytest.mark.slow
def test_progress_comes_at_every_candidate_and_rises_to_one():
    progress, _ = pull(
        train(telling(), BoostParams(rounds=5), folds=2, selection=QUICK)
    )

    shares = [share.share for share in progress]
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] == 1.0
    first = [
        share.added is None
        for share in progress
        if share.part == 0 and share.tested is None
    ]
    assert sum(first) == 4 + 3 + 2
    assert first == sorted(first, reverse=True)


# Without a selection: test_train_baselines.py.
@pytest.mark.full
@pytest.mark.usefixtures("short_panels")
@pytest.mark.slow
@pytest.mark.parametrize("algorithm", GROWN)
def test_share_is_one_at_most(algorithm):
    params = BoostParams(algorithm, rounds=4, stages=3, false_alarm=1.0)

    progress, _ = pull(train(telling(), params, folds=2, selection=QUICK))

    shares = [share.share for share in progress]
    assert shares == sorted(shares)
    assert shares[-1] <= 1.0


@cache
def undisturbed(algorithm, method):
    params = BoostParams(algorithm, rounds=3, stages=2, false_alarm=1.0)
    chosen = replace(QUICK, method=method)
    return params, chosen, pull(train(telling(), params, folds=2, selection=chosen))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "method"),
    [
        ("adaboost_bt_smoothed", "fs2boost"),
        ("random_forest", "ifs2boost"),
        ("cascade", "sfs"),
    ],
)
def test_training_stopped_anywhere_goes_on_to_the_same_bytes(algorithm, method):
    params, chosen, (progress, model) = undisturbed(algorithm, method)
    text = json.dumps(model_to_json(model))

    # What goes on knows the rounds alone: where a run stops between two is the same.
    made = [share for share in progress if share.added is not None]
    # After the first and the last round of a part, and within each.
    for n_stored in range(0, len(made) + 1, 2):
        done = {}
        for one in made[:n_stored]:
            done.setdefault(one.part, []).append(one.added)
        rest, resumed = pull(
            train(telling(), params, folds=2, selection=chosen, done=done)
        )

        assert json.dumps(model_to_json(resumed)) == text, n_stored
        n_made = sum(item.added is not None for item in rest)
        assert n_stored + n_made == len(made)


@pytest.mark.slow
def test_finished_fold_selects_nothing_again():
    options = {"folds": 2, "selection": QUICK}
    progress, _ = pull(train(telling(), BoostParams(rounds=3), **options))
    rounds = [
        share.added for share in progress if share.part == 0 and share.added is not None
    ]

    rest, _ = pull(train(telling(), BoostParams(rounds=3), **options, done={0: rounds}))

    assert rest == [share for share in progress if share.part > 0 or share.tested]


def test_finished_whole_selects_again_for_its_card():
    options = {"folds": 0, "selection": QUICK}
    progress, model = pull(train(telling(), BoostParams(rounds=3), **options))
    rounds = [share.added for share in progress if share.added is not None]

    rest, resumed = pull(
        train(telling(), BoostParams(rounds=3), **options, done={0: rounds})
    )

    assert [item.added for item in rest] == [None] * len(rest)
    assert rest
    assert resumed == model


def test_not_pulling_cancels_a_selection():
    training = train(telling(), BoostParams(rounds=3), selection=QUICK)

    first = next(training)
    training.close()

    assert first.added is None


def test_several_classes_in_one_row_are_refused():
    targets = np.eye(2, dtype=np.int64)[telling().targets]

    with pytest.raises(RefusedError, match="target: must be one class per row"):
        trained(replace(telling(), targets=targets))


# Memory.


def test_distances_of_earlier_subsets_are_let_go():
    subset = make_subset(make_selection_table(telling()))
    subsets = [subset]
    for idx in range(3):
        subsets.append(extend_subset(subsets[-1], idx))
    expected = extend_subset(subsets[2], 2).distances

    subsets[-1].settle()

    assert ["distances" in vars(subset) for subset in subsets] == [False] * 3 + [True]
    np.testing.assert_array_equal(subsets[-1].distances, expected)


def test_selection_that_does_not_fit_the_memory_is_refused():
    columns = {"x": np.arange(900.0), "y": np.array(["a", "b"] * 450, object)}
    spec = read_spec({"target": "y", "algorithm": "adaboost", "selection": {}})
    needed = selection_bytes(900)

    with pytest.raises(RefusedError, match="table: training must fit the memory"):
        check_training(columns, spec, needed - 1)

    assert check_training(columns, spec, needed).dataset.n_samples == 900
    assert check_training(columns, replace(spec, selection=None), needed - 1)


# Specs.


@pytest.mark.parametrize("raw", [{}, {"selection": None}])
def test_spec_without_a_selection_has_none(raw):
    assert read_spec({"target": "y"} | raw).selection is None


def test_empty_selection_takes_the_defaults():
    assert read_spec({"target": "y", "selection": {}}).selection == SelectionParams()


def test_selection_is_read():
    raw = {
        "method": "ifs2boost",
        "learner": "stump",
        "rounds": 7,
        "n_neighbours": 3,
        "significance": 0.2,
    }

    assert read_spec({"target": "y", "selection": raw}).selection == SelectionParams(
        **raw
    )


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ([], "selection"),
        ({"k": 3}, "selection.k"),
        ({"method": "best"}, "selection.method"),
        ({"learner": "tree"}, "selection.learner"),
        ({"rounds": 10_001}, "selection.rounds"),
        ({"n_neighbours": 0}, "selection.n_neighbours"),
        ({"significance": 0}, "selection.significance"),
        ({"significance": 1}, "selection.significance"),
        ({"significance": float("nan")}, "selection.significance"),
    ],
)
def test_broken_rule_names_its_field(raw, field):
    with pytest.raises(RefusedError) as caught:
        read_spec({"target": "y", "selection": raw})

    assert {refusal.field for refusal in caught.value.refusals} == {field}
