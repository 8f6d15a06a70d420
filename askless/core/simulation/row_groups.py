"""Weights of row groups, summed over blocks of rows."""

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.table.columns import Cells


class GroupSums:
    """The weight of each row group, summed in the order of the rows.

    Groups are named by words. The sums do not depend on how rows are cut into blocks.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._sums = np.zeros(0)

    def add(self, groups: Cells, weights: FloatArray) -> IntArray:
        """Add rows by group and weight; return the group number of each row.

        `groups` are the cells of the group column. A group that is new is numbered.
        """
        # A missing cell is a group of its own, with the empty word.
        known = self._numbers
        by_word = [known.setdefault(word or "", len(known)) for word in groups.words]
        numbers: IntArray = np.array(by_word, np.int64)[groups.numbers]
        more = np.zeros(len(known) - len(self._sums))
        self._sums = np.concatenate((self._sums, more))
        # Row by row, so that sums don't depend on where blocks begin.
        np.add.at(self._sums, numbers, weights)
        return numbers

    @property
    def held(self) -> FloatArray:
        """Weight of each group, ordered by the group's word."""
        return self._sums[self._order]

    def rank(self, numbers: IntArray) -> IntArray:
        """Return the position of each group number in the order of the words."""
        ranks = np.empty(len(self._numbers), np.int64)
        ranks[self._order] = np.arange(len(self._numbers))
        return ranks[numbers]

    @property
    def _order(self) -> IntArray:
        words = sorted(self._numbers)
        return np.array([self._numbers[word] for word in words], np.int64)
