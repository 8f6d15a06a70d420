"""Rows that follow a rule feature by feature spend and err as their sessions do."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.model.ladder.blends import to_chances
from askless.core.model.ladder.stopping import (
    Stopping,
    StoppingRule,
    least_expected_costs,
)
from askless.core.panels.stopping import (
    NO_WAY,
    Walkers,
    follow_rule,
    make_steps_to,
    preferred_panel,
    price_transitions,
)
from askless.core.simulation.simulate import simulate
from tests.panels import make_ladder
from tests.sessions import BUNDLE, FEE, bill_by_call, small_ensemble

N_ROWS = 12
MEMBERS = {1: FEE, 2: FEE, 3: BUNDLE, 4: BUNDLE}


def ladder_of(seed: int, can_hide: bool = False):
    """Panels of five features: one alone, two with a fee, two of a bundle."""
    random = np.random.default_rng(seed)
    ensemble = small_ensemble([3, 1, 2, 0, 0], members=MEMBERS, policy="adaptive")
    orders = [random.permutation(5)[: random.integers(1, 6)].tolist() for _ in range(2)]
    ensemble = bill_by_call(ensemble, np.flatnonzero(random.random(5) < 0.5).tolist())
    ladder = make_ladder(ensemble, orders, seed, can_hide)
    # Any feature may be lacking: a session never leaves its way then.
    panels = tuple(
        replace(panel, may_lack=frozenset(panel.feature_idxs))
        for panel in ladder.panels
    )
    values = random.normal(size=(N_ROWS, 5))
    values[random.random(values.shape) < 0.25] = np.nan
    return replace(ensemble, panels=replace(ladder, panels=panels)), values, random


def draw_rule(ensemble, random):
    """A rule of ways that there are."""
    panels = ensemble.panels.panels
    ways = price_transitions(ensemble.catalogue, panels)
    targets = np.array(
        [
            random.choice([n, *np.flatnonzero(row != NO_WAY)])
            for n, row in enumerate(ways)
        ]
    )
    thresholds = random.choice([-1.0, 0.1, 0.3, 0.45], len(panels))
    prices = np.maximum(ways[np.arange(len(panels)), targets], 0)
    return StoppingRule(0.0, 0.0, 0.5, targets, thresholds, prices)


def walk_sessions(ensemble, values, rule):
    """What real sessions of the rule spend, and which panel predicts at their ends."""
    errors = np.full(len(ensemble.panels.panels), 0.5)
    stopping = Stopping(errors, (rule,))
    ladder = replace(ensemble.panels, stopping=stopping)
    walks = simulate(replace(ensemble, panels=ladder), values, [None], "adaptive")
    return walks.spent[:, 0], walks.marks[:, 0]


def walkers_of(ensemble, values):
    """Rows whose error cost at the end is the number of the panel that predicts."""
    ladder = ensemble.panels
    logits = [panel.logits(values, ladder.starts) for panel in ladder.panels]
    return Walkers(
        ensemble.catalogue,
        ladder.panels,
        np.isnan(values),
        least_expected_costs(to_chances(np.array(logits)), None),
        np.repeat(np.arange(len(logits), dtype=float)[:, None], len(values), axis=1),
    )


@given(st.integers(0, 5000))
def test_rows_spend_and_end_as_their_sessions_do(seed):
    ensemble, values, random = ladder_of(seed)
    rule = draw_rule(ensemble, random)

    spends, ends = follow_rule(
        walkers_of(ensemble, values), rule.targets, rule.thresholds
    )

    spent, numbers = walk_sessions(ensemble, values, rule)
    assert spends.tolist() == spent.tolist()
    assert ends.tolist() == numbers.tolist()


@given(st.integers(0, 5000))
def test_panel_that_predicts_on_the_way_changes_no_way(seed):
    """Panels with rises predict from any part of them; rules were learned on wholes."""
    ensemble, values, random = ladder_of(seed, can_hide=True)
    rule = draw_rule(ensemble, random)

    spends, _ = follow_rule(walkers_of(ensemble, values), rule.targets, rule.thresholds)

    assert spends.tolist() == walk_sessions(ensemble, values, rule)[0].tolist()


def test_row_may_end_on_the_way_to_a_panel():
    ensemble = small_ensemble([3, 1], policy="adaptive")
    ladder = make_ladder(ensemble, [(0, 1)])
    walkers = Walkers(
        ensemble.catalogue,
        ladder.panels,
        np.zeros((2, 2), np.bool_),
        np.array([[0.0, 0.0], [0.1, 0.4], [0.5, 0.5]]),
        np.zeros((3, 2)),
    )

    # From nothing to both, but who is sure after the first one stays there.
    spends, _ = follow_rule(walkers, np.array([0, 0, 0]), np.array([0.0, 0.2, 0.0]))

    assert spends.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(("known", "number"), [((), 2), ((0,), 1), ((0, 1), 0)])
def test_preferred_panel_that_is_known_predicts(known, number):
    ladder = make_ladder(small_ensemble([3, 1]), [(0, 1)])

    assert preferred_panel(ladder.panels, frozenset(known)) == number


def test_nobody_goes_on_where_a_rule_stays():
    ensemble, values, _ = ladder_of(0)
    ways = price_transitions(ensemble.catalogue, ensemble.panels.panels)
    last = len(ensemble.panels.panels) - 1

    spends, ends = follow_rule(walkers_of(ensemble, values), *make_steps_to(ways, last))

    assert spends.tolist() == [0.0] * N_ROWS
    assert set(ends.tolist()) == {last}
