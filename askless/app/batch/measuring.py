"""Measure error and spend on labelled rows, under budgets or aims."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from askless.app.batch.budgets import Naming, largest_budget
from askless.app.batch.curves import list_thresholds
from askless.app.batch.labelled import (
    LabelledTerms,
    check_options,
    columns_to_label,
    label_part,
    refuse_labelled,
)
from askless.app.batch.predicting import BatchProgress
from askless.app.batch.sources import PartReader, RowSource
from askless.app.batch.table_checks import refuse_unseen_rows
from askless.app.processes.pool import map_in_processes
from askless.core.arrays import FloatArray, IntArray
from askless.core.errors import RefusedError
from askless.core.model.model import Curve, Model
from askless.core.model.rows import UnseenNames, empty_refusals, warn_unseen
from askless.core.session.state import StopRule
from askless.core.simulation.blocks import (
    Block,
    Conditions,
    choose_stride,
    simulate_block,
    slice_kept_rows,
)
from askless.core.simulation.curve_sums import CurveSums, add_pairwise, sum_rows
from askless.core.simulation.early import (
    EarlyPlan,
    EarlyPoint,
    average_early_stops,
    plan_early_stops,
    sum_early_stops,
)
from askless.core.simulation.figures import ScoredRows, compute_figures
from askless.core.simulation.purchases import (
    Lists,
    merge_lists,
    sum_block_lists,
    summarise_lists,
)
from askless.core.simulation.row_groups import GroupSums
from askless.core.table.columns import Cells, scale_weights
from askless.core.table.spec import TableSpec

# Rows played between two reports of progress.
BLOCK_ROWS = 1 << 14


@dataclass(frozen=True)
class EvaluateOrder:
    """Conditions and options of a measurement."""

    played: Conditions
    table: TableSpec
    threshold: float | None = None
    #: as the user typed them
    aims: tuple[str, ...] = ()
    early: StopRule | None = None
    #: whether the lists of questions are counted, which plays each row once more
    has_lists: bool = False
    #: whether most cells of a column may be unseen in training
    accept_unseen: bool = False


@dataclass(frozen=True)
class MeasureWork:
    """Measures parts of a table, in any process."""

    terms: LabelledTerms
    played: Conditions
    #: every `stride`-th row is kept for figures
    stride: int
    early: list[EarlyPlan]
    has_lists: bool = False

    def play(self, reader: PartReader) -> Iterator["MeasuredRows"]:
        """Measure the rows of a part, `BLOCK_ROWS` at a time."""
        part = reader.read()
        labelled = label_part(part, self.terms)
        for start in range(0, part.n_rows, BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            n_before = part.start + start
            weights, targets = labelled.weights[rows], labelled.targets[rows]
            streams = range(n_before, n_before + len(weights))
            block = Block(labelled.values[rows], targets, streams, n_before)
            groups = labelled.groups and labelled.groups[rows]
            # Those of the whole part are told with its first rows.
            unseen = UnseenNames() if start else labelled.unseen
            yield self.measure(block, weights, groups, unseen)

    def measure(
        self,
        block: Block,
        weights: FloatArray,
        groups: Cells | None,
        unseen: UnseenNames,
    ) -> "MeasuredRows":
        """Play some rows; return sums over the ends of their sessions."""
        ensemble = self.terms.ensemble
        ends = simulate_block(ensemble, block, self.played, self.stride)
        row_slice = slice_kept_rows(block.n_before, self.stride)
        return MeasuredRows(
            sum_rows(weights, ends.wrong_votes, ends.wrong_labels, ends.spent),
            [sum_early_stops(ensemble, plan, block, weights) for plan in self.early],
            weights,
            groups,
            row_slice,
            KeptRows(block.targets[row_slice], weights[row_slice], ends.chances),
            unseen,
            sum_block_lists(ensemble, block, weights, self.played)
            if self.has_lists
            else [],
        )


class KeptRows(NamedTuple):
    """Rows that figures are computed from; weights are not scaled yet."""

    targets: IntArray
    weights: FloatArray
    chances: FloatArray


class MeasuredRows(NamedTuple):
    """The sums of some rows."""

    sums: CurveSums
    early: list[tuple[Fraction, ...]]
    weights: FloatArray
    groups: Cells | None
    #: positions of the rows in `scored`
    kept: slice
    scored: KeptRows
    unseen: UnseenNames
    #: by condition
    lists: list[Lists]


class MeasuredTable(NamedTuple):
    """The result of a whole table; `early` is None unless it was ordered."""

    curve: Curve
    early: list[EarlyPoint] | None
    warnings: list[str]
    #: by condition, if they were ordered: how many lists of questions there are, and
    #: the share of the rows' weight that gets the commonest
    lists: list[tuple[int, float]]


Measuring = Generator[BatchProgress, None, MeasuredTable]


def plan_measuring(
    stored: Model, source: RowSource, order: EvaluateOrder, naming: Naming
) -> MeasureWork:
    """Check names of columns and plan the measuring; cells are checked when played."""
    ensemble, played = stored.ensemble, order.played
    if not source.n_rows:
        raise RefusedError(empty_refusals(0))
    terms = LabelledTerms(ensemble, order.table, largest_budget(played.budgets))
    names = dict.fromkeys(source.names, np.empty(0))
    if check_options(names, order.table, naming) or not has_target(source, terms):
        refuse_labelled(source, terms, naming)
    if not order.accept_unseen:
        refuse_unseen_rows(source, ensemble, naming("accept_unseen"))
    early = []
    if order.early is not None:
        early = plan_early_stops(
            ensemble, played.budgets, order.early, played.policy, played.seed
        )
    stride = choose_stride(ensemble, source.n_rows, len(played.budgets))
    return MeasureWork(terms, played, stride, early, order.has_lists)


def has_target(source: RowSource, terms: LabelledTerms) -> bool:
    """Return whether the table has the column with the classes."""
    target = terms.table.target
    return target in source.names or target.strip() in source.names


def check_labelled(source: RowSource, work: MeasureWork, naming: Naming) -> list[str]:
    """Check every row without playing it; return warnings."""
    ensemble, choice = work.terms.ensemble, columns_to_label(source, work.terms)
    unseen = UnseenNames()
    has_weight = False
    try:
        for number in range(len(source.spans)):
            part = label_part(source.part(number, choice).read(), work.terms)
            unseen += part.unseen
            has_weight |= bool(part.weights.any())
    except RefusedError:
        # Refuse it again, with every broken rule and row numbers of the whole table.
        refuse_labelled(source, work.terms, naming)
        raise
    # A rule of the whole table: some row must have a weight above 0.
    if not has_weight:
        refuse_labelled(source, work.terms, naming)
    return warn_unseen(ensemble, unseen)


def measure_source(
    source: RowSource,
    work: MeasureWork,
    order: EvaluateOrder,
    naming: Naming,
    n_processes: int = 1,
) -> Measuring:
    """Measure every row; raises RefusedError with every broken rule of the table.

    The result does not depend on how the rows are cut into parts.
    """
    choice = columns_to_label(source, work.terms)
    readers = (source.part(span_idx, choice) for span_idx in range(len(source.spans)))
    whole = WholeSums(work)
    try:
        for measured in map_in_processes(work.play, readers, n_processes):
            whole.add(measured)
            yield BatchProgress(whole.n_rows / source.n_rows)
    except RefusedError:
        # Refuse it again, with every broken rule and row numbers of the whole table.
        refuse_labelled(source, work.terms, naming)
        raise
    # A rule of the whole table: some row must have a weight above 0.
    if not whole.has_weight:
        refuse_labelled(source, work.terms, naming)
    return whole.compute_table(order.threshold)


class WholeSums:
    """The sums of a whole table, added up in the order of its rows."""

    def __init__(self, work: MeasureWork) -> None:
        self.work = work
        self.sums: CurveSums | None = None
        zeros: tuple[Fraction, ...] = (Fraction(0),) * 4
        self.early = [zeros for _ in work.early]
        self.groups = GroupSums() if work.terms.table.group_by else None
        self.group_idxs: list[IntArray] = []
        self.kept: list[KeptRows] = []
        self.unseen = UnseenNames()
        n_counted = len(work.played.budgets) if work.has_lists else 0
        self.lists: list[Lists] = [{}] * n_counted

    @property
    def n_rows(self) -> int:
        """Number of rows added so far."""
        return 0 if self.sums is None else self.sums.n_samples

    @property
    def has_weight(self) -> bool:
        """Whether any row so far has a weight above 0."""
        return self.sums is not None and self.sums.weight > 0

    def add(self, rows: MeasuredRows) -> None:
        """Add the sums of the next rows."""
        self.sums = rows.sums if self.sums is None else self.sums + rows.sums
        pairs = zip(self.early, rows.early, strict=True)
        self.early = [add_pairwise(sums, more) for sums, more in pairs]
        if self.groups is not None and rows.groups is not None:
            numbers = self.groups.add(rows.groups, rows.weights)
            self.group_idxs.append(numbers[rows.kept])
        self.kept.append(rows.scored)
        self.unseen += rows.unseen
        self.lists = list(map(merge_lists, self.lists, rows.lists))

    def compute_table(self, threshold: float | None) -> MeasuredTable:
        """Return curve, figures and early stops of all rows."""
        assert self.sums is not None, "a table has a row"
        work, ensemble = self.work, self.work.terms.ensemble
        held = None if self.groups is None else self.groups.held
        curve = self.sums.to_curve(work.played.budgets, held)
        scored = self.collect_scored()
        # Rows without weight have no figures.
        if scored is not None:
            thresholds = list_thresholds(ensemble, work.played)
            figures = compute_figures(ensemble, scored, threshold, thresholds)
            curve = replace(curve, predictive=figures)
        early = None
        if work.early:
            pairs = zip(work.early, self.early, strict=True)
            early = [average_early_stops(*pair, self.sums.weight) for pair in pairs]
        lists = [summarise_lists(lists) for lists in self.lists]
        warnings = warn_unseen(ensemble, self.unseen)
        return MeasuredTable(curve, early, warnings, lists)

    def collect_scored(self) -> ScoredRows | None:
        """Return rows for figures, with scaled weights; None if all weights are 0."""
        columns = zip(*self.kept, strict=True)
        targets, weights, chances = (np.concatenate(column) for column in columns)
        if not weights.any():
            return None
        group_idxs = np.arange(len(targets))
        if self.groups is not None:
            ranks = self.groups.rank(np.concatenate(self.group_idxs))
            group_idxs = np.unique(ranks, return_inverse=True)[1]
        return ScoredRows(targets, scale_weights(weights), group_idxs, chances)
