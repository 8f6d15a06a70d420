"""Code values as uint8, and pack features with few codes into one byte.

One code per present value, or per quantile of many.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, CodeArray, FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue
from askless.core.codes.cuts import compute_cuts, tabulate_cuts
from askless.core.table.dataset import Dataset

N_JOINT = 256


@dataclass(frozen=True)
class Packing:
    """Lanes of codes, each for one feature or for several features with few codes.

    The layout is that of `askless.core.kernels.CodedTable`, where `codes` are called
    `packed`.
    """

    codes: CodeArray
    members: IntArray
    starts: IntArray

    @cached_property
    def lane_of(self) -> IntArray:
        """Lane of each feature; (n_features,)."""
        lanes = np.empty(self.members.size, dtype=np.int64)
        lanes[self.members] = np.repeat(self.lanes, np.diff(self.starts))
        return lanes

    @cached_property
    def lanes(self) -> IntArray:
        """Every lane."""
        return np.arange(self.starts.size - 1)

    def with_codes(
        self, codes: CodeArray, n_codes: IntArray, has_missing: BoolArray
    ) -> "Packing":
        """Return the same lanes with other rows, coded (n_features, n_samples)."""
        packed = np.empty((self.codes.shape[0], codes.shape[1]), dtype=np.uint8)
        members, starts = self.members, self.starts
        kernels.pack_codes(codes, n_codes, has_missing, members, starts, packed)
        return Packing(packed, members, starts)

    def lanes_of(self, feature_idxs: IntArray) -> IntArray:
        """Return the lanes that hold any of the features, each once, ascending."""
        if feature_idxs.size == self.members.size:
            return self.lanes
        return np.unique(self.lane_of[feature_idxs])


N_SOME = 500


@dataclass(frozen=True)
class Binned:
    """The rows of a dataset as codes.

    `codes` is (n_features, n_samples). Every code below `n_codes[f]` occurs in
    feature f, if in no row of this shard then in another. `cuts[f]` gives, for a
    number or boolean, the threshold between code k and k + 1; for a category, the
    value of code k. `packing` holds the codes of features with few of them once more,
    several in a byte.
    """

    codes: CodeArray
    n_codes: IntArray
    is_category: BoolArray
    has_missing: BoolArray
    cuts: tuple[FloatArray, ...]
    packing: Packing

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[1])

    @cached_property
    def coded(self) -> kernels.CodedTable:
        """The same table as the record that kernels take."""
        facts = self.n_codes, self.is_category, self.has_missing
        packing = self.packing
        return kernels.CodedTable(
            self.codes, *facts, packing.codes, packing.members, packing.starts
        )

    def keep(self, feature_idxs: IntArray) -> "Binned":
        """Return the codes with every other feature missing in each row."""
        is_gone = np.ones(self.n_codes.size, np.bool_)
        is_gone[feature_idxs] = False
        codes = self.codes.copy()
        codes[is_gone] = kernels.MISSING
        nothing = np.empty(0)
        cuts = tuple(
            nothing if gone else feature_cuts
            for gone, feature_cuts in zip(is_gone, self.cuts, strict=True)
        )
        n_codes = np.where(is_gone, 0, self.n_codes)
        has_missing = self.has_missing | is_gone
        packing = pack_features(codes, n_codes, has_missing)
        return Binned(codes, n_codes, self.is_category, has_missing, cuts, packing)

    def codes_of(self, lane: int) -> CodeArray:
        """Return the codes of a lane; (n_samples,)."""
        packing = self.packing
        is_packed = lane < packing.codes.shape[0]
        only = packing.members[packing.starts[lane]]
        codes: CodeArray = packing.codes[lane] if is_packed else self.codes[only]
        return codes

    def digit_of(self, feature_idx: int) -> tuple[int, int]:
        """Return place value and radix of a feature's digit in its lane."""
        packing = self.packing
        lane = int(packing.lane_of[feature_idx])
        if lane >= packing.codes.shape[0]:
            return 1, int(kernels.MISSING) + 1
        first, last = packing.starts[lane : lane + 2].tolist()
        members = packing.members[first:last].tolist()
        radixes = (self.n_codes + self.has_missing)[members].tolist()
        place = members.index(feature_idx)
        return math.prod(radixes[:place]), radixes[place]

    def without_rows(self) -> "Binned":
        """Return the cuts and lanes with the codes of no row."""
        return self.take(np.arange(0))

    def with_codes(self, codes: CodeArray) -> "Binned":
        """Return a table of other rows, coded by these cuts; (n_features, n_samples).

        A feature that `keep` has left out is missing in each of them.
        """
        # Kernels are compiled anew for arrays with another memory layout.
        codes = np.ascontiguousarray(codes)
        is_gone = self.n_codes == 0
        if np.any(codes[is_gone] != kernels.MISSING):
            codes = codes.copy()
            codes[is_gone] = kernels.MISSING
        packing = self.packing.with_codes(codes, self.n_codes, self.has_missing)
        return replace(self, codes=codes, packing=packing)

    def take(self, row_idxs: IntArray) -> "Binned":
        """Return a shard: some rows, with the cuts and lanes of all."""
        packing = replace(self.packing, codes=select_rows(self.packing.codes, row_idxs))
        return replace(self, codes=select_rows(self.codes, row_idxs), packing=packing)


