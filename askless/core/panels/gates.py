"""Find gates: features whose values part the table into rows with other tables.

A gate is judged with all features known. Its gain is that in log-likelihood of held-out
rows by the tables of its parts over those of the whole, so that the evidence of many
features adds up, and a gate is found that alone says nothing about the class.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, FloatArray, IntArray, evenly_spaced
from askless.core.codes.cuts import compute_midpoints
from askless.core.codes.folds import deal_strata
from askless.core.model.ladder.splits import NOWHERE, Split
from askless.core.model.ladder.tables import PartTable, PartTables
from askless.core.panels.tables import (
    FEW_STEPS,
    MANY_STEPS,
    NO_PARENT,
    CountedRows,
    HeldOutTables,
    compute_class_shares,
    make_part,
)

# Least rows of a part, and the share of them that a part needs without a fold.
LEAST_ROWS, WITHOUT_FOLD = 40, 0.7

# Gates from the root down, and parts, at most: asking costs parts times cells.
MOST_GATES, MOST_PARTS = 3, 32

# Folds that judge a gate, and how many gates are judged by interpolated tables.
N_FOLDS, N_JUDGED = 4, 4

# A gate gains so much log-likelihood a row, and so many standard errors.
LEAST_GAIN, N_ERRORS = 0.01, 3.0

# A number of at most so many values has a way for each; a gate has at most MOST_WAYS.
FEW_VALUES, MOST_WAYS = 6, 12

# Rows times features, gates and classes that a search reads at most; its least rows.
MOST_READ, LEAST_READ = 500_000_000, 1000

Make = Callable[[FloatArray, FloatArray], FloatArray]


class Candidate(NamedTuple):
    """A possible gate, the part of each row by it, and what is bought with it."""

    split: Split
    #: (n_rows,), the way of each row, -1 where its values decide nothing
    ways: IntArray
    #: features that are known together with the gate
    offer: tuple[int, ...]


Path = tuple[tuple[tuple[int, ...], int], ...]
#: by the path that leads to a part: the offers of gates to judge
Proposals = dict[Path, list[tuple[int, ...]]]


class Growing(NamedTuple):
    """A part whose gate is still to be found."""

    number: int
    row_idxs: IntArray
    #: the offers of the gates that lead to it, each with the way taken
    path: Path
    chances: FloatArray
    shares: FloatArray

    @property
    def used(self) -> tuple[int, ...]:
        """Features of the gates that lead to it."""
        return tuple(idx for offer, _ in self.path for idx in offer)


def fit_tables(
    rows: CountedRows,
    seed: int,
    row_idxs: IntArray | None = None,
    proposals: Proposals | None = None,
) -> PartTables:
    """Return tables of some rows, by default all, for the parts of nested gates.

    The widest parts come first, until there are `MOST_PARTS`. `proposals` has the gates
    that other rows have ranked best, and gets those of parts that it lacks.
    """
    known = {} if proposals is None else proposals
    everyone = np.arange(rows.dataset.n_samples) if row_idxs is None else row_idxs
    sums = rows.count_classes(everyone)
    chances, shares = rows.mix(rows.count(everyone)), compute_class_shares(sums)
    parts = [make_part(float(sums.sum()), shares, chances, mark_cells(rows, ()))]
    waiting = [Growing(0, everyone, (), chances, shares)]
    while waiting:
        growing = waiting.pop(0)
        gate = choose_gate(rows, growing, seed, known)
        if gate is None:
            continue
        children = list(split_by_gate(rows, growing, gate, len(parts)))
        if len(parts) + len(children) > MOST_PARTS:
            break
        ways = np.full(gate.split.n_parts, NOWHERE)
        for way, child, part in children:
            ways[way] = child.number
            parts.append(part)
            if count_gates(parts, child.number) < MOST_GATES:
                waiting.append(child)
        before = parts[growing.number]
        parts[growing.number] = replace(
            before, gate=gate.split, children=tuple(ways.tolist())
        )
    return PartTables(rows.cuts, rows.is_category, rows.has_missing, tuple(parts))


def fit_held_out_tables(
    rows: CountedRows, folds: Sequence[IntArray], seed: int
) -> HeldOutTables:
    """Return tables of all rows, and of the rows without each fold."""
    everyone = np.arange(rows.dataset.n_samples)
    proposals: Proposals = {}
    whole = fit_tables(rows, seed, proposals=proposals)
    by_fold = [
        fit_tables(rows, seed, np.setdiff1d(everyone, fold), proposals)
        for fold in folds
    ]
    return HeldOutTables(rows, whole, by_fold, folds)


def count_gates(parts: Sequence[PartTable], number: int) -> int:
    """Return the number of gates that lead to a part."""
    above = [at for at, part in enumerate(parts) if number in part.children]
    return 1 + count_gates(parts, above[0]) if above else int(number > 0)


def mark_cells(rows: CountedRows, feature_idxs: Sequence[int]) -> BoolArray:
    """Return which cells belong to some features; (n_cells,)."""
    is_marked = np.zeros(rows.n_cells, np.bool_)
    for idx in feature_idxs:
        is_marked[rows.cells.starts[idx] : rows.cells.starts[idx + 1]] = True
    return is_marked


def split_by_gate(
    rows: CountedRows, above: Growing, gate: Candidate, number: int
) -> Iterator[tuple[int, Growing, PartTable]]:
    """Yield the way, the part to grow and the tables of each part of a gate.

    `number` is that of the first part. A part of too few rows has no tables.
    """
    used = (*above.used, *gate.offer)
    for way in range(gate.split.n_parts):
        row_idxs = above.row_idxs[gate.ways == way]
        if row_idxs.size < LEAST_ROWS:
            continue
        sums = rows.count_classes(row_idxs)
        chances = rows.mix(rows.count(row_idxs), above.chances, MANY_STEPS)
        shares = compute_class_shares(sums, above.shares)
        part = make_part(float(sums.sum()), shares, chances, mark_cells(rows, used))
        path = (*above.path, (gate.offer, way))
        yield way, Growing(number, row_idxs, path, chances, shares), part
        number += 1


def choose_gate(
    rows: CountedRows, growing: Growing, seed: int, proposals: Proposals
) -> Candidate | None:
    """Return the gate of a part that gains most on held-out rows, or None.

    Quick tables rank all gates, unless they are known, and interpolated tables judge
    the best of those that gain anything by them.
    """
    if growing.row_idxs.size < 2 * LEAST_ROWS:
        return None
    searched = thin_rows_of_part(rows, growing)
    folds = deal_strata(rows.dataset.take(searched.row_idxs), N_FOLDS, seed)
    candidates = list(list_candidates(rows, searched))
    if not folds or not candidates:
        return None
    if growing.path not in proposals:
        quick: Make = rows.shrink
        gains = measure_gains(rows, searched, candidates, folds, quick)
        means = np.array([gain.mean() for gain in gains])
        best = np.argsort(-means, kind="stable")[:N_JUDGED].tolist()
        helping = [place for place in best if means[place] > 0.0]
        proposals[growing.path] = [candidates[place].offer for place in helping]
    by_offer = {candidate.offer: candidate for candidate in candidates}
    proposed = proposals[growing.path]
    judged = [by_offer[offer] for offer in proposed if offer in by_offer]
    if not judged:
        return None

    def slow(counts: FloatArray, parent: FloatArray) -> FloatArray:
        return rows.mix(counts, parent, FEW_STEPS)

    gains = measure_gains(rows, searched, judged, folds, slow)
    groups = rows.dataset.row_group_idxs[searched.row_idxs]
    weights = rows.weights[searched.row_idxs]
    pairs = [mean_and_standard_error(gain, weights, groups) for gain in gains]
    place = max(range(len(judged)), key=lambda position: pairs[position][0])
    mean, error = pairs[place]
    if mean <= LEAST_GAIN or mean <= N_ERRORS * error:
        return None
    # The rows of a search may be a sample; the gate parts all of them.
    best_gate: Candidate = judged[place]
    ways = best_gate.split.assign_parts(rows.dataset.values[growing.row_idxs])
    return Candidate(best_gate.split, ways, best_gate.offer)


def thin_rows_of_part(rows: CountedRows, growing: Growing) -> Growing:
    """Return at most so many of the rows of a part that a search takes seconds."""
    n_features = rows.coded.shape[1]
    most = max(LEAST_READ, MOST_READ // (n_features**2 * rows.n_classes))
    places = evenly_spaced(growing.row_idxs.size, most)
    return growing._replace(row_idxs=growing.row_idxs[places])


def mean_and_standard_error(
    gains: FloatArray, weights: FloatArray, groups: IntArray
) -> tuple[float, float]:
    """Return the mean gain of rows and its standard error; a row group is one case."""
    shares = weights / weights.sum()
    mean = float(gains @ shares)
    sums = np.bincount(groups, shares * (gains - mean))
    return mean, math.sqrt(float((sums**2).sum()))


def list_candidates(rows: CountedRows, growing: Growing) -> Iterator[Candidate]:
    """Yield the gates that a part may have: a split of each offer not used above."""
    catalogue = rows.dataset.catalogue
    values = rows.dataset.values[growing.row_idxs]
    bundles: dict[int, list[int]] = {}
    for idx in range(values.shape[1]):
        if catalogue.is_bundled[idx]:
            bundles.setdefault(int(catalogue.group_idxs[idx]), []).append(idx)
            continue
        split = split_feature(values[:, idx], idx, bool(rows.is_category[idx]))
        if split is not None and idx not in growing.used:
            yield Candidate(split, split.assign_parts(values), (idx,))
    for members in bundles.values():
        if members[0] in growing.used or rows.is_category[members].any():
            continue
        offer = tuple(members)
        split = Split(offer, "largest", np.empty(0))
        if len(members) == 1:
            split = split_feature(values[:, offer[0]], offer[0], is_category=False)
        if split is not None and len(members) <= MOST_WAYS:
            yield Candidate(split, split.assign_parts(values), offer)


def split_feature(column: FloatArray, idx: int, is_category: bool) -> Split | None:
    """Return the split of a feature's values: by code, by value, or at the median."""
    known, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    if is_category:
        known = known[known >= 0]
        if not 2 <= known.size <= MOST_WAYS:
            return None
        return Split((idx,), "codes", known)
    if known.size < 2:
        return None
    places = np.arange(known.size - 1)
    if known.size > FEW_VALUES:
        # The last value of the lower half; the greatest can't have a cut above it.
        below = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2.0))
        places = np.array([min(below, known.size - 2)])
    return Split((idx,), "cuts", compute_midpoints(known[places], known[places + 1]))


