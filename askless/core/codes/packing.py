"""Pack features with few codes into one byte, so that one pass reads them all."""

from collections import deque
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, CodeArray, IntArray

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