def select_rows(codes: CodeArray, row_idxs: IntArray) -> CodeArray:
    """Return the codes of some rows, (n_lanes, n_samples) as they were."""
    return np.ascontiguousarray(codes[:, row_idxs])


def bin_values(dataset: Dataset) -> Binned:
    """Code every feature of a dataset; see `code_columns`."""
    is_category = mask_categories(dataset.catalogue)
    columns = code_columns(dataset.values, is_category, dataset.weights)
    return join_columns(columns, is_category)


def mask_categories(catalogue: Catalogue) -> BoolArray:
    """Return whether each feature is a category; (n_features,)."""
    types = (feature.type == "category" for feature in catalogue.features)
    return np.fromiter(types, np.bool_)


@dataclass(frozen=True)
class CodedColumns:
    """Some features as codes, not yet in lanes; as in `Binned`.

    `ranges` (n_features, 2) are the least and the greatest value, NaN where there is
    none; `n_missing` (n_features,) counts cells.
    """

    codes: CodeArray
    n_codes: IntArray
    n_missing: IntArray
    cuts: tuple[FloatArray, ...]
    ranges: FloatArray


def join_columns(columns: CodedColumns, is_category: BoolArray) -> Binned:
    """Return all features of a table with their lanes."""
    codes, n_codes, has_missing = columns.codes, columns.n_codes, columns.n_missing > 0
    packing = pack_features(codes, n_codes, has_missing)
    return Binned(codes, n_codes, is_category, has_missing, columns.cuts, packing)


