"""Tables spelt otherwise than the one that was trained on are refused, not guessed."""

import numpy as np
import pytest

from askless.app.batch.held_rows import predict_held
from askless.app.batch.orders import parse_predict_order
from askless.app.documents.files import load_model
from askless.core.errors import RefusedError
from tests.core.table.test_check import text

pytest_plugins = ["tests.app.conftest_small"]

ROWS = ["n,c,b,y", "0.5,red,1,sick", "-1,blue,0,well", "0.2,red,0,well"]


def spelt(place, *colours):
    """A table of as many rows, with other colours."""
    rows = [line.split(",") for line in ROWS]
    for row, colour in zip(rows[1:], colours, strict=True):
        row[1] = colour
    path = place / f"{'-'.join(colours)}.csv"
    path.write_text("\n".join(map(",".join, rows)) + "\n")
    return path


def commands(model, table, out):
    yield "predict", model, table, "--budget", "inf", "-o", out
    yield "evaluate", model, table, "--budgets", "inf"


def test_a_batch_of_mostly_unseen_categories_is_refused_with_its_column(
    place, model, run
):
    table, out = spelt(place, "Red", "Blue", "red"), place / "out.csv"
    for command in commands(model, table, out):
        done = run(*command)

        assert done.code == 2
        assert "column c: most of its cells must be categories" in done.err
        assert "the nearest is" in done.err
        assert "--accept-unseen; found" in done.err
        assert "in 2 of 3 cells" in done.err
        assert not out.exists()


def test_an_unseen_batch_is_taken_where_the_caller_says_so(place, model, run):
    table, out = spelt(place, "Red", "Blue", "RED"), place / "taken.csv"
    for command in commands(model, table, out):
        done = run(*command, "--accept-unseen")

        assert done.code == 0
        assert "c: 3 rows with categories that training did not see, as 'Red'" in (
            done.err
        )


@pytest.mark.parametrize("colours", [("Red", "blue", "red"), ("red", "red", "blue")])
def test_a_batch_of_mostly_known_categories_is_predicted(place, model, run, colours):
    out = place / "known.csv"

    assert run(*next(commands(model, spelt(place, *colours), out))).code == 0


def test_rows_in_a_call_are_a_batch_but_one_row_is_a_case(model):
    stored = load_model(model)
    order = parse_predict_order({"budgets": [None]}, stored)
    taken = parse_predict_order({"budgets": [None], "accept_unseen": True}, stored)

    def columns(n_rows):
        cells = {"n": np.zeros(n_rows), "b": np.zeros(n_rows)}
        return cells | {"c": text(*["Red"] * n_rows)}

    assert len(predict_held(stored, columns(1), order).labels) == 1
    assert len(predict_held(stored, columns(2), taken).labels) == 2
    with pytest.raises(RefusedError, match="column c"):
        predict_held(stored, columns(2), order)
