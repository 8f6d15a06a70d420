"""Rows set aside: which ones, and what a training makes of them."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.errors import RefusedError
from askless.core.model.certificates import EARLY_RULES, N_STRATA
from askless.core.model.ensemble import BudgetRange
from askless.core.pipeline import certificates as certifying
from askless.core.pipeline.certificates import (
    UnseenRows,
    certify_early_stops,
    list_level_budgets,
    list_traces,
    set_aside,
)
from askless.core.session import machine
from askless.core.session.certificates import make_certificate
from askless.core.session.state import StopRule
from askless.core.simulation.blocks import Block
from askless.core.simulation.curves import evaluate
from askless.core.simulation.early import (
    average_early_stops,
    plan_early_stops,
    sum_early_stops,
)
from askless.core.simulation.exact import sum_weighted
from askless.core.training.params import BoostParams
from askless.core.work import run_to_end
from tests.panels import make_ladder
from tests.sessions import answer_from_row, observe, small_ensemble
from tests.small import finish, pull, table_of, train

UNIT = 1_000_000
CATALOGUE = Catalogue(tuple(Feature(f"f{idx}", cost=UNIT) for idx in range(3)))


def table(n_samples=90, seed=0, row_groups=None):
    """Three numbers; the first tells the class well, the others a little."""
    random = np.random.default_rng(seed)
    targets = np.arange(n_samples) % 2
    values = random.normal(size=(3, n_samples)) + targets * [[3.0], [1.0], [0.5]]
    return replace(table_of(values, targets, CATALOGUE), row_groups=row_groups)


def trained(dataset, share=0.4, folds=2, **options):
    params = options.pop("params", BoostParams("adaboost_bt", rounds=6))
    return finish(train(dataset, params, folds=folds, certify_share=share, **options))


def part(dataset, share, seed=0):
    return [dataset.take(idxs) for idxs in set_aside(dataset, share, seed)]


@pytest.fixture(scope="module")
def model():
    return trained(table(), certify_budgets=(2 * UNIT, UNIT, UNIT))


def test_rows_set_aside_are_no_rows_of_training():
    dataset = table()

    kept, aside = part(dataset, 0.3, seed=5)

    rows = {tuple(row) for row in dataset.values.tolist()}
    parts = [{tuple(row) for row in part.values.tolist()} for part in (kept, aside)]
    assert [len(part) for part in parts] == [63, 27]
    assert parts[0] | parts[1] == rows


def test_other_seed_sets_other_rows_aside():
    asides = [part(table(), 0.3, seed)[1].values.tolist() for seed in (1, 1, 2)]

    assert asides[0] == asides[1] != asides[2]


def test_rows_that_belong_together_stay_together_and_one_of_them_counts():
    row_groups = np.arange(90) // 3

    kept, aside = part(table(row_groups=row_groups), 0.5)

    apart = set(aside.row_groups.tolist())
    assert aside.n_samples == len(apart) == 15
    assert kept.n_samples == 45
    assert not apart & set(kept.row_groups.tolist())


def test_very_many_rows_are_thinned(monkeypatch):
    monkeypatch.setattr(certifying, "MAX_ASIDE_ROWS", 7)

    kept, aside = part(table(), 0.5)

    assert (kept.n_samples, aside.n_samples) == (45, 7)


@pytest.mark.parametrize(("n_samples", "share"), [(2, 0.5), (3, 0.1)])
def test_share_that_leaves_no_two_parts_is_refused(n_samples, share):
    with pytest.raises(RefusedError, match=r"certificate\.share"):
        set_aside(table(n_samples), share, seed=0)


@pytest.mark.slow
def test_model_counts_the_rows_set_aside(model):
    found = model.ensemble.certification

    assert (found.n_samples, found.n_guide) == (36, 54)
    assert model.card["rows_set_aside"] == 36
    assert model.card["rows"] == model.curve.n_samples == 54
    assert [level.budget for level in found.levels] == [UNIT, 2 * UNIT, None]
    assert found.levels[0].bounds == (333_334, 666_667)
    for level in found.levels:
        assert {sum(count[:N_STRATA]) for count in level.counts} == {36}
        assert {sum(one[:N_STRATA]) for one in level.guide} == {54}
        assert level.n_covered[0] == 36
        assert list(level.n_covered) == sorted(level.n_covered, reverse=True)
        assert max(level.mean_spends) <= level.mean_spend
        assert 0 <= min(level.guide_spends) <= max(level.guide_spends) <= 3 * UNIT


def test_sessions_of_the_rows_set_aside_stop_as_was_counted(model):
    _, aside = part(table(), 0.4)
    ensemble, wish = model.ensemble, StopRule(certain=False, disagreement=0.2)
    state = machine.start(ensemble, None, stop=wish)
    certificate = make_certificate(ensemble, state)

    spends, differing = [], 0
    for row in aside.values:
        stopped = play_to_advice(ensemble, state, row)
        end, _ = answer_from_row(ensemble, state, row)
        labels = [machine.forecast(ensemble, one).label for one in (stopped, end)]
        spends.append(stopped.spent)
        differing += labels[0] != labels[1]

    assert certificate.lack is None
    assert sum(spends) // 36 == certificate.mean_spend < certificate.mean_spend_whole
    assert differing == sum(stratum.n_differing for stratum in certificate.strata)


def evaluate_early(ensemble, dataset, budgets, stop):
    """Return what early stops make of the rows, under each budget."""
    block = Block(dataset.values, dataset.targets, range(dataset.n_samples))
    (weight,) = sum_weighted(dataset.weights, np.ones((dataset.n_samples, 1)))
    return [
        average_early_stops(
            plan, sum_early_stops(ensemble, plan, block, dataset.weights), weight
        )
        for plan in plan_early_stops(ensemble, budgets, stop, None, 0)
    ]


def test_early_stops_are_evaluated_as_they_were_counted(model):
    _, aside = part(table(), 0.4)
    wishes = [StopRule(disagreement=0.2), StopRule(disagreement=0.01)]

    sure, never = [
        evaluate_early(model.ensemble, aside, [None, UNIT], wish)[0] for wish in wishes
    ]

    certificate = sure.certificate
    assert sure.mean_spend == pytest.approx(certificate.mean_spend)
    assert sure.mean_spend_whole == pytest.approx(certificate.mean_spend_whole)
    n_differing = sum(stratum.n_differing for stratum in certificate.strata)
    assert sure.differing == pytest.approx(n_differing / 36)
    end = evaluate(model.ensemble, aside, [None])
    assert never.certificate.lack == "too_few_rows"
    assert never.differing == 0.0
    assert never.error == pytest.approx(end.errors_calibrated[0])
    assert never.mean_spend == never.mean_spend_whole
    assert never.mean_spend == pytest.approx(end.mean_spends[0])


def play_to_advice(ensemble, state, row):
    """Answer from a row until the session advises to stop."""
    while state.stop_reason is None:
        asked = state.next_feature_idx
        state = observe(ensemble, state, asked, "value", float(row[asked]))
    return state


def test_without_folds_there_are_label_sets_only():
    model = trained(table(), folds=0)

    state = machine.start(
        model.ensemble, None, stop=StopRule(disagreement=0.3), coverage=0.8
    )
    end, _ = answer_from_row(model.ensemble, state, [3.0, 1.0, 1.0])

    assert make_certificate(model.ensemble, state).lack == "not_shown"
    assert machine.forecast(model.ensemble, end).label_set is not None


@pytest.mark.slow
def test_progress_goes_on_to_its_end_through_validation_and_certificates():
    params = BoostParams("adaboost_bt", rounds=2)

    shares = [
        one.share for one in pull(train(table(), params, folds=2, certify_share=0.4))[0]
    ]

    assert shares == sorted(shares)
    assert max(shares[:-1]) < shares[-1] == 1.0


# Budgets.


def test_levels_are_where_sessions_begin_differently():
    ensemble = small_ensemble([2, 3, 0, 4], [(0, 1.0), (1, 1.0), (3, 1.0)])

    assert list_level_budgets(ensemble, 9) == [2, 5, 9, None]
    assert list_level_budgets(ensemble, 3) == [2, 9, None]


def test_levels_of_panels_are_those_of_panels_that_are_aimed_at():
    ensemble = small_ensemble([2, 3, 4], policy="panels")
    ladder = make_ladder(ensemble, [(0, 1), (2,)])
    # Of equal loss are all beginnings of one size; the first that fits is preferred.
    ensemble = replace(ensemble, panels=ladder)

    found = list_level_budgets(ensemble, 9)

    assert found == [2, 5, None]


def test_each_level_is_asked_by_who_asks_under_its_budget():
    ranges = (BudgetRange(1, "sample"), BudgetRange(None, "ordered"))
    ensemble = small_ensemble([1, 2, 3], ranges=ranges)
    rows = table(8)

    found = run_to_end(certify_early_stops(UnseenRows(ensemble, rows), [], (), seed=0))

    assert [(level.budget, level.policy) for level in found.levels] == [
        (1, "sample"),
        (3, "ordered"),
        (6, "ordered"),
        (None, "ordered"),
    ]
    assert len(found.rules) == len(EARLY_RULES)
    traces = list(list_traces(UnseenRows(ensemble, rows), [1, 6], ["sample"] * 2, 0))
    assert len(traces) == 2
