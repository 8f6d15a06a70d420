"""Columns without a covariance, and what else only other parts of the tests reach."""

import numpy as np
import pytest

from askless.core import machine_code
from askless.core.errors import RefusedError
from askless.core.estimator.conventions import require_classes
from askless.core.kernels import NUMBER_CODE
from askless.core.model.ladder.columns import Columns


def test_columns_that_share_no_covariance_are_hidden_apart():
    ones = np.ones(2)
    codes = np.full(2, NUMBER_CODE)
    columns = Columns(np.arange(2), codes, 0 * ones, 9 * ones, 0 * ones, ones)

    hidden = columns.hide(np.array([True, False]))

    assert columns.sizes == {"columns": 2}
    assert hidden.hidden.tolist() == [0]


def test_a_cascade_of_three_classes_is_refused():
    with pytest.raises(RefusedError, match="Only binary classification"):
        require_classes("cascade", np.arange(3), 3, frozenset())


def test_numba_keeps_its_own_folder_where_none_is_chosen():
    assert machine_code.keep_given("kernels") == "kernels"
