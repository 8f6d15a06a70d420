"""Gates of tables, and what is asked by them: against the twin, and by property."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core import kernels
from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.model.ladder.asking import (
    AskingTerms,
    make_cases,
    make_terms,
    play_askings,
)
from askless.core.model.ladder.splits import NOWHERE, Split
from askless.core.model.ladder.tables import ROOT, PartTables
from askless.core.panels import gates
from askless.core.panels.asking import fit_asking_terms
from askless.core.panels.gates import (
    Candidate,
    Growing,
    fit_held_out_tables,
    fit_tables,
    split_by_gate,
)
from askless.core.panels.tables import CountedRows, compute_class_shares
from askless.core.table.dataset import ClassLabel, Dataset
from tests import naive_tables as naive
from tests.levels import at_most

SEEDS = st.integers(0, 2**32 - 1)
MICROS = 1_000_000
N_ADDRESS, N_FEATURES = 3, 11


def make_dataset(values, targets, catalogue=None, n_classes=2) -> Dataset:
    n_rows, n_features = values.shape
    features = tuple(Feature(f"x{idx}") for idx in range(n_features))
    return Dataset(
        catalogue or Catalogue(features),
        tuple(ClassLabel(str(label), str(label)) for label in range(n_classes)),
        values.astype(np.float64),
        targets,
        np.full(n_rows, 1 / n_rows),
    )


def multiplex(n_rows: int, seed: int, catalogue=None) -> Dataset:
    """Three bits say which of eight others is the class."""
    random = np.random.default_rng(seed)
    values = random.integers(0, 2, (n_rows, N_FEATURES))
    address = values[:, 0] + 2 * values[:, 1] + 4 * values[:, 2]
    targets = values[np.arange(n_rows), N_ADDRESS + address]
    return make_dataset(values, targets, catalogue)


def count(dataset: Dataset) -> CountedRows:
    return CountedRows(dataset, np.zeros(len(dataset.catalogue.features), np.bool_))


@pytest.fixture(scope="module")
def tables() -> PartTables:
    return fit_tables(count(multiplex(1000, 0)), 0)


def find_part(tables, values, is_known) -> int:
    cells = tables.find_cells(values[None], is_known)[0]
    way, logs = tables.list_ways(values[None])[0], np.empty(2)
    return kernels.compute_case_log_chances(cells, is_known, way, tables.served, logs)


def learn(dataset, budgets):
    """Return terms learned on two folds."""
    n_rows = dataset.n_samples
    folds = [np.arange(0, n_rows, 2), np.arange(1, n_rows, 2)]
    return fit_asking_terms(fit_held_out_tables(count(dataset), folds, 0), budgets)[0]


def play(tables, dataset, budget, power=1.0):
    every = np.ones(len(dataset.catalogue.features), np.bool_)
    cases = make_cases(tables, dataset.values, every)
    terms = make_terms(dataset.catalogue, AskingTerms(0, power))
    return play_askings(tables, dataset.catalogue, cases, budget, terms, every)


@pytest.mark.parametrize("seed", range(2))
def test_multiplexer_of_1000_rows_is_exact_at_four_questions(seed: int) -> None:
    tables = fit_tables(count(multiplex(1000, seed)), 0)
    tested = multiplex(500, seed + 100)
    ends = play(tables, tested, 4 * MICROS)
    assert (ends.logs.argmax(axis=1) == tested.targets).all()
    assert (ends.spent <= 4 * MICROS).all()


def test_gates_are_the_address(tables: PartTables) -> None:
    gates = {part.gate.feature_idxs for part in tables.parts if part.gate}
    assert gates == {(0,), (1,), (2,)}


def test_budget_of_one_never_asks_a_gate_that_alone_tells_nothing(
    tables: PartTables,
) -> None:
    ends = play(tables, multiplex(200, 7), MICROS)
    assert (ends.ranks[:, :N_ADDRESS] == 0).all()


def test_refused_gate_goes_on_by_its_parent(tables: PartTables) -> None:
    values = multiplex(1, 3).values[0]
    first = tables.parts[ROOT].gate.feature_idxs[0]
    is_known = np.ones(N_FEATURES, np.bool_)
    is_known[first] = False
    assert find_part(tables, values, is_known) == ROOT
    is_known[first] = True
    child = tables.parts[ROOT].children[int(values[first])]
    second = tables.parts[child].gate.feature_idxs[0]
    is_known[second] = False
    assert find_part(tables, values, is_known) == child


def test_posterior_does_not_depend_on_the_order_of_what_is_known(
    tables: PartTables,
) -> None:
    dataset = multiplex(20, 9)
    ends = play(tables, dataset, 4 * MICROS)
    for row, values in enumerate(dataset.values):
        is_known = ends.ranks[row] > 0
        assert find_part(tables, values, is_known) == ends.parts[row]
        expected = tables.score(values[None], is_known)[0]
        assert np.array_equal(ends.logs[row], expected)


@pytest.mark.parametrize("seed", range(4))
def test_shuffled_labels_have_no_gate(seed: int) -> None:
    dataset = multiplex(600, seed)
    shuffled = np.random.default_rng(seed).permutation(dataset.targets)
    rows = count(make_dataset(dataset.values, shuffled))
    assert len(fit_tables(rows, 0).parts) == 1


def test_blend_reads_the_tables_of_the_parts_that_are_known() -> None:
    dataset = multiplex(1000, 0)
    folds = [np.arange(0, 1000, 2), np.arange(1, 1000, 2)]
    held_out = fit_held_out_tables(count(dataset), folds, 0)
    whole, address = held_out.predict(range(N_FEATURES)), range(N_ADDRESS)
    assert ((whole[:, 0] > 0) == dataset.targets).all()
    without = [idx for idx in range(N_FEATURES) if idx not in address]
    assert ((held_out.predict(without)[:, 0] > 0) == dataset.targets).mean() < 0.9


def test_bundle_gates_by_its_largest_member() -> None:
    random = np.random.default_rng(1)
    parts, others = random.integers(0, 3, 600), random.normal(size=(600, 3))
    values = np.column_stack((np.eye(3)[parts], others))
    targets = (others[np.arange(600), parts] > 0).astype(np.int64)
    features = tuple(
        Feature(f"x{idx}", cost=0, group="site") if idx < 3 else Feature(f"x{idx}")
        for idx in range(6)
    )
    catalogue = Catalogue(features, (Group("site", price=MICROS),))
    dataset = make_dataset(values, targets, catalogue)
    tables = fit_tables(count(dataset), 0)
    root = tables.parts[ROOT]
    assert root.gate.kind == "largest"
    ends = play(tables, dataset, 2 * MICROS)
    assert (ends.logs.argmax(axis=1) == targets).mean() > 0.95
    assert (ends.spent == 2 * MICROS).all()
    # A case whose bundle has a missing value has no part.
    lost = values[:1].copy()
    lost[0, 1] = np.nan
    assert tables.list_ways(lost)[0, ROOT] == NOWHERE


def describe(tables: PartTables, number: int) -> naive.Part:
    part, starts = tables.parts[number], tables.cells.starts
    chances = np.exp(part.log_chances)
    return {
        "n_rows": part.n_rows,
        "shares": np.exp(part.log_shares).tolist(),
        "tables": [chances[a:b].tolist() for a, b in itertools.pairwise(starts)],
        "gate": part.gate.feature_idxs[0] if part.gate else None,
        "children": [
            describe(tables, child) for child in part.children if child != NOWHERE
        ],
    }


@at_most(30)
@given(seed=SEEDS, power=st.sampled_from((0.0, 0.5, 1.0)))
def test_next_question_is_that_of_the_twin(tables, seed: int, power: float) -> None:
    random = np.random.default_rng(seed)
    prices = random.integers(1, 5, N_FEATURES) * MICROS
    is_open = random.random(N_FEATURES) < 0.8
    left = int(random.integers(0, 12)) * MICROS
    posterior = random.dirichlet((1.0, 1.0))
    terms = kernels.RateTerms(power, float(MICROS), kernels.NONE)
    asked, _, _ = kernels.choose_look(
        posterior, ROOT, kernels.Offers(is_open, prices, left), tables.served, terms
    )
    payable = {idx: float(prices[idx]) for idx in np.flatnonzero(is_open).tolist()}
    whole = describe(tables, ROOT)
    expected = naive.choose_look(posterior, whole, payable, left, power, MICROS)
    assert (None if asked == kernels.NONE else asked) == expected


def test_prices_and_budget_may_be_scaled_together(tables: PartTables) -> None:
    once = multiplex(50, 5)
    features = tuple(Feature(f"x{idx}", cost=3 * MICROS) for idx in range(N_FEATURES))
    thrice = multiplex(50, 5, Catalogue(features))
    ends, others = play(tables, once, 4 * MICROS), play(tables, thrice, 12 * MICROS)
    assert np.array_equal(ends.ranks, others.ranks)


def test_terms_are_learned_without_the_played_rows() -> None:
    dataset = multiplex(600, 2)
    worth = learn(dataset, [MICROS, 4 * MICROS])
    # Small multiples of the usual price between the rungs have terms, too.
    budgets = [n_questions * MICROS for n_questions in (1, 2, 3, 4)]
    assert [terms.least_budget for terms in worth.terms] == budgets
    assert worth.terms_at(0) == worth.terms[0]
    assert worth.terms_at(3 * MICROS - 1) == worth.terms[1]
    assert worth.terms_at(None) == worth.terms[-1]
    assert set(worth.feature_idxs) >= {0, 1, 2}
    assert worth.terms[-1].first in {None, 0, 1, 2}
    assert learn(dataset, [MICROS, 4 * MICROS]) == worth


def test_few_rows_have_terms_without_folds() -> None:
    random = np.random.default_rng(0)
    dataset = make_dataset(random.normal(size=(3, 2)), np.array([0, 0, 1]))
    assert len(learn(dataset, [MICROS]).terms) == 1


def test_free_features_have_terms_at_the_rungs_alone() -> None:
    random = np.random.default_rng(0)
    catalogue = Catalogue(tuple(Feature(name, cost=0) for name in "ab"))
    dataset = make_dataset(random.normal(size=(30, 2)), random.integers(0, 2, 30))
    free = learn(replace(dataset, catalogue=catalogue), [0])
    assert [terms.least_budget for terms in free.terms] == [0]


def test_gates_end_at_the_most_parts_and_the_most_gates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = count(multiplex(1000, 0))
    monkeypatch.setattr(gates, "MOST_GATES", 1)
    shallow = fit_tables(rows, 0)
    monkeypatch.setattr(gates, "MOST_PARTS", 2)
    whole = fit_tables(rows, 0)
    assert len(shallow.parts) == 3
    assert len(whole.parts) == 1


def test_part_behind_values_of_few_rows_is_the_parents(tables: PartTables) -> None:
    root = replace(tables.parts[ROOT], children=(NOWHERE, NOWHERE))
    lone = replace(tables, parts=(root,))
    known = np.ones(N_FEATURES, np.bool_)
    assert find_part(lone, np.zeros(N_FEATURES), known) == ROOT


def test_values_of_few_rows_lead_to_no_part_of_their_own() -> None:
    rows = count(multiplex(100, 0))
    split = Split((0,), "cuts", np.array([0.5]))
    gate = Candidate(split, (np.arange(100) >= 10).astype(np.int64), (0,))
    counts, sums = rows.count(np.arange(100)), rows.count_classes(np.arange(100))
    whole = Growing(0, np.arange(100), (), rows.mix(counts), compute_class_shares(sums))
    [(way, child, _)] = split_by_gate(rows, whole, gate, 1)
    assert (way, child.number, child.row_idxs.size) == (1, 1, 90)


def test_bundle_of_one_number_gates_by_its_values() -> None:
    features = Feature("a", group="b"), Feature("b"), Feature("c", type="category")
    features += (Feature("d", group="d"),)
    catalogue = Catalogue(features, (Group("b", price=1), Group("d", price=1)))
    random = np.random.default_rng(0)
    values = random.integers(0, 2, (200, 4)).astype(np.float64)
    values[:, 3] = 7.0
    # More codes than a gate has ways.
    values[:, 2] = np.arange(200) % 40
    dataset = make_dataset(values, values[:, 0].astype(np.int64), catalogue)
    growing = gates.Growing(0, np.arange(200), (), np.empty((0, 0)), np.empty(0))
    offers = [found.offer for found in gates.list_candidates(count(dataset), growing)]
    used = growing._replace(path=(((0,), 0),))
    others = [found.offer for found in gates.list_candidates(count(dataset), used)]
    assert offers == [(1,), (0,)]
    assert others == [(1,)]


def test_rows_behind_a_way_of_few_rows_gain_nothing() -> None:
    rows = count(multiplex(200, 0))
    ways = np.arange(200) // 2 % 2
    ways[:10] = 2
    split = Split((0,), "codes", np.array([0.0, 1.0, 2.0]))
    everyone = np.arange(200)
    growing = Growing(0, everyone, (), np.empty((0, 0)), np.empty(0))
    folds = [np.arange(0, 200, 2), np.arange(1, 200, 2)]

    [gains] = gates.measure_gains(
        rows, growing, [Candidate(split, ways, (0,))], folds, rows.shrink
    )

    assert (gains[:10] == 0).all()
    assert (gains[10:] != 0).all()
