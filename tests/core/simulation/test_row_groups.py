"""Row groups met block by block."""

import numpy as np
import pytest

from askless.core.simulation.row_groups import GroupSums
from askless.core.table.columns import to_text_cells


@pytest.mark.parametrize("cuts", [[], [1], [2, 2, 5], [1, 2, 3, 4, 5, 6]])
@pytest.mark.parametrize("are_numbers", [True, False])
def test_sums_do_not_depend_on_the_blocks(cuts, are_numbers):
    words = np.array([10.0, 2.0, 10.0, 3.0, 2.0, 10.0, 1.0])
    cells = words if are_numbers else np.array([f"{word:g}" for word in words], object)
    weights = np.array([0.1, 0.2, 0.3, 0.4, 0.7, 1e-17, 5.0])
    groups = GroupSums()

    numbers = [
        groups.add(to_text_cells(part), its)
        for part, its in zip(
            np.split(cells, cuts), np.split(weights, cuts), strict=True
        )
        if len(its)
    ]

    # In the order of words: "1", "10", "2", "3".
    assert groups.held.tolist() == [5.0, (0.1 + 0.3) + 1e-17, 0.2 + 0.7, 0.4]
    ranks = groups.rank(np.concatenate(numbers))
    assert ranks.tolist() == [1, 2, 1, 3, 2, 1, 0]
