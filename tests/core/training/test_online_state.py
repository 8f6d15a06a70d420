"""A state from outside is refused by the name of the array that can't be."""

from functools import cache

import numpy as np
import pytest

from askless.core import kernels
from askless.core.catalogue.catalogue import Catalogue
from askless.core.model.learning_state import ARRAYS
from askless.core.training.boosting import sign_weights
from askless.core.training.online.online import OnlineBooster, learn_table
from askless.core.training.online.online_start import MARKS
from askless.core.training.online.online_state import (
    Lengths,
    check_state,
    list_shapes,
)
from askless.core.training.params import BoostParams
from tests.baselines import mixed

PARAMS = BoostParams("online", rounds=6, half_life=300)
DATASET = mixed(3, n_samples=200, share_missing=0.1)
CATALOGUE = DATASET.catalogue


@cache
def learnt_once(n_classes: int) -> OnlineBooster:
    dataset = mixed(3, n_classes, n_samples=200, share_missing=0.1)
    return learn_table(dataset, PARAMS)


def learnt(n_classes: int = 2) -> dict[str, np.ndarray]:
    return as_arrays(learnt_once(n_classes))


def begun() -> dict[str, np.ndarray]:
    """The state of a stream that still holds its first rows."""
    booster = OnlineBooster.start(CATALOGUE, 2, PARAMS)
    booster.learn(DATASET.values[:20], sign_weights(DATASET.targets[:20], 2))
    return as_arrays(booster)


def as_arrays(booster: OnlineBooster) -> dict[str, np.ndarray]:
    return {name: one.copy() for name, one in booster.state._asdict().items()}


def faults(state: dict[str, np.ndarray], catalogue: Catalogue = CATALOGUE) -> set[str]:
    return {name for name, _ in check_state(state, catalogue)}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_states_that_learning_makes_are_right(n_classes):
    for state in (learnt(n_classes), begun()):
        assert faults(state) == set()
    state = learnt(n_classes)
    shapes = list_shapes(CATALOGUE, n_classes, PARAMS.rounds)
    assert {*shapes} == {*state} == {*ARRAYS}
    assert all(shapes[name].fits(item.shape) for name, item in state.items())
    assert all(item.dtype == ARRAYS[name] for name, item in state.items())


def test_lengths_are_told_in_words():
    lengths = Lengths(((3, 3), (0, 9)))

    assert lengths.rule == "of the shape [3, 0 to 9]"
    assert lengths.fits((3, 9))
    assert not lengths.fits((3, 10))
    assert not lengths.fits((3,))


@pytest.mark.parametrize(
    ("make", "name", "place", "value"),
    [
        (learnt, "sums", (0, 0, 0), np.nan),
        (learnt, "sums", (2, -1, 0), 1.0),
        (learnt, "facts", kernels.SCALE, 0.5),
        (learnt, "facts", kernels.WEIGHT, -1.0),
        (learnt, "thresholds", 0, np.inf),
        (learnt, "alphas", (0, 0), np.nan),
        (learnt, "slopes", (0, 0), -1.0),
        (learnt, "losses", 0, -1.0),
        (learnt, "n_codes", 0, -1),
        (learnt, "n_codes", 0, 1000),
        (learnt, "cuts", (0, 0), 1e9),
        (learnt, "cuts", (0, 0), np.inf),
        (learnt, "bins", (0, 0, kernels.BIN_WEIGHT), -1.0),
        (learnt, "bins", (0, 0, kernels.LEAST), np.nan),
        (learnt, "counts", kernels.N_LEARNERS, 99),
        (learnt, "counts", kernels.N_ROWS, -1),
        (learnt, "counts", kernels.N_SINCE, 2**40),
        (learnt, "counts", kernels.HAS_TABLE, 2),
        (learnt, "stumps", (0, kernels.READS_FEATURE), 4),
        (learnt, "stumps", (0, kernels.EQUALS), 7),
        (learnt, "votes", (0, 0), 0),
        (begun, "first_values", (0, 0), np.inf),
        (begun, "first_values", (0, 3), 17.0),
        (begun, "first_values", (0, 3), 0.5),
        (begun, "first_signed", (0, 0), np.nan),
        (begun, "counts", kernels.N_ROWS, MARKS[-1]),
    ],
)
def test_wrong_numbers_are_refused_by_name(make, name, place, value):
    state = make()

    state[name][place] = value

    assert name in faults(state)


def test_arrays_that_contradict_one_another_are_refused():
    fewer, uneven, short = learnt(), begun(), begun()

    fewer["sums"] = fewer["sums"][:, 1:].copy()
    uneven["first_signed"] = uneven["first_signed"][1:].copy()
    short["first_values"] = short["first_values"][:30].copy()
    short["first_signed"] = short["first_signed"][:30].copy()

    assert faults(fewer) == {"cuts"}
    assert faults(uneven) == {"first_values"}
    assert faults(short) == {"first_values"}
