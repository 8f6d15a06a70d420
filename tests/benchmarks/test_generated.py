"""Generated tables: what tells the label, and what who knows that errs."""

import math
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest

from benchmarks.frontier import making, shuffled
from benchmarks.frontier.making import BITS, BLOCK, MAKERS, N_CONTEXTS


@pytest.fixture
def generated() -> ModuleType:
    """The program, which loads a library for pictures."""
    return import_module("benchmarks.frontier.generated")


def make(name: str, n_rows: int = 400) -> making.Made:
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
    _, reference = make("cube_nm", 150)

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


def test_cube_20_is_told_by_three_neighbours_alone():
    dataset, _ = make("cube_20", 2000)
    _, reference = make("cube_20", 200)

    of_5 = dataset.values[dataset.targets == 5].mean(axis=0)

    np.testing.assert_allclose(of_5[5:8], BITS[5], atol=0.05)
    np.testing.assert_allclose(np.delete(of_5, [5, 6, 7]), 0.5, atol=0.1)
    assert reference(0) == 0.875
    assert 0.1 < reference(3) < 0.3
    assert 0.02 < reference(5) < 0.1


def test_label_of_multiplexer_is_the_bit_at_the_address():
    dataset, reference = make("multiplexer")

    is_bit = dataset.values.astype(int)
    address = is_bit[:, 0] + 2 * is_bit[:, 1] + 4 * is_bit[:, 2]
    pointed = is_bit[np.arange(400), 3 + address]
    np.testing.assert_array_equal(pointed, dataset.targets)
    assert math.isnan(reference(2))
    assert (reference(3), reference(4), reference(11)) == (0.25, 0.0, 0.0)


def test_regime_of_cube_nm_12_says_which_features_tell():
    dataset, reference = make("cube_nm_12", 4000)

    is_above = dataset.values[:, 0] > 0
    signs = 2 * dataset.targets - 1
    telling = [
        abs((dataset.values[rows] * signs[rows, None]).mean(axis=0))
        for rows in (~is_above, is_above)
    ]
    assert telling[0][3:6].min() > 0.25 > 0.1 > telling[0][6:].max()
    assert telling[1][6:9].min() > 0.25 > 0.1 > telling[1][3:6].max()
    assert math.isnan(reference(5))


@pytest.mark.full
def test_rows_have_errors_of_fixed_sets_and_of_own_questions(generated):
    rows = generated.make_rows("indicator", 1000, "fast", 2)

    assert [row[:4] for row in rows] == [
        ["indicator", 1000, count, 2] for count in (2, 3, 6, 11)
    ]
    assert {(row[5], row[7], row[8]) for row in rows} == {("0.000", "0.000", "")}
    assert all(2.0 <= float(row[6]) < 3.0 for row in rows)
    # One list for all errs until it has every group of features.
    assert [float(row[4]) > 0.2 for row in rows] == [True, True, True, False]


def test_a_table_that_there_is_none_of_is_refused(generated, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["generated", "cube_7"])

    with pytest.raises(SystemExit):
        generated.main()

    assert "no such table: cube_7" in capsys.readouterr().err


def test_picture_has_a_panel_by_table_with_three_lines(generated):
    rows = [
        [name, 1000, count, 3, f"{0.9 - 0.1 * count:.3f}", "0.2", "1.0", "0.1", ""]
        for name in generated.DRAWN
        for count in (1, 2)
    ]

    figure = generated.draw_own_questions(rows, 1000)

    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["CUBE-20, 1,000 rows", "CUBE-NM, 1,000 rows"]
    first, *_ = figure.axes[0].lines
    np.testing.assert_allclose(first.get_ydata(), [0.8, 0.7])


def test_shuffled_labels_are_the_same_labels_elsewhere():
    dataset, _ = make("multiplexer")

    other = shuffled.shuffle(dataset, np.random.default_rng(1))

    assert sorted(other.targets) == sorted(dataset.targets)
    assert (other.targets != dataset.targets).any()
    np.testing.assert_array_equal(other.values, dataset.values)


@pytest.mark.full
def test_own_questions_are_in_force_as_labels_are_and_nowhere_when_shuffled():
    random = np.random.default_rng(0)
    dataset = shuffled.load_rows("multiplexer", 1000, random)

    models = [
        shuffled.train_whole(rows, 2, "fast", 0)
        for rows in (dataset, shuffled.shuffle(dataset, random))
    ]

    paying, idle = map(shuffled.read_in_force, models)
    assert paying.n_in_force > 0
    assert paying.mean_gain > 0.1
    assert idle.n_in_force == 0
