"""The records that training's kernels take: arrays that belong together.

numba's cache knows a record by its name and the types of its fields: to reorder fields
of one type, rename the record too.
"""

from typing import NamedTuple

from askless.core.arrays import (
    BallotArray,
    BoolArray,
    CodeArray,
    FloatArray,
    IntArray,
    RowArray,
)


class CodedTable(NamedTuple):
    """A table as codes, feature by feature and packed into lanes.

    `codes` is (n_features, n_samples), `n_codes`, `is_category` and `has_missing` are
    (n_features,). A lane is one byte per row: lane l joins the codes of the features
    `members[starts[l]]` to `members[starts[l + 1]]` as digits, the lowest first. The
    first lanes are `packed`, (n_packed, n_samples); each of the others is one feature
    as it is.
    """

    codes: CodeArray
    n_codes: IntArray
    is_category: BoolArray
    has_missing: BoolArray
    packed: CodeArray
    members: IntArray
    starts: IntArray


class ColumnFacts(NamedTuple):
    """What coding has learnt about each feature.

    `known`, (n_features, FEW + 1), are its distinct values, ascending; `sizes`,
    (n_features,), is their number, and `has_missing`, (n_features,), whether any was
    missing.
    """

    known: FloatArray
    sizes: IntArray
    has_missing: BoolArray


class Change(NamedTuple):
    """How weights change in a round, and how the changes are listed.

    `factors` multiply the rows that a vote has wrong, abstains on, and has right.
    With `is_fresh` every row counts as moved, from no weight at all. With `is_split`
    the changes are of unsigned quanta, listed by class; else all are listed as of the
    positive class, those of the negative one with their sign.
    """

    factors: FloatArray
    is_fresh: bool
    is_split: bool


class MovedRows(NamedTuple):
    """Rows whose weight moved, and by how many quanta, in chunks; see `move_weights`.

    `rows` and `deltas` are (n_chunks, n_outputs, chunk + 1), `stops` is
    (n_chunks, n_outputs, 3): where the list of the positive class ends, where that of
    the negative class starts, and the quanta of all rows, moved or not.
    """

    rows: RowArray
    deltas: IntArray
    stops: IntArray


class Look(NamedTuple):
    """The rows that a scan covers: all, or those of a leaf.

    `quanta` is their weight and `scale` the quanta of a weight of 1. `votes_before`,
    (n_outputs,), is what a leaf's rows vote now, 0 where `is_leaf` is False.
    """

    quanta: int
    scale: float
    votes_before: IntArray
    is_leaf: bool


class Cut(NamedTuple):
    """Where a stump cuts, and where the sums by code of its feature are.

    `place` is that of its lane among the sums. In the codes of the lane the code of
    the feature, of which `n_present` are not missing, is a digit of this `radix`, the
    code over `stride`.
    """

    code: int
    is_category: bool
    place: int
    n_present: int
    stride: int
    radix: int


class Best(NamedTuple):
    """The best stump on each feature, each array (n_features, ...).

    `edges` are at least 0, `cuts` are codes (-1: no stump), `votes` are
    (n_features, n_outputs) above the cut, and `presents` the weight of the rows where
    the feature is not missing.
    """

    edges: FloatArray
    cuts: IntArray
    votes: BallotArray
    presents: FloatArray
