"""The frontier's protocols, played by every party on a small made table."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("lightgbm", reason="lightgbm, of the group `bench`, is absent")

from askless.core.catalogue.catalogue import Feature
from askless.core.catalogue.prices import total_cost
from askless.core.panels.ladders import fit_ladder
from askless.core.session.policies import POLICIES
from askless.core.table.dataset import ClassLabel, Dataset
from askless.core.training.algorithms import make_ensemble
from askless.core.training.params import BoostParams
from askless.core.work import run_to_end
from benchmarks.data import Table
from benchmarks.engine import train_ensemble
from benchmarks.frontier import tables
from benchmarks.frontier.answers import (
    drop_first,
    follow_votes,
    make_cases,
    measure_answers,
    measure_panels,
)
from benchmarks.frontier.draws import PROTOCOLS, Draw, draw
from benchmarks.frontier.parties import PARTIES
from benchmarks.lines import Lines

N_ROWS, N_NUMBERS = 90, 7


def make_table() -> Table:
    """Seven numbers, of which two tell, and a category; some cells are missing."""
    generator = np.random.default_rng(0)
    numbers = generator.normal(size=(N_ROWS, N_NUMBERS))
    codes = generator.integers(0, 3, N_ROWS).astype(np.float64)
    targets = (numbers[:, 0] + numbers[:, 1] + (codes == 2) > 0.3).astype(np.int64)
    values = np.column_stack((numbers, codes))
    values[::10, [0, N_NUMBERS]] = np.nan
    features = [Feature(f"x{idx}") for idx in range(N_NUMBERS)]
    features.append(Feature("kind", "category", categories=("a", "b", "c")))
    classes = (ClassLabel("no", "no"), ClassLabel("yes", "yes"))
    return Table("made", tuple(features), classes, values, targets)


def take_rows(dataset: Dataset, n_rows: int) -> Dataset:
    return replace(
        dataset,
        values=dataset.values[:n_rows],
        targets=dataset.targets[:n_rows],
        weights=dataset.weights[:n_rows],
    )


@pytest.fixture(scope="module")
def drawn() -> dict[str, Draw]:
    return {protocol: draw(make_table(), protocol, 0) for protocol in PROTOCOLS}


@pytest.fixture(scope="module")
def lines(drawn: dict[str, Draw]) -> Lines:
    found: Lines = {}
    for protocol, one in drawn.items():
        for party, play in PARTIES.items():
            found[0, "made", protocol, party] = {
                **{"draw": 0, "set": "made", "protocol": protocol, "party": party},
                **{"core": "", "seconds": 1.0, "n_train": 60, "n_test": 30},
                **{"n_features": N_NUMBERS + 1, "methods": dict(play(one))},
            }
    return found


def test_both_protocols_draw_the_same_rows(drawn: dict[str, Draw]) -> None:
    values = [one.testing.values for one in drawn.values()]

    np.testing.assert_array_equal(*values)
    assert not np.isnan(values[0]).any()


def test_fees_have_groups_a_bundle_and_a_dear_feature(drawn: dict[str, Draw]) -> None:
    catalogue, budgets = drawn["fees"].training.catalogue, drawn["fees"].budgets

    assert [group.is_bundle for group in catalogue.groups] == [True, False]
    assert catalogue.costs.max() == 60_000_000
    assert budgets[-1] == total_cost(catalogue)


def test_no_method_spends_more_than_its_budget(lines: Lines) -> None:
    methods = [method for line in lines.values() for method in line["methods"].values()]

    assert {method["violations"] for method in methods} == {0}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_votes_after_each_answer_are_those_of_a_session(
    drawn: dict[str, Draw], protocol: str
) -> None:
    one = drawn[protocol]
    few = replace(one, testing=take_rows(one.testing, 4))
    ensemble = train_ensemble(one.training, BoostParams(rounds=20))

    found = follow_votes(ensemble, few)

    (traces,) = POLICIES["ordered"].trace(ensemble, make_cases(few))
    expected = np.where(traces.labels == 1, traces.confidences, 1 - traces.confidences)
    np.testing.assert_allclose(found, expected)


def test_panels_after_each_answer_are_those_of_a_session(
    drawn: dict[str, Draw],
) -> None:
    one = drawn["uniform"]
    few = replace(one, testing=take_rows(one.testing, 4))
    ladder = run_to_end(fit_ladder(one.training, effort="fast"))
    ensemble = make_ensemble(one.training, BoostParams("panels"), ())
    ensemble = replace(ensemble, panels=ladder)

    found = measure_panels(ensemble, few)

    (traces,) = POLICIES["panels"].trace(ensemble, make_cases(few))
    is_right = traces.labels == few.testing.targets[:, None]
    told = np.where(is_right, traces.confidences, 1 - traces.confidences)[:, 1:]
    assert found["n_answers"] == told.shape[1]
    assert found["answer_log_loss"] == pytest.approx(-np.log(told).mean(), abs=1e-6)


def test_log_loss_after_answers_leaves_out_what_is_said_before_them(
    drawn: dict[str, Draw],
) -> None:
    one = drawn["uniform"]
    surely_right = one.testing.targets[:, None] * np.ones((1, 3))
    before = np.full((one.testing.n_samples, 1), 0.5)

    told = drop_first(np.hstack((before, surely_right)), one)
    unasked = drop_first(before, one)

    assert measure_answers(*told) == {"answer_log_loss": 1e-6, "n_answers": 3}
    assert measure_answers(*unasked) == {"answer_log_loss": 0.693147, "n_answers": 0}


def test_kept_lines_fill_the_tables(lines: Lines) -> None:
    filled = tables.write_all(lines)

    assert {name for name, rows in filled.items() if not rows} == {"calibration"}
