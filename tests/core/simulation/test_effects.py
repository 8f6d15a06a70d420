"""What the values of features do to a model's prediction."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.model.ensemble import Calibration
from askless.core.model.hypotheses import Stump, Tree
from askless.core.model.ladder.blends import to_chances
from askless.core.model.values import middle_values
from askless.core.simulation.effects import compute_effects
from askless.core.simulation.simulate import class_probabilities, simulate
from tests.levels import at_most
from tests.panels import make_ladder
from tests.sessions import BUNDLE, small_ensemble
from tests.small import ensemble_of

CURVED = Calibration(
    ((0.4,), (0.3,), (0.2,), (0.1,), (-0.2,)), (1.0, 0.9, 0.8, 0.7, 0.6)
)
STUMPS = [
    Stump(0, 1.0, (1,)),
    Stump(0, 3.0, (-1,)),
    Stump(1, 0.5, (1,)),
    Stump(2, 2.0, (-1,)),
]
ALPHAS = (0.9, 0.4, 0.6, 0.5)


def scored(**fields):
    return ensemble_of(STUMPS, alphas=ALPHAS, **fields)


@pytest.mark.slow
@pytest.mark.parametrize("calibrations", [(), (("ordered", CURVED),)])
@pytest.mark.parametrize("budget", [1_000_000, 2_000_000, None])
@at_most(20)
@given(seed=st.integers(0, 2**32 - 1))
def test_points_add_up_to_the_chance_of_every_case(calibrations, budget, seed):
    ensemble = scored(calibrations=calibrations)
    row = np.random.default_rng(seed).uniform(0, 4, (1, 3))

    effects = compute_effects(ensemble, budget)

    total = effects.base.copy()
    for feature in effects.features:
        cuts = [hyp.cut for hyp in STUMPS if hyp.feature_idx == feature.feature_idx]
        segment = (row[0, feature.feature_idx] > np.unique(cuts)).sum()
        total += feature.points[segment]
    chance = class_probabilities(ensemble, simulate(ensemble, row, [budget]))[0, 0, 1]
    assert to_chances(total)[1] == pytest.approx(chance, abs=1e-12)


def test_points_of_several_classes_are_of_each():
    votes = [(1, -1, -1), (-1, 1, -1)]
    stumps = [Stump(idx, 0.5, vote) for idx, vote in enumerate(votes)]
    ensemble = ensemble_of(stumps, n_classes=3, alphas=(0.5, 0.3))

    effects = compute_effects(ensemble)

    first, second = effects.features
    total = effects.base + first.points[1] + second.points[0]
    assert total.tolist() == pytest.approx([0.8, -0.8, -0.2])
    assert first.chances.shape == (3, 3)


def test_effect_is_that_of_one_answer_on_a_typical_case():
    ensemble = scored()
    typical = np.array(middle_values(ensemble))

    effects = compute_effects(ensemble)

    one = effects.features[1]
    rows = np.tile(typical, (one.values.size, 1))
    rows[:, one.feature_idx] = one.values
    chances = class_probabilities(ensemble, simulate(ensemble, rows, [None]))[:, 0]
    np.testing.assert_array_equal(one.chances, chances)
    assert np.isnan(one.values[-1])
    assert np.isnan(one.points[-1])


def test_what_a_budget_does_not_buy_has_no_effect():
    effects = compute_effects(scored(), 2_000_000)

    assert [feature.feature_idx for feature in effects.features] == [0, 1]


def test_members_of_a_bundle_have_an_effect_each():
    ensemble = small_ensemble([0, 0, 5], None, {0: BUNDLE, 1: BUNDLE})

    effects = compute_effects(ensemble)

    assert [feature.feature_idx for feature in effects.features] == [0, 1, 2]


def test_trees_are_no_scorecard():
    tree = Tree((Stump(0, 3.0, (1,)), Stump(1, 5.0, (1,))), ((1, -1), (-1, -1)))

    effects = compute_effects(ensemble_of([tree]))

    assert effects.base is None
    assert [feature.points for feature in effects.features] == [None]


def test_draws_are_the_same_for_all_values():
    ensemble = scored(policy="sample")

    effects = compute_effects(ensemble, 1_000_000)

    assert effects.base is None
    typical = effects.typical.tolist()
    assert all(typical in feature.chances.tolist() for feature in effects.features)


def test_panels_have_effects_over_their_range():
    ensemble = small_ensemble([1, 2, 3])
    ensemble = replace(
        ensemble, panels=make_ladder(ensemble, [(1, 2)]), policy="panels"
    )

    effects = compute_effects(ensemble)

    assert [feature.feature_idx for feature in effects.features] == [1, 2]
    assert [feature.values.size for feature in effects.features] == [10, 10]
    assert np.ptp(effects.features[0].chances[:, 1]) > 0


def test_model_that_asks_nothing_has_no_effects():
    ensemble = ensemble_of([], Catalogue((Feature("a"),)), priors=(0.3, 0.7))

    effects = compute_effects(ensemble)

    assert effects.features == ()
    assert effects.typical.tolist() == pytest.approx([0.3, 0.7])


def test_few_values_that_training_saw_are_tried():
    features = (Feature("a", values=(0.0, 2.0, 5.0)), Feature("b"), Feature("c"))
    ensemble = scored(catalogue=Catalogue(features))

    effects = compute_effects(ensemble)

    tried = {
        feature.feature_idx: feature.values[:-1].tolist()
        for feature in effects.features
    }
    assert tried[0] == [0.0, 2.0, 5.0]
    assert tried[1] != tried[0]
