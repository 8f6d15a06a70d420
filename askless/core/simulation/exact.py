"""Exact sums, the same for any order and any partition of the rows."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from askless.core.arrays import BoolArray, FloatArray, IntArray

# Sums of products of two limbs over MAX_ROWS rows are whole numbers exact in a double.
LIMB_BITS = 18
MAX_ROWS = 1 << 17
# Bits of a double's mantissa, and of an integer.
MANTISSA_BITS = 53
WORD_BITS = 63


class SplitNumbers(NamedTuple):
    """Numbers of at least 0 in limbs of `LIMB_BITS` bits, so that products are exact.

    The number of row r is 2**exponents[r] * sum(limb[r] * 2**shift).
    """

    #: the shift of each limb, and its value by row; limbs that are 0 are left out
    limbs: list[tuple[int, FloatArray]]
    exponents: IntArray


def sum_weighted(
    weights: FloatArray, amounts: FloatArray | IntArray | BoolArray
) -> tuple[Fraction, ...]:
    """Return the exact sum of weights times amounts, for each column of the amounts.

    Parameters
    ----------
    weights : float64 array, shape (n_rows,)
        Finite, at least 0.
    amounts : float64, int64 or bool array, shape (n_rows, n_columns)
        Finite, at least 0.
    """
    sums = [Fraction(0)] * amounts.shape[1]
    for start in range(0, len(weights), MAX_ROWS):
        rows = slice(start, start + MAX_ROWS)
        split = split_numbers(weights[rows])
        for place, column in enumerate(amounts[rows].T):
            sums[place] += sum_products_exactly(split, split_numbers(column))
    return tuple(sums)


def split_numbers(numbers: npt.NDArray[np.generic]) -> SplitNumbers:
    """Split numbers of at least 0, (n_rows,), into limbs; n_rows is at least 1."""
    if numbers.dtype.kind == "f":
        # A double is a whole number of 53 bits times a power of two.
        mantissas, places = np.frexp(numbers.astype(np.float64))
        wholes = np.ldexp(mantissas, MANTISSA_BITS).astype(np.int64)
        exponents = places.astype(np.int64) - MANTISSA_BITS
    else:
        wholes = numbers.astype(np.int64)
        exponents = np.zeros(wholes.shape, np.int64)
    limbs = []
    for shift in range(0, WORD_BITS, LIMB_BITS):
        limb = (wholes >> shift) & ((1 << LIMB_BITS) - 1)
        if limb.any():
            limbs.append((shift, limb.astype(np.float64)))
    return SplitNumbers(limbs, exponents)


def sum_products_exactly(first: SplitNumbers, other: SplitNumbers) -> Fraction:
    """Return the sum over at most `MAX_ROWS` rows of products of their numbers."""
    exponents = first.exponents + other.exponents
    least = int(exponents.min())
    total = 0
    for shift, limb in first.limbs:
        for other_shift, other_limb in other.limbs:
            # By exponent, so that only numbers of equal scale are added up.
            sums = np.bincount(exponents - least, limb * other_limb).tolist()
            total += sum(
                int(limb_sum) << (place + shift + other_shift)
                for place, limb_sum in enumerate(sums)
                if limb_sum
            )
    return Fraction(total) * Fraction(2) ** least
