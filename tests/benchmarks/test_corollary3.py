import math

import numpy as np
import pytest

from askless.core.model.ensemble import Ensemble
from benchmarks.papers.corollary3 import (
    corollary3_bound,
    margin_distribution,
    margins,
    sampling_term,
)


def test_margin_is_the_signed_normalised_vote(ensemble, dataset):
    # Alphas 1 and 0.5: both stumps agree on the last row, on the others they differ
    # or agree on "no".
    assert margins(ensemble, dataset).tolist() == pytest.approx([1, 1, 1 / 3, 1])


def test_margin_without_a_hypothesis_is_zero(dataset):
    empty = Ensemble(
        dataset.catalogue, dataset.classes, (), (), (0.5, 0.5), "adaboost", "ordered"
    )

    assert margins(empty, dataset).tolist() == [0, 0, 0, 0]


def test_distribution_counts_margins_up_to_theta():
    row_margins = np.array([-0.5, 0.0, 0.2, 0.8])

    shares = margin_distribution(row_margins, np.array([-1.0, 0.0, 0.5, 1.0]))

    assert shares.tolist() == [0, 0.5, 0.75, 1]


def test_sampling_term_is_hoeffdings():
    assert sampling_term(8, 0.5) == pytest.approx(math.exp(-1))


@pytest.mark.parametrize("n_draws", [1, 5, 11])
@pytest.mark.parametrize("theta", [0.1, 0.4, 1.0])
def test_sampling_term_is_no_less_than_the_chance_of_the_other_side(theta, n_draws):
    share = (1 + theta) / 2
    chance = sum(
        math.comb(n_draws, k) * share**k * (1 - share) ** (n_draws - k)
        for k in range((n_draws + 1) // 2)
    )

    assert chance <= sampling_term(n_draws, theta)


def test_bound_is_the_empirical_share_plus_the_sampling_term():
    row_margins = np.array([0.1, 0.6, 0.9, -0.2])

    assert corollary3_bound(row_margins, 0.5, 8) == pytest.approx(0.5 + math.exp(-1))
