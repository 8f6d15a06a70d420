"""Ladders fitted together: what a ladder without a fold knows of the fold's classes."""

from collections.abc import Iterator
from dataclasses import replace

import numba
import numpy as np
import pytest

from askless.core.model.ladder.blends import to_chances
from askless.core.model.ladder.panels import PanelLadder
from askless.core.model.ladder.tables import TableMember
from askless.core.panels import ladders
from askless.core.panels.asking import fit_asking_terms
from askless.core.panels.effort import EFFORTS, LIGHT, MANY_TREES
from askless.core.panels.gates import fit_held_out_tables
from askless.core.panels.ladders import fit_ladders, fit_panels, list_parts_of
from askless.core.panels.predictors import blending
from askless.core.panels.predictors.trees import fit_trees, grow_folds, merge_ensembles
from askless.core.panels.rows import PLAIN, DealtFolds, PanelRows
from askless.core.panels.tables import CountedRows
from askless.core.table.dataset import Dataset
from askless.core.work import run_to_end
from tests.panels import shorten
from tests.small import table_of

N_ROWS, N_FOLDS, LEFT_OUT = 80, 4, 1
IDXS = (1, 0, 2)
DEALT = DealtFolds((np.arange(N_ROWS) % N_FOLDS).astype(np.int8), N_FOLDS, 3)


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    shorten(monkeypatch)


def telling(n_classes: int = 2) -> Dataset:
    """Two features that tell the class in most rows, and one that tells nothing."""
    random = np.random.default_rng(2)
    targets = random.integers(0, n_classes, N_ROWS)
    columns = [targets + random.normal(0.0, spread, N_ROWS) for spread in (0.5, 0.8)]
    return table_of([*columns, random.normal(size=N_ROWS)], targets, None, n_classes)


def change_classes(dataset: Dataset, fold: int = LEFT_OUT) -> Dataset:
    """The same rows, but those of a fold have each other's classes."""
    targets, row_idxs = dataset.targets.copy(), np.flatnonzero(DEALT.fold_of == fold)
    targets[row_idxs] = np.roll(targets[row_idxs], 1)
    assert (targets != dataset.targets).sum() > 3
    return replace(dataset, targets=targets)


def rows_of(dataset: Dataset, dealt: DealtFolds | None = DEALT) -> PanelRows:
    return PanelRows(dataset, 3, dealt=dealt)


def fit(dataset: Dataset, dealt: DealtFolds | None = DEALT) -> list[PanelLadder]:
    return run_to_end(fit_ladders(rows_of(dataset, dealt), (), None, "fast", 20))


def count(dataset: Dataset) -> CountedRows:
    return CountedRows(dataset, np.zeros(len(dataset.catalogue.features), np.bool_))


@pytest.fixture
def known_predictors(monkeypatch) -> None:
    """Let sets and predictors be those of `telling()`, whatever the classes are."""
    dataset = telling()
    taught = rows_of(dataset)
    held_out = taught.hold_out(N_FOLDS, N_ROWS)
    tables = fit_held_out_tables(count(dataset), held_out.folds, 3)
    fit_ridges = blending.fit_ridges

    def choose(rows, *_) -> Iterator[float]:
        yield 0.5
        return [1_000_000, 3_000_000], [[(0,), IDXS]] * len(rows.ladders)

    monkeypatch.setattr(ladders, "choose_orders", choose)
    monkeypatch.setattr(ladders, "choose_leaf_limits", lambda *_: PLAIN)
    monkeypatch.setattr(
        ladders, "fit_held_out_tables", lambda rows, *_: replace(tables, rows=rows)
    )
    monkeypatch.setattr(
        blending, "fit_trees", lambda _, *options: fit_trees(taught, *options)
    )
    monkeypatch.setattr(
        blending, "grow_folds", lambda _, *options: grow_folds(taught, *options)
    )
    monkeypatch.setattr(
        blending,
        "fit_ridges",
        lambda _, columns, gains, recipe, __: fit_ridges(
            taught, columns, gains, recipe, held_out
        ),
    )