def code_columns(
    values: FloatArray, is_category: BoolArray, weights: FloatArray
) -> CodedColumns:
    """Code some features, each for itself; `values` (n_samples, n_features).

    Numbers and booleans with at most 254 distinct values keep them all, one code
    each; others are cut at weighted quantiles. Categories keep theirs. A constant
    feature has one code and an empty one none: no stump can be made of either.
    """
    # Kernels are compiled anew for arrays that are read-only, or not C-contiguous.
    values = np.require(values, np.float64, ("C", "W"))
    n_samples, n_features = values.shape
    known = np.full((n_features, kernels.FEW + 1), np.nan)
    sizes = np.zeros(n_features, dtype=np.int64)
    has_missing = np.zeros(n_features, dtype=np.bool_)
    codes = np.empty((n_features, n_samples), dtype=np.uint8)
    out = kernels.ColumnFacts(known, sizes, has_missing), codes
    # About `N_SOME` rows show which features have many values, and nearly always all
    # values of the others, by which all rows are coded. What is left are the features
    # of many values, and those of which more values turned up.
    some = np.ascontiguousarray(values[:: 1 + n_samples // N_SOME])
    no_cuts = tabulate_cuts([np.empty(0)] * n_features)
    kernels.encode(0, some, np.arange(n_features), no_cuts, *out)
    n_known = sizes.copy()
    few = np.flatnonzero(sizes <= kernels.FEW)
    code_rows(values, few, no_cuts, *out)
    left = np.flatnonzero((sizes > kernels.FEW) | (sizes > n_known))
    cuts, ranges = compute_cuts(values, weights, is_category, known, sizes)
    n_cuts = np.array([cut.size for cut in cuts], dtype=np.int64)
    if left.size:
        code_rows(values, left, tabulate_cuts([cuts[idx] for idx in left]), *out)
    n_codes = n_cuts + (~is_category & (sizes > 0))
    n_missing = np.zeros(n_features, dtype=np.int64)
    for idx in np.flatnonzero(has_missing):
        n_missing[idx] = np.count_nonzero(codes[idx] == kernels.MISSING)
    return CodedColumns(codes, n_codes, n_missing, tuple(cuts), ranges)


def code_rows(
    values: FloatArray,
    features: IntArray,
    tables: kernels.CutTables,
    out_learnt: kernels.ColumnFacts,
    out_codes: CodeArray,
) -> None:
    """Code all rows as `kernels.encode` does, on all cores where that pays.

    The parallel kernel takes 10 s to compile, so a first small training avoids it.
    """
    if values.shape[0] <= kernels.CHUNK:
        kernels.encode(0, values, features, tables, out_learnt, out_codes)
    else:
        kernels.encode_parallel(values, features, tables, out_learnt, out_codes)


def encode_rows(values: FloatArray, cuts: Sequence[FloatArray]) -> CodeArray:
    """Code rows by cuts that were computed on more rows; (n_features, n_samples).

    `values` (n_samples, n_features): the categories among them have cuts. The codes are
    those of `code_columns` if it computes these cuts.
    """
    values = np.require(values, np.float64, ("C", "W"))
    n_samples, n_features = values.shape
    known = np.full((n_features, kernels.FEW + 1), np.nan)
    # No values are learnt: there are more than would be known one by one.
    sizes = np.full(n_features, kernels.FEW + 1)
    facts = kernels.ColumnFacts(known, sizes, np.zeros(n_features, np.bool_))
    codes = np.empty((n_features, n_samples), dtype=np.uint8)
    code_rows(values, np.arange(n_features), tabulate_cuts(cuts), facts, codes)
    return codes


def pack_features(
    codes: CodeArray, n_codes: IntArray, has_missing: BoolArray
) -> Packing:
    """Pack features into lanes: the one with most codes, then those with fewest.

    `codes` (n_features, n_samples); `n_codes` and `has_missing` (n_features,).
    """
    radixes = (n_codes + has_missing).tolist()
    left = deque(sorted(range(len(radixes)), key=radixes.__getitem__))
    joint: list[list[int]] = []
    alone: list[list[int]] = []
    while left:
        lane = [left.pop()]
        size = radixes[lane[0]]
        while left and size * radixes[left[0]] <= N_JOINT:
            lane.append(left.popleft())
            size *= radixes[lane[-1]]
        (joint if len(lane) > 1 else alone).append(lane)
    lanes = joint + alone[::-1]
    members = np.array([idx for lane in lanes for idx in lane], dtype=np.int64)
    starts = np.cumsum([0, *(len(lane) for lane in lanes)])
    # Only the number of packed lanes counts here; `with_codes` fills them.
    no_rows = np.empty((len(joint), 0), dtype=np.uint8)
    return Packing(no_rows, members, starts).with_codes(codes, n_codes, has_missing)
