"""What a column holds, in brief."""

import numpy as np

from askless.core.catalogue.catalogue import Feature
from askless.core.table.sketch import N_BARS, ColumnSketch, sketch_column


def test_numbers_stand_in_equal_steps_between_their_ends() -> None:
    column = np.array([0.0, 0.5, 12.0, 12.0, np.nan, -9.0])

    found = sketch_column(Feature("x", missing=("-9",)), column)

    assert found.bars == (2, *[0] * (N_BARS - 2), 2)
    assert found.ends == (0.0, 12.0)
    assert (found.missing, found.n_distinct) == (2 / 6, 3)


def test_the_widest_range_of_numbers_has_steps_too() -> None:
    found = sketch_column(Feature("x"), np.array([-1.7e308, 1.7e308, np.inf]))

    assert (found.bars[0], found.bars[-1], found.missing) == (1, 1, 1 / 3)
    assert sketch_column(Feature("x"), np.zeros(2)).ends == (0.0, 0.0)


def test_words_stand_by_how_many_rows_have_them() -> None:
    column = np.array(["b", "a", "b", None, "?x", "c"], dtype=np.object_)

    found = sketch_column(Feature("x", type="category", missing=("?x",)), column)

    assert found == ColumnSketch(2 / 6, 3, (2, 1, 1), None, ("b", "a", "c"))


def test_of_a_column_without_a_value_nothing_is_shown() -> None:
    assert sketch_column(Feature("x"), np.full(3, np.nan)) == ColumnSketch(1.0, 0)
