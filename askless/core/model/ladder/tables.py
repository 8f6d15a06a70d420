"""Hold class-conditional tables of parts: what each value says about the class.

Given the class and the part of the table, features are taken as independent. What is
not known is left out of the posterior, which marginalises it exactly.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from annotated_types import Interval, Len

from askless.core import kernels
from askless.core.arrays import Arrays, BoolArray, Derived, FloatArray, IntArray
from askless.core.model.ladder.splits import NOWHERE, Split
from askless.core.model.ranges import Each, Numbers

# The part of a case that no gate sends on.
ROOT = 0

LogChances = Annotated[FloatArray, Interval(ge=-100, le=0)]
Part = Annotated[int, Interval(ge=NOWHERE, le=2**31)]


@dataclass(frozen=True, eq=False)
class PartTable(Arrays):
    """The tables of one part; with a gate, the parts that its values lead to."""

    #: effective number of rows
    n_rows: Annotated[float, Interval(ge=0, le=2**53)]
    #: (n_classes,), log shares of the classes
    log_shares: Annotated[LogChances, Each("classes")]
    #: (n_cells, n_classes), log chance of each cell given the class
    log_chances: LogChances
    gate: Split | None = None
    #: for each value of the gate the position of its part, or `NOWHERE`
    children: tuple[Part, ...] = ()


@dataclass(frozen=True, eq=False)
class PartTables(Arrays, Derived):
    """Tables of the whole, the root, and of the parts that gates lead to."""

    #: of each feature: cuts of a number, ascending, or codes of a category
    cuts: Annotated[tuple[Numbers, ...], Each("features")]
    #: (n_features,)
    is_category: Annotated[BoolArray, Each("features")]
    #: (n_features,), whether a missing value is information, and so has a cell
    has_missing: Annotated[BoolArray, Each("features")]
    #: the root first; each part stands after the one that leads to it
    parts: Annotated[tuple[PartTable, ...], Len(1)]

    @cached_property
    def cells(self) -> kernels.CellLayout:
        """How values become cells, as kernels read it."""
        return make_cells(self.cuts, self.is_category, self.has_missing)

    @cached_property
    def served(self) -> kernels.TableParts:
        """All parts as kernels ask by them."""
        shares = np.array([part.log_shares for part in self.parts])
        arrivals = np.zeros(shares.shape)
        most = max(1, *(len(part.children) for part in self.parts), 1)
        gates = [part.gate.feature_idxs if part.gate else () for part in self.parts]
        n_most = max(1, *map(len, gates), 1)
        children = np.full((len(gates), most), NOWHERE, np.int64)
        features = np.full((len(gates), n_most), NOWHERE, np.int64)
        for number, part in enumerate(self.parts):
            children[number, : len(part.children)] = part.children
            features[number, : len(gates[number])] = gates[number]
            own = [child for child in part.children if child != NOWHERE]
            if own:
                sizes = np.array([self.parts[child].n_rows for child in own])
                reached = np.exp(shares[own]) * sizes[:, None]
                arrivals[own] = reached / reached.sum(axis=0)
        logs = np.array([part.log_chances for part in self.parts])
        spreads = measure_spreads(np.exp(logs), self.cells)
        return kernels.TableParts(
            self.cells,
            np.exp(logs),
            logs,
            spreads,
            shares,
            arrivals,
            children,
            features,
        )

    @cached_property
    def gates(self) -> list[tuple[int, Split, IntArray]]:
        """The numbers of parts with a gate, it, and the parts that it leads to."""
        return [
            # Cases whose gate is missing read the last place.
            (number, part.gate, np.append(part.children, NOWHERE).astype(np.int64))
            for number, part in enumerate(self.parts)
            if part.gate is not None
        ]

    def find_cells(self, values: FloatArray, is_known: BoolArray) -> IntArray:
        """Return the cells of rows; (n_rows, n_features), (n_features,).

        A value that is not known has none, nor a missing one that says nothing.
        """
        coded = np.empty(values.shape, np.int64)
        # A copy of what is known: kernels are compiled for arrays that can be written.
        rows, is_known = np.ascontiguousarray(values), is_known.copy()
        kernels.code_cells(rows, is_known, self.cells, coded)
        return coded

    def list_ways(self, values: FloatArray) -> IntArray:
        """Return the part that each part's gate leads rows to; (n_rows, n_parts)."""
        ways = np.full((len(values), len(self.parts)), NOWHERE, np.int64)
        for number, gate, children in self.gates:
            ways[:, number] = children[gate.assign_parts(values)]
        return ways

    def score(
        self, values: FloatArray, is_known: BoolArray, coded: IntArray | None = None
    ) -> FloatArray:
        """Return log chances, not normalised, of rows by the tables of their parts.

        Shapes (n_rows, n_features), (n_features,) -> (n_rows, n_classes). A row is in
        the deepest part all of whose gates are known. `coded` are the rows' cells, by
        default those of their values.
        """
        if coded is None:
            coded = self.find_cells(values, is_known)
        scores = np.empty((len(values), self.served.log_shares.shape[1]))
        ways = np.ascontiguousarray(self.list_ways(values))
        kernels.compute_row_log_chances(coded, is_known, ways, self.served, scores)
        return scores


