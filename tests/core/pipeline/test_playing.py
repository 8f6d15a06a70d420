"""Spends and questions of a model's curve: of the model itself, played."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.model.ensemble import BudgetRange
from askless.core.model.hypotheses import Stump
from askless.core.model.ladder.panels import Panel, PanelLadder
from askless.core.model.model import Curve, SpendSteps, locate_budget
from askless.core.pipeline import playing
from askless.core.pipeline.budgets import list_single_prices
from askless.core.pipeline.playing import add_model_spends
from askless.core.pipeline.validation import Validation
from askless.core.simulation.curves import evaluate
from askless.core.training.params import BoostParams
from tests.panels import make_hiding_blend, make_ladder, make_space, shorten
from tests.small import MICROS, ensemble_of, finish, table_of, train


def noisy(n_rows: int, seed: int):
    """Rows of one kind: three prices, one feature that half of the rows lack."""
    random = np.random.default_rng(seed)
    targets = np.arange(n_rows) % 2
    columns = targets + random.normal(size=(3, n_rows))
    columns[1, random.random(n_rows) < 0.5] = np.nan
    features = [Feature(f"f{idx}", cost=(idx + 1) * MICROS) for idx in range(3)]
    return table_of(columns, targets, Catalogue(tuple(features)))


@pytest.fixture(scope="module")
def model():
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch, rounds=1)
        return finish(train(noisy(80, 0), BoostParams("auto", rounds=3), folds=3))


def spending(model):
    """Return the ensemble whose sessions spend their budgets, as the curve's do."""
    return replace(model.ensemble, knees=())


def spend_at(curve: Curve, budget: int | None) -> float:
    """Return the mean spend that a curve states for any budget, in micro-units."""
    if curve.steps is None:
        return curve.mean_spends[curve.place_at(budget)]
    return curve.steps.mean_spends[locate_budget(curve.steps.budgets, budget)]


@pytest.mark.slow
def test_stated_spend_is_what_the_model_spends(model):
    curve = model.curve

    played = evaluate(spending(model), noisy(80, 0), curve.budgets)

    assert curve.n_played == 80
    assert curve.mean_spends == pytest.approx(played.mean_spends, abs=0.01)
    assert curve.max_spends == played.max_spends


def test_stated_spend_is_near_on_other_rows_of_the_kind(model):
    played = evaluate(spending(model), noisy(2000, 1), model.curve.budgets)

    assert model.curve.mean_spends == pytest.approx(played.mean_spends, rel=0.12)


