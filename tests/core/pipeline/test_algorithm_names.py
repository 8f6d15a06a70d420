"""Readers of models know the names of algorithms without what trains them."""

import pytest

from askless.core.training.algorithms import ALGORITHMS
from askless.core.training.params import ALGORITHM_NAMES, check_algorithm


def test_names_are_those_of_the_table():
    assert tuple(ALGORITHMS) == ALGORITHM_NAMES


@pytest.mark.parametrize("name", ["gradient_boosting", "", None, 3])
def test_unknown_algorithm_is_refused_with_all_names(name):
    with pytest.raises(ValueError, match="must be one of auto, panels, adaboost"):
        check_algorithm(name)
