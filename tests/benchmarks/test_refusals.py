"""Sessions with refusals, on a small made table, and the yardsticks beside them."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("lightgbm", reason="lightgbm, of the extra `bench`, is absent")

from askless.core.model.ensemble import Ensemble
from askless.core.panels.ladders import fit_ladder
from askless.core.table.catalogue import Feature
from askless.core.table.dataset import ClassLabel
from askless.core.table.prices import total_cost
from askless.core.training.algorithms import make_ensemble
from askless.core.training.params import BoostParams
from askless.core.work import end_of
from benchmarks.data import Table
from benchmarks.frontier import refusal_tables
from benchmarks.frontier.draws import Draw, draw
from benchmarks.frontier.refused import choose_refused, follow, open_session, play_draw
from benchmarks.frontier.yardsticks import End, Yardsticks, find_help, is_less

N_ROWS, N_FEATURES = 240, 6
CLASSES = (ClassLabel("no", "no"), ClassLabel("yes", "yes"))


def make_table() -> Table:
    """Six numbers; the first two tell."""
    generator = np.random.default_rng(0)
    values = generator.normal(size=(N_ROWS, N_FEATURES))
    targets = (values[:, 0] + values[:, 1] > 0).astype(np.int64)
    features = tuple(Feature(f"x{idx}") for idx in range(N_FEATURES))
    return Table("made", features, CLASSES, values, targets)


@pytest.fixture(scope="module")
def drawn() -> Draw:
    one = draw(make_table(), "uniform", 0)
    return replace(one, budgets=(total_cost(one.training.catalogue),))


@pytest.fixture(scope="module")
def ensemble(drawn: Draw) -> Ensemble:
    ladder = end_of(fit_ladder(drawn.training, effort="fast"))
    untold = make_ensemble(drawn.training, BoostParams("panels"), ())
    return replace(untold, panels=ladder)


def test_what_is_refused_is_never_read(drawn: Draw, ensemble: Ensemble) -> None:
    start = open_session(ensemble, drawn.budgets[0])
    assert start.next_feature_idx is not None
    hidden = (start.next_feature_idx,)

    *_, last = follow(ensemble, start, drawn.testing.values[0], hidden)

    assert last.outcomes[hidden[0]] == "refused"
    assert np.isnan(last.values[hidden[0]])


def test_only_offers_that_enough_rows_are_asked_are_refused() -> None:
    asked = [{(0,): 0, (1, 2): 1}] * 19 + [{(0,): 0, (3,): 1}]

    assert choose_refused(asked) == [(), ((0,),), ((1, 2),), ((0,), (1, 2))]


def test_what_tells_helps_and_what_is_read_already_does_not(drawn: Draw) -> None:
    assert find_help(drawn, (0,), ((1,), (2,))) == (True, True)
    assert find_help(drawn, (0, 1), ()) == (False, False)


def test_a_loss_is_less_by_standard_errors_only() -> None:
    targets, before = np.array([0, 1] * 20), np.full(40, 0.5)
    by_luck = np.where(np.arange(40) % 4 < 2, 0.45, 0.55)

    assert is_less(0.4 + 0.2 * targets, before, targets, 2.0)
    assert not is_less(by_luck, before, targets, 2.0)


def test_a_session_that_says_what_lightgbm_says_is_as_good(drawn: Draw) -> None:
    yardsticks = Yardsticks(drawn, 50)
    chances = yardsticks.predict(0, (0, 1))
    ends = [
        End((0, 1), (), int(chance > 0.5), chance, drawn.budgets[0], False)
        for chance in chances
    ]

    found = yardsticks.measure(0, (), np.arange(50), ends)

    assert found["ours_error"] == found["refit_error"]
    assert found["ours_loss"] == found["refit_loss"]
    assert (found["unspent"], found["helpful"], found["over"]) == (0.0, 0.0, 0)


def test_records_fill_the_tables(drawn: Draw) -> None:
    line = {"set": "made", "protocol": "uniform", **play_draw(drawn, "fast")}

    filled = refusal_tables.write_all({(0, "made", "uniform", "refusals"): line})

    shown = {(row[1], row[2]) for row in filled["refusals"]}
    assert shown >= {(0.15, 0), (0.4, 0), (0.4, 1)}