def forget_rises(ladder: PanelLadder) -> PanelLadder:
    """The ladder without what hidden features cost, measured once for all ladders."""
    panels = tuple(replace(panel, rises=()) for panel in ladder.panels)
    return replace(ladder, panels=panels)


@pytest.mark.usefixtures("known_predictors")
def test_classes_of_a_fold_decide_nothing_in_the_ladder_without_it():
    dataset = telling()

    before, after = (
        [forget_rises(ladder) for ladder in fit(table)]
        for table in (dataset, change_classes(dataset))
    )

    without = 1 + LEFT_OUT
    assert before[without] == after[without]
    others = [number for number in range(len(before)) if number != without]
    for number in others:
        old, new = before[number], after[number]
        assert [panel.loss for panel in old.panels] != [p.loss for p in new.panels]
        assert old.stopping != new.stopping
        assert any(
            (panel.blend.weights != same.blend.weights).any()
            for panel in old.panels
            for same in new.panels
            if panel.blend and panel.feature_idxs == same.feature_idxs
        )


def test_tables_of_a_ladder_do_not_depend_on_the_classes_of_its_fold():
    dataset = telling()
    folds = rows_of(dataset).folds(N_FOLDS)

    before, after = (
        fit_held_out_tables(count(table), folds, 3)
        for table in (dataset, change_classes(dataset))
    )

    same = [before.without(fold) == after.without(fold) for fold in (None, 0, 1, 2)]
    assert same == [False, False, True, False]


def test_terms_of_a_ladder_are_those_of_least_loss_on_other_folds(monkeypatch):
    tables = fit_held_out_tables(count(telling()), rows_of(telling()).folds(N_FOLDS), 3)

    def lose(playing, terms) -> np.ndarray:
        # Another first question than the greedy one is better in one fold alone.
        luck = 9.0 if terms.first is not None else 0.0
        return 1.0 + luck / 10 - luck * (playing.fold_of == LEFT_OUT)

    monkeypatch.setattr("askless.core.panels.asking.Playing.measure_losses", lose)
    monkeypatch.setattr(
        "askless.core.panels.asking.list_first_questions", lambda *_: [0, 2]
    )

    worths = fit_asking_terms(tables, [1_000_000], (None, 0, LEFT_OUT))

    assert [worth.terms[0].first for worth in worths] == [2, 2, None]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictors_of_a_ladder_are_those_without_its_fold(n_classes):
    dataset = telling(n_classes)
    rows = rows_of(dataset)
    held_out, space = rows.hold_out(N_FOLDS, 1), rows.select_with_covariance(IDXS)
    tables = fit_held_out_tables(count(dataset), held_out.folds, 3)

    made = blending.make_panels(
        rows, {None: space, LEFT_OUT: space}, IDXS, LIGHT, held_out, tables
    )

    growth = blending.make_growth_settings(rows, *LIGHT.ensembles[0])
    grown = grow_folds(rows, IDXS, growth._replace(seed=3), held_out)
    gains = np.mean([trees.gains for trees in grown], axis=0)
    shared = blending.fit_ridges(rows, space.take(IDXS), gains, LIGHT, held_out)
    blend = made[LEFT_OUT].panel.blend
    assert blend.trees == merge_ensembles(rows, IDXS, [grown[LEFT_OUT]])
    assert blend.ridges == tuple(ridge.without(LEFT_OUT) for _, ridge in shared)
    assert blend.tables == TableMember(tables.without(LEFT_OUT), IDXS)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_only_the_ladder_without_a_fold_predicts_its_rows_as_held_out(n_classes):
    dataset = telling(n_classes)
    rows = rows_of(dataset)
    orders = [[IDXS]] * len(rows.ladders)

    # With fewer waves the rounding of each weighs more.
    full = EFFORTS["standard"].full._replace(n_waves=150, ensembles=(MANY_TREES,))
    effort = EFFORTS["standard"]._replace(full=full)

    fitted = run_to_end(fit_panels(rows, orders, effort))

    row_idxs = np.flatnonzero(DEALT.fold_of == LEFT_OUT)
    values = dataset.values[row_idxs]
    gaps = []
    for panels, logits, _ in fitted:
        served = to_chances(panels[0].logits(values, rows.starts))
        gaps.append(np.abs(served - to_chances(logits[0, row_idxs])).max())
    # Served waves are of double precision, fitted ones of single.
    assert gaps[1 + LEFT_OUT] < 1e-3 < min(gaps[:2] + gaps[3:])