def test_stated_spend_between_the_budgets_is_what_the_model_spends(model):
    limits = [*range(0, 8 * MICROS, MICROS // 4), None]

    played = evaluate(spending(model), noisy(80, 0), limits)

    stated = [spend_at(model.curve, limit) for limit in limits]
    assert stated == pytest.approx(played.mean_spends, abs=0.01)


def test_amounts_below_any_panel_pay_single_features():
    costs = [3, 2, 9, 5]
    catalogue = Catalogue(
        tuple(Feature(f"f{idx}", cost=cost) for idx, cost in enumerate(costs))
    )
    ensemble = ensemble_of([Stump(0, 0.5, (1,))], catalogue)
    ladder = make_ladder(ensemble, [[3, 0, 1, 2]], can_hide=True)

    assert list_single_prices(replace(ensemble, panels=ladder)) == [2, 3]


def test_spend_below_any_panel_is_that_of_the_single_feature_that_helps():
    features = [Feature(f"f{idx}", cost=(2, 3)[idx] * MICROS) for idx in range(2)]
    ensemble = ensemble_of([Stump(0, 0.5, (1,))], Catalogue(tuple(features)))
    space = make_space((0, 1), (), np.random.default_rng(0))
    blend = make_hiding_blend(space, 1, np.random.default_rng(0))
    panels = (
        Panel((0, 1), 0.3, frozenset(), blend, rises=(0.3, 0.1)),
        Panel((), 0.7, frozenset(), rises=()),
    )
    ladder = PanelLadder(panels, np.zeros(1), spaces=(space,))
    ensemble = replace(ensemble, panels=ladder, policy="panels")
    rows = table_of(np.ones((2, 4)), [0, 1, 0, 1], ensemble.catalogue)
    found = Validation(
        Curve((0, None), *2 * ((0.5,) * 2,), (0, 0), (0, 0), 4), (), None
    )

    curve = add_model_spends(ensemble, rows, found, 0).curve

    spends = [spend_at(curve, units * MICROS) / MICROS for units in range(6)]
    assert spends == [0, 0, 2, 2, 2, 5]


def test_curve_without_steps_states_the_spend_of_the_smaller_budget():
    curve = Curve((0, 5, None), (0.5,) * 3, (0.5,) * 3, (0.0, 4.0, 9.0), (0, 5, 9), 7)

    assert [spend_at(curve, limit) for limit in (0, 4, 5, 6, None)] == [0, 0, 4, 4, 9]


def test_steps_state_the_spend_in_between():
    steps = SpendSteps((0, 2, 5, None), (0.0, 2.0, 4.0, 9.0))
    curve = Curve(
        (0, 5, None), (0.5,) * 3, (0.5,) * 3, (0.0, 4.0, 9.0), (0, 5, 9), 7, steps=steps
    )

    assert [spend_at(curve, limit) for limit in (1, 2, 3, 5, None)] == [0, 2, 2, 4, 9]


def two_stumps():
    """Two features of a bundle and one alone, asked in this order; a plain curve."""
    features = (
        Feature("a", cost=0, group="both"),
        Feature("b", cost=0, group="both"),
        Feature("c", cost=MICROS),
    )
    catalogue = Catalogue(features, (Group("both", price=2 * MICROS),))
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(3)]
    half = (0.5,) * 3
    spends = 0.0, 1.0, 1.0
    limits = 0, 2 * MICROS, None
    curve = Curve(limits, half, half, spends, (0, 1, 1), 4)
    return ensemble_of(stumps, catalogue), Validation(curve, (), None)


def test_a_bundle_is_one_question_and_two_purchases():
    ensemble, found = two_stumps()
    rows = table_of(np.ones((3, 4)), [0, 1, 0, 1], ensemble.catalogue)

    played = add_model_spends(ensemble, rows, found, 0)

    assert played.curve.mean_spends == (0, 2 * MICROS, 3 * MICROS)
    assert played.curve.questions == (0, 1, 2)
    assert played.curve.purchases == ((0, 0, 0), (1, 1, 0), (1, 1, 1))
    assert played.curve.errors == found.curve.errors
    assert played.spends == found.curve.mean_spends
    assert [purchase.ended_after for purchase in played.purchases] == [
        (1,),
        (0, 1),
        (0, 0, 1),
    ]


def test_lists_and_questions_are_counted_by_the_weights():
    ensemble, found = two_stumps()
    plain = Catalogue(
        tuple(
            replace(feature, group=None, cost=MICROS)
            for feature in ensemble.catalogue.features
        )
    )
    ensemble = ensemble_of(ensemble.hypotheses, plain)
    columns = np.ones((3, 4))
    # Who lacks the first can pay another one.
    columns[0, :1] = np.nan
    rows = table_of(columns, [0, 1, 0, 1], plain, weights=[0.1, 0.2, 0.3, 0.4])

    found = add_model_spends(ensemble, rows, found, 0).purchases[1]

    assert found.n_lists == 2
    assert found.commonest == pytest.approx(0.9)
    assert found.ended_after == pytest.approx((0, 0, 0.9, 0.1))
    assert found.mean_spend == pytest.approx(2 * MICROS)


def test_of_many_rows_some_are_played_evenly_spaced(monkeypatch):
    monkeypatch.setattr(playing, "MAX_PLAYED", 3)
    ensemble, found = two_stumps()
    columns = np.ones((3, 9))
    columns[2, 4] = np.nan
    rows = table_of(columns, np.arange(9) % 2, ensemble.catalogue)

    played = add_model_spends(ensemble, rows, found, 0)

    assert played.curve.n_played == 3
    assert played.curve.mean_spends[-1] == pytest.approx((3 + 2 + 3) / 3 * MICROS)


def test_the_policy_that_is_kept_is_played(model):
    kept = replace(model.ensemble, ranges=(BudgetRange(None, "ordered"),))

    played = add_model_spends(kept, noisy(80, 0), Validation(model.curve, (), None), 0)

    expected = evaluate(spending(model), noisy(80, 0), model.curve.budgets, "ordered")
    assert played.curve.mean_spends == pytest.approx(expected.mean_spends, abs=0.01)
