"""Sessions at other prices than those of training."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.catalogue.price_lists import PriceList
from askless.core.model.ensemble import BudgetRange, Ensemble
from askless.core.model.ladder.stopping import Stopping, StoppingRule
from askless.core.session import machine
from askless.core.session.policies import list_serving_policies
from askless.core.simulation.simulate import simulate
from tests import strategies
from tests.levels import at_most
from tests.panels import make_ladder, with_panels
from tests.sessions import BUNDLE, FEE, answer_from_row, small_ensemble
from tests.small import MICROS


@st.composite
def priced(draw) -> tuple[Ensemble, PriceList]:
    """An ensemble, and a price list that names all that it has."""
    ensembles = strategies.stump_ensembles()
    ensemble = draw(ensembles | with_panels(ensembles))
    catalogue = ensemble.catalogue
    costs = {
        feature.name: 0 if is_bundled else draw(strategies.amounts())
        for feature, is_bundled in zip(
            catalogue.features, catalogue.is_bundled, strict=True
        )
    }
    groups = tuple(
        replace(group, price=draw(strategies.amounts()))
        if group.is_bundle
        else replace(group, fee=draw(strategies.amounts()))
        for group in catalogue.groups
    )
    return ensemble, PriceList(costs, groups)


@pytest.mark.slow
@at_most(40)
@given(priced(), st.data())
def test_session_is_that_of_an_ensemble_which_always_had_these_prices(made, data):
    ensemble, prices = made
    budget = data.draw(strategies.budgets())
    policy = data.draw(st.sampled_from(list_serving_policies(ensemble)))
    row = data.draw(strategies.tables(ensemble.catalogue, max_rows=1))[0]
    # Its arrays are kept, were they found before or not.
    simulate(ensemble, row[None, :], [budget], policy)

    moved = ensemble.at_prices(prices, "prices")
    anew = replace(ensemble, catalogue=moved.catalogue)
    ends = [
        answer_from_row(one, machine.start(one, budget, 7, policy=policy), row)
        for one in (moved, anew)
    ]

    assert ends[0] == ends[1]
    assert moved.catalogue.costs.tolist() == list(prices.costs.values())


def test_charges_questions_and_plans_are_in_the_new_prices():
    ensemble = small_ensemble([10, 40, 30, 0], members={1: FEE, 2: FEE, 3: BUNDLE})
    costs = {"f0": 90, "f1": 5, "f2": 3}
    groups = (replace(FEE, fee=2), replace(BUNDLE, price=4))

    moved = ensemble.at_prices(PriceList(costs, groups), "prices")
    state, asked = answer_from_row(moved, machine.start(moved, 99), [1.0] * 4)

    assert asked == [0, 1]
    assert [charge.amount for charge in state.charges] == [90, 7]
    assert ensemble.catalogue.costs.tolist() == [10, 40, 30, 0]


def test_ranges_of_budgets_move_with_the_sum_of_all_prices():
    ranges = (BudgetRange(20, "sample"), BudgetRange(None, "ordered"))
    ensemble = small_ensemble([10, 30], ranges=ranges)

    half = ensemble.at_prices(PriceList({"f0": 1, "f1": 19}), "prices")
    free = ensemble.at_prices(PriceList({"f0": 0, "f1": 0}), "prices")
    back = free.at_prices(PriceList({"f0": 5, "f1": 5}), "prices")

    ends = [[one.up_to for one in made.ranges] for made in (half, free, back)]
    assert ends == [[10, None], [0, None], [0, None]]


def test_rules_for_going_on_move_with_the_sum_of_all_prices():
    nothing = np.zeros(1)
    rule = StoppingRule(*(0.5, 8.0, 0.25, np.array([0]), nothing, np.array([6])))
    ensemble = small_ensemble([10, 30])
    ladder = replace(
        make_ladder(ensemble, [[0, 1]]), stopping=Stopping(nothing, (rule,))
    )
    ensemble = replace(ensemble, panels=ladder)

    half = ensemble.at_prices(PriceList({"f0": 1, "f1": 19}), "prices")
    free = ensemble.at_prices(PriceList({"f0": 0, "f1": 0}), "prices")

    [moved] = half.panels.stopping.rules
    assert (moved.rate, moved.spend, moved.error) == (1.0, 4.0, 0.25)
    assert moved.prices.tolist() == [3]
    assert free.panels == ladder


@given(strategies.stump_ensembles(), st.integers(1, 5), st.data())
def test_prices_and_budget_in_one_proportion_change_nothing(ensemble, factor, data):
    catalogue = ensemble.catalogue
    costs = {feature.name: feature.cost * factor for feature in catalogue.features}
    groups = tuple(
        replace(group, price=group.price * factor)
        if group.is_bundle
        else replace(group, fee=group.fee * factor)
        for group in catalogue.groups
    )
    values = data.draw(strategies.tables(catalogue))
    budget = data.draw(st.integers(0, 20 * MICROS))

    moved = ensemble.at_prices(PriceList(costs, groups), "prices")
    before = simulate(ensemble, values, [budget])
    after = simulate(moved, values, [factor * budget])

    assert np.array_equal(before.ranks, after.ranks)
    assert np.array_equal(before.margins, after.margins)
    assert np.array_equal(before.spent * factor, after.spent)
