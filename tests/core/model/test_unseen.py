"""Batches whose categories training did not see, for an ensemble."""

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.errors import RefusedError
from askless.core.model.hypotheses import Stump
from askless.core.model.rows import (
    UnseenNames,
    check_block,
    count_unseen,
    refuse_unseen_batch,
    refuse_unseen_cells,
    warn_unseen,
)
from tests.core.table.test_check import text
from tests.small import ensemble_of

COLOUR = Feature("c", "category", categories=("blue", "red"))
JOINED = Feature("c", "category", categories=("a", "other"), has_other=True)


def ensemble():
    return ensemble_of([Stump(0, 0.0, (1,))], Catalogue((COLOUR, Feature("n"))))


def refusal_of(*parts):
    with pytest.raises(RefusedError) as refused:
        refuse_unseen_batch(parts, ensemble(), "take")
    return str(refused.value.refusals[0])


def test_a_warning_has_the_first_unseen_cell_of_all_parts():
    unseen = UnseenNames()
    for colours in (("red", None), ("green", "Red"), ("pink", "red")):
        columns = {"c": text(*colours), "n": np.zeros(2)}
        unseen += check_block(columns, ensemble()).unseen

    assert warn_unseen(ensemble(), unseen) == [
        "c: 3 rows with categories that training did not see, as 'green'; "
        "every stump on it abstains there"
    ]


def test_a_model_that_learns_rows_may_come_to_read_any_feature():
    other = ensemble_of([Stump(1, 0.5, (1,))], Catalogue((COLOUR, Feature("n"))))
    parts = [{"c": text("Red", "Blue"), "n": np.zeros(2)}]

    refuse_unseen_batch(parts, other, "take")
    with pytest.raises(RefusedError, match="column c"):
        refuse_unseen_batch(parts, other, "take", is_learnt=True)


def test_unseen_cells_are_counted_over_the_parts_of_a_table():
    parts = {"c": text("Red", "red", None)}, {"c": text("Red", "Blue")}

    assert refusal_of(*parts) == (
        "column c: most of its cells must be categories that training saw, as 'blue', "
        "'red'; the nearest is 'red'; write them so, or take them as they are: take; "
        "found 'Red' and others in 3 of 4 cells"
    )


@pytest.mark.parametrize(
    "column", [text("red", "Red"), text("Red"), text("NA", None), text("red")]
)
def test_few_unseen_cells_are_taken(column):
    refuse_unseen_batch([{"c": column}], ensemble(), "take")


def test_a_column_that_is_not_there_or_no_category_is_nothing_to_refuse():
    refuse_unseen_batch([{"n": np.array([1.0, 2.0])}], ensemble(), "take")


@pytest.mark.parametrize(
    ("n_rows", "is_refused"), [(2, False), (19, False), (20, True)]
)
def test_where_rare_ones_were_joined_only_many_unseen_cells_are_refused(
    n_rows, is_refused
):
    unseen = count_unseen(JOINED, text(*["new"] * n_rows, "NA"))
    one_known = count_unseen(JOINED, text(*["new"] * n_rows, "a"))

    assert bool(refuse_unseen_cells(JOINED, unseen, "x")) is is_refused
    assert refuse_unseen_cells(JOINED, one_known, "x") == []


def test_a_long_list_of_categories_is_cut_short():
    many = Feature("c", "category", categories=tuple("abcdefgh"))
    unseen = count_unseen(many, text("new", "new"))

    (refusal,) = refuse_unseen_cells(many, unseen, "x")

    assert "'a', 'b', 'c', 'd', 'e', ..." in refusal.rule