def test_each_ladder_has_the_panels_of_its_own_sets():
    rows = rows_of(telling(), DEALT._replace(n_ladders=1))
    effort = EFFORTS["standard"]

    fitted = run_to_end(fit_panels(rows, [[(0,)], [(2, 1)]], effort))

    sets = [{panel.feature_idxs for panel in each.panels} for each in fitted]
    assert sets == [{(), (0,)}, {(), (2,), (2, 1)}]


def test_panels_of_all_rows_do_not_depend_on_the_sets_of_other_ladders():
    effort, sets = EFFORTS["standard"], [(0, 1)]
    alone, together = (
        rows_of(telling(), DEALT._replace(n_ladders=n_ladders)) for n_ladders in (0, 2)
    )

    [expected] = run_to_end(fit_panels(alone, [sets], effort))
    # One other set is a beginning, in which the blend is light; one reads more.
    whole, *_ = run_to_end(fit_panels(together, [sets, [(0,)], [(2, 1)]], effort))

    assert whole.panels == expected.panels
    assert whole.space == expected.space


def test_parts_of_a_set_grow_by_a_factor_and_at_least_by_one():
    effort = EFFORTS["fast"]._replace(next_size=1.5)

    assert list_parts_of((), effort) == []
    assert [len(part) for part in list_parts_of((*range(9),), effort)] == [
        0, 1, 2, 3, 4, 6,
    ]  # fmt: skip


def test_ladder_of_all_rows_does_not_depend_on_the_number_of_ladders():
    alone = fit(telling(), DEALT._replace(n_ladders=0))

    whole, *others = fit(telling())

    assert alone == [whole]
    assert len(others) == DEALT.n_ladders
    assert all(ladder != whole for ladder in others)


@pytest.mark.slow
def test_numbers_of_threads_change_no_ladder():
    most = numba.config.NUMBA_NUM_THREADS
    made = []
    for n_threads in (1, most):
        numba.set_num_threads(n_threads)
        made.append(fit(telling()))
        numba.set_num_threads(most)

    assert made[0] == made[1]


@pytest.mark.usefixtures("known_predictors")
def test_progress_of_ladders_never_goes_back():
    shares = list(fit_ladders(rows_of(telling()), (), None, "fast", 20))

    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_rows_of_a_sample_keep_their_folds(monkeypatch):
    dealt = []
    effort = EFFORTS["fast"]._replace(fit_rows=30, search_rows=20)
    monkeypatch.setitem(EFFORTS, "fast", effort)

    def choose(rows, *_) -> Iterator[float]:
        dealt.append((rows.dataset, rows.dealt.fold_of))
        yield 0.5
        return [], [[()]] * len(rows.ladders)

    monkeypatch.setattr(ladders, "choose_orders", choose)
    dataset = telling()

    made = fit(dataset)

    [(few, folds)] = dealt
    places = {value: place for place, value in enumerate(dataset.values[:, 2])}
    row_idxs = [places[value] for value in few.values[:, 2]]
    assert few.n_samples == 20
    np.testing.assert_array_equal(folds, DEALT.fold_of[row_idxs])
    assert len(made) == 1 + DEALT.n_ladders