def make_cells(
    cuts: tuple[FloatArray, ...], is_category: BoolArray, has_missing: BoolArray
) -> kernels.CellLayout:
    """Return the cells of features: one more than cuts, and one for missing values."""
    sizes = np.array([cut.size for cut in cuts], np.int64)
    cut_starts = np.concatenate(([0], np.cumsum(sizes)))
    starts = np.concatenate(([0], np.cumsum(sizes + 1 + has_missing)))
    return kernels.CellLayout(
        np.concatenate([np.empty(0), *cuts]),
        cut_starts.astype(np.int64),
        starts.astype(np.int64),
        # Copies: kernels are compiled for arrays that can be written.
        np.array(is_category, np.bool_),
        np.array(has_missing, np.bool_),
    )


@dataclass(frozen=True, eq=False)
class TableMember(Arrays, Derived):
    """The tables of some features as a member of a blend."""

    tables: PartTables
    feature_idxs: tuple[int, ...]

    @cached_property
    def is_member(self) -> BoolArray:
        """Which features it reads; (n_features,)."""
        is_member = np.zeros(len(self.tables.cuts), np.bool_)
        is_member[list(self.feature_idxs)] = True
        return is_member

    def logits(
        self, values: FloatArray, is_hidden: BoolArray | None = None
    ) -> FloatArray:
        """Return the log odds of rows; (..., n_features) -> (..., n_outputs).

        The factors of hidden features are left out. Where a gate is hidden, the tables
        of the part that it leads on from hold.
        """
        is_known = self.is_member if is_hidden is None else self.is_member & ~is_hidden
        rows = values.reshape(-1, values.shape[-1])
        scores = self.tables.score(rows, np.ascontiguousarray(is_known))
        return to_odds(scores).reshape(*values.shape[:-1], -1)


def measure_spreads(chances: FloatArray, cells: kernels.CellLayout) -> FloatArray:
    """Return the entropy of each feature's cell in each class, in nats.

    chances: (..., n_cells, n_classes). The result is (..., n_features, n_classes).
    """
    surprises = -chances * np.log(np.maximum(chances, np.finfo(np.float64).tiny))
    return np.add.reduceat(surprises, cells.starts[:-1], axis=-2)


def to_odds(scores: FloatArray) -> FloatArray:
    """Return the log odds of log chances; (n_rows, n_classes) -> (n_rows, n_outputs).

    For two classes the log odds of the second, for more each less their mean.
    """
    if scores.shape[-1] == 2:
        return scores[:, 1:] - scores[:, :1]
    centred: FloatArray = scores - scores.mean(axis=-1, keepdims=True)
    return centred