def measure_gains(
    rows: CountedRows,
    growing: Growing,
    candidates: Sequence[Candidate],
    folds: Sequence[IntArray],
    make: Make,
) -> list[FloatArray]:
    """Return the gain in log-likelihood of each row by each candidate's parts.

    The tables of parts and of the whole are made without the row's fold. Rows of parts
    without tables gain nothing. `make` makes tables of counts and a parent's tables.
    """
    row_idxs = growing.row_idxs
    whole = rows.count(row_idxs)
    pooled = growing.chances if growing.used else rows.mix(whole, NO_PARENT, FEW_STEPS)
    every = np.ones(rows.coded.shape[1], np.bool_)
    every[list(growing.used)] = False
    gains = [np.zeros(row_idxs.size) for _ in candidates]
    for fold in folds:
        judged = row_idxs[fold]
        chances = make(whole - rows.count(judged), pooled)
        is_seen = np.ones(row_idxs.size, np.bool_)
        is_seen[fold] = False
        shares = compute_class_shares(rows.count_classes(row_idxs[is_seen]))
        losses = compute_losses(rows, judged, every, (chances, shares))
        tables = FoldTables(row_idxs, fold, is_seen, (chances, shares), losses)
        for gain, candidate in zip(gains, candidates, strict=True):
            is_used = every.copy()
            is_used[list(candidate.offer)] = False
            gain[fold] = compute_fold_gains(rows, tables, candidate, is_used, make)
    return gains


