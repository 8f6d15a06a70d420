"""Rounds, tau and switch chosen on rows held out for it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from askless.app.documents.model.model import model_to_json
from askless.app.documents.spec.spec import read_spec
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.codes.binning import bin_values
from askless.core.codes.folds import split_rows
from askless.core.errors import RefusedError
from askless.core.model.hypotheses import Stump
from askless.core.pipeline import choosing
from askless.core.pipeline.choosing import (
    AUTO_ROUNDS,
    SWITCHES,
    TAUS,
    choose_parameters,
    choose_rounds,
    list_parameter_settings,
)
from askless.core.selection.params import SelectionParams
from askless.core.simulation.curves import evaluate
from askless.core.table.dataset import Dataset
from askless.core.training.algorithms import make_ensemble
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round
from tests.rounds import run
from tests.small import pull, table_of, train

UNIT = 1_000_000


def noisy(n_rows=120, n_classes=2, seed=0) -> Dataset:
    """Six features of unlike price, the dear ones telling more, and much noise."""
    generator = np.random.default_rng(seed)
    values = generator.standard_normal((n_rows, 6)).round(2)
    score = values @ np.arange(6.0) + 4 * generator.standard_normal(n_rows)
    cuts = np.quantile(score, np.arange(1, n_classes) / n_classes)
    features = (Feature(f"f{i}", cost=(1 + i) * UNIT) for i in range(6))
    targets = np.searchsorted(cuts, score)
    return table_of(values.T, targets, Catalogue(tuple(features)), n_classes)


def end_of(generator):
    """What a generator returns, and how often it has yielded."""
    yielded, returned = pull(generator)
    return returned, len(yielded)


def held_out_errors(dataset, params, budgets, lengths=None):
    """Errors of one choice on the rows that tuning holds out, after some rounds."""
    seen, unseen = split_rows(dataset, params.seed)
    training = dataset.take(seen)
    rounds = run(training, params)
    ensemble = make_ensemble(training, params, rounds)
    return [
        evaluate(
            replace(ensemble, hypotheses=some, alphas=ensemble.alphas[: len(some)]),
            dataset.take(unseen),
            budgets,
            "ordered",
        ).errors
        for some in (
            ensemble.hypotheses[:length]
            for length in lengths or range(1, len(rounds) + 1)
        )
    ]


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rounds_are_the_fewest_of_least_held_out_error(n_classes):
    dataset = noisy(n_classes=n_classes)
    params = BoostParams("adaboost", rounds=25)

    chosen, n_yields = end_of(choose_parameters(dataset, params, frozenset({"rounds"})))

    errors = np.array(held_out_errors(dataset, params, (None,)))[:, 0]
    assert chosen.params == replace(params, rounds=int(np.argmin(errors.round(12))) + 1)
    assert n_yields == 25


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "auto"),
    [("adaboost_bt_smoothed", {"tau"}), ("hybrid", {"tau", "switch"})],
)
def test_choice_has_the_least_mean_error_over_budgets(algorithm, auto):
    dataset = noisy()
    params = BoostParams(algorithm, rounds=12)
    choices = list_parameter_settings(params, sorted(auto))
    budgets = [21 * UNIT * part // 12 for part in range(1, 13)]

    chosen, _ = end_of(choose_parameters(dataset, params, frozenset(auto)))

    # Twelve rounds of the first choice read all six features: 21 units.
    means = [
        np.mean(held_out_errors(dataset, choice, budgets, [12])[0])
        for choice in choices
    ]
    assert chosen.params == choices[int(np.argmin(np.round(means, 12)))]


def test_defaults_are_tried_first():
    first, *others = list_parameter_settings(BoostParams("hybrid"), ["tau", "switch"])

    assert first == BoostParams("hybrid")
    assert len(others) == len(TAUS) * len(SWITCHES) - 1


def test_votes_that_cancel_but_for_rounding_are_a_tie_while_rounds_are_chosen():
    rows = np.ones((3, 1))
    table = replace(
        noisy(3),
        catalogue=Catalogue((Feature("f"),)),
        values=rows,
        targets=np.array([0, 0, 1]),
    )
    held_out = replace(table, targets=np.array([0, 0, 0]))
    # 0.1 + 0.2 - 0.3 is 5.6e-17; the tie goes to the first class, which is larger.
    votes = [(0.1, 1), (0.2, 1), (0.3, -1)]
    rounds = [
        Round(number, Stump(0, 0.5, (vote,)), 0.1, alpha, 1.0, UNIT)
        for number, (alpha, vote) in enumerate(votes, start=1)
    ]

    assert choose_rounds(table, held_out, rounds) == 3


def test_table_is_binned_once_however_many_choices_are_tried(monkeypatch):
    binned = []
    monkeypatch.setattr(
        choosing,
        "bin_values",
        lambda dataset: binned.append(dataset) or bin_values(dataset),
    )

    end_of(
        choose_parameters(
            noisy(), BoostParams("hybrid", rounds=2), frozenset({"tau", "switch"})
        )
    )

    assert len(binned) == 1


def test_nothing_is_tried_for_an_algorithm_that_does_not_know_the_parameter():
    params = BoostParams("adaboost_bt_greedy", rounds=5)

    found, n_yields = end_of(
        choose_parameters(noisy(), params, frozenset({"tau", "switch"}))
    )

    assert (found.params, n_yields) == (params, 0)


@pytest.mark.parametrize(("n_row_groups", "folds"), [(1, 0), (2, 2)])
def test_rows_that_all_belong_together_are_refused(n_row_groups, folds):
    dataset = replace(noisy(), row_groups=np.arange(120) % n_row_groups)
    params = BoostParams("hybrid", rounds=3)
    auto = frozenset({"tau", "rounds"})

    with pytest.raises(RefusedError, match="two groups of rows") as caught:
        end_of(train(dataset, params, folds=folds, auto=auto))

    assert [refusal.field for refusal in caught.value.refusals] == ["params.rounds"]


def test_two_units_are_enough_to_choose():
    dataset = replace(noisy(), row_groups=np.arange(120) % 2)

    chosen, _ = end_of(
        choose_parameters(dataset, BoostParams(rounds=3), frozenset({"rounds"}))
    )

    assert 1 <= chosen.params.rounds <= 3


def test_card_tells_no_choice_where_no_feature_was_selected():
    dataset = noisy(40)
    dataset = replace(dataset, values=np.zeros_like(dataset.values))
    auto = frozenset({"rounds"})

    model, _ = end_of(
        train(dataset, BoostParams(), folds=0, auto=auto, selection=SelectionParams())
    )

    assert "chosen" not in model.card


def test_table_without_any_stump_gets_one_round():
    dataset = replace(noisy(), values=np.zeros((120, 6)))
    auto = frozenset({"rounds", "tau"})

    chosen, n_yields = end_of(choose_parameters(dataset, BoostParams(rounds=5), auto))

    assert chosen.params == BoostParams(rounds=1)
    assert n_yields == 0


@pytest.mark.slow
def test_interrupted_training_comes_out_the_same_and_tells_what_was_chosen():
    dataset, params = noisy(60), BoostParams(rounds=6)
    auto = frozenset({"rounds", "tau"})
    steps, whole = pull(train(dataset, params, folds=2, auto=auto))
    expected = json.dumps(model_to_json(whole))
    shares = [step.share for step in steps]

    # While choosing, where that ends, and in each fold.
    for stop in range(0, len(steps), len(steps) // 5):
        done = {}
        running = train(dataset, params, folds=2, auto=auto)
        for _ in range(stop):
            progress = next(running)
            if progress.added is not None:
                done.setdefault(progress.part, []).append(progress.added)
        again, _ = end_of(train(dataset, params, folds=2, auto=auto, done=done))
        assert json.dumps(model_to_json(again)) == expected

    assert shares == sorted(shares)
    assert shares[-1] <= 1.0
    assert whole.card["chosen"] == {
        "rounds": whole.params["rounds"],
        "tau": whole.params["tau"],
    }
    assert len(whole.ensemble.hypotheses) <= whole.params["rounds"]


def test_spec_names_what_is_to_be_chosen():
    spec = read_spec(
        {
            "target": "y",
            "algorithm": "hybrid",
            "params": {"rounds": "auto", "tau": "auto", "switch": 0.2},
        }
    )

    assert spec.auto == {"rounds", "tau"}
    assert spec.boost == BoostParams("hybrid", rounds=AUTO_ROUNDS, switch=0.2)


@pytest.mark.parametrize(
    ("algorithm", "name"),
    [
        ("adaboost", "tau"),
        ("adaboost_bt_smoothed", "switch"),
        ("random_forest", "rounds"),
        ("cascade", "rounds"),
    ],
)
def test_what_an_algorithm_does_not_choose_is_refused(algorithm, name):
    raw = {"target": "y", "algorithm": algorithm, "params": {name: "auto"}}

    with pytest.raises(RefusedError) as caught:
        read_spec(raw)

    assert [refusal.field for refusal in caught.value.refusals] == [f"params.{name}"]


def test_auto_is_for_three_parameters_only():
    with pytest.raises(RefusedError, match=r"params\.leaves"):
        read_spec({"target": "y", "params": {"leaves": "auto"}})
