"""Generated tables: what tells the label, and what who knows that errs."""

import math

import numpy as np
import pytest

from askless.core.model.panels import Panel, PanelLadder
from benchmarks.frontier import generated
from benchmarks.frontier.generated import BLOCK, MAKERS, N_CONTEXTS


def make(name: str, n_rows: int = 400) -> generated.Made:
    return MAKERS[name](n_rows, np.random.default_rng(0))


def test_label_of_indicator_is_the_feature_that_the_context_names():
    dataset, reference = make("indicator")

    context = dataset.values[:, 0].astype(int)
    named = dataset.values[np.arange(400), 1 + context]
    np.testing.assert_array_equal(named, dataset.targets)
    assert math.isnan(reference(1))
    assert reference(2) == 0.0


def test_cube_is_told_by_the_block_of_its_context_alone():
    dataset, _ = make("cube_nm", 2000)
    blocks = dataset.values[:, N_CONTEXTS:].reshape(2000, N_CONTEXTS, BLOCK)
    context = dataset.values[:, :N_CONTEXTS].argmax(axis=1)

    of_0 = blocks[(dataset.targets == 0)]
    own = of_0[np.arange(len(of_0)), context[dataset.targets == 0]]

    # Label 0 has the bits 0, 0, 0 in the first three features of its block.
    np.testing.assert_allclose(own[:, :3].mean(axis=0), 0.0, atol=0.05)
    np.testing.assert_allclose(own[:, 3:].mean(axis=0), 0.5, atol=0.07)
    np.testing.assert_allclose(own[:, :3].std(axis=0), 0.1, atol=0.03)


def test_who_knows_the_cube_errs_ever_less():
    _, reference = make("cube_nm", 400)

    errors = [reference(n_questions) for n_questions in range(15)]

    assert errors[:2] == [0.875, 0.875]
    assert errors[2] < 0.8
    assert errors[5] < 0.15
    assert errors[11:] == [errors[11]] * 4
    assert errors[11] < 0.05


@pytest.mark.parametrize("number", [1, 2, 3])
def test_labels_of_syn_follow_their_chances(number):
    dataset, reference = make(f"syn{number}", 4000)

    assert 0.3 < dataset.targets.mean() < 0.7
    assert 0.05 < reference(5) < 0.35
    assert math.isnan(reference(4))


def test_rows_have_errors_without_a_route_and_with_it(monkeypatch):
    def fit(*_, **__):
        yield 1.0
        return PanelLadder((Panel((), 0.7, frozenset()),), np.full(1, 9.0))

    monkeypatch.setattr(generated, "fit_ladder", fit)

    rows = generated.find_rows("indicator", 200, "fast", 0)

    assert [row[2] for row in rows] == [2, 3, 6, 11]
    assert {(row[3] == row[4], *row[5:]) for row in rows} == {(True, "0.0", "0.000")}