class FoldTables(NamedTuple):
    """The tables of a part without a fold, and what its rows lose by them."""

    #: the rows of the part
    row_idxs: IntArray
    #: which of them the fold has, and which not
    fold: IntArray
    is_seen: BoolArray
    #: chances of cells, and shares of classes
    tables: tuple[FloatArray, FloatArray]
    #: (n_fold_rows,)
    losses: FloatArray


def compute_fold_gains(
    rows: CountedRows,
    tables: FoldTables,
    candidate: Candidate,
    is_used: BoolArray,
    make: Make,
) -> FloatArray:
    """Return the gain of each row of a fold by the tables of a candidate's parts."""
    chances, shares = tables.tables
    gains = np.zeros(tables.fold.size)
    if count_large_parts(candidate.ways[tables.is_seen]) < 2:
        return gains
    for way in range(candidate.split.n_parts):
        is_in_part = candidate.ways == way
        is_judged = is_in_part[tables.fold]
        judged = tables.row_idxs[tables.fold[is_judged]]
        seen = tables.row_idxs[is_in_part & tables.is_seen]
        if not judged.size or seen.size < WITHOUT_FOLD * LEAST_ROWS:
            continue
        own = make(rows.count(seen), chances)
        own_shares = compute_class_shares(rows.count_classes(seen), shares)
        losses = compute_losses(rows, judged, is_used, (own, own_shares))
        gains[is_judged] = tables.losses[is_judged] - losses
    return gains


def count_large_parts(ways: IntArray) -> int:
    """Return the number of parts that have enough rows without a fold."""
    sizes = np.bincount(ways[ways >= 0])
    return int((sizes >= WITHOUT_FOLD * LEAST_ROWS).sum())


def compute_losses(
    rows: CountedRows,
    row_idxs: IntArray,
    is_used: BoolArray,
    tables: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Return the log-loss of some rows by chances of cells and shares of classes."""
    chances, shares = tables
    logs = np.tile(np.log(shares), (row_idxs.size, 1))
    kernels.add_logs(rows.coded, row_idxs, is_used, np.log(chances), logs)
    losses = np.empty(row_idxs.size)
    kernels.write_losses(logs, rows.targets, row_idxs, losses)
    return losses
