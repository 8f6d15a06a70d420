"""Define blends of trees and ridges, which predict also where features are hidden.

Unlike a missing cell, a hidden feature (refused or never asked) says nothing about the
case. It is marginalised: trees go both ways, ridges use the conditional mean given the
known features, tables leave out its factor.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Interval

from askless.core import kernels
from askless.core.arrays import Arrays, BoolArray, Derived, FloatArray, Floats
from askless.core.model.ladder.columns import Columns, HiddenColumns
from askless.core.model.ladder.tables import TableMember
from askless.core.model.ranges import Number, Numbers

# Log odds are clipped to this size.
MAX_LOGIT = 30.0

# Draws of frequencies that are remembered: those of all folds are the same.
MAX_WAVES = 32


@dataclass(frozen=True, eq=False)
class Trees(Arrays):
    """Boosted trees: the initial log odds of a row, and the values of the leaves."""

    #: (n_outputs,)
    starts: FloatArray
    served: kernels.ServedTrees

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copy read-only mapped arrays: kernels are compiled for writable ones."""
        served = (np.require(array, requirements="W") for array in state["served"])
        self.__dict__.update(state, served=kernels.ServedTrees(*served))

    def logits(
        self, values: FloatArray, is_hidden: BoolArray | None = None
    ) -> FloatArray:
        """Return the log odds of rows; (..., n_features) -> (..., n_outputs).

        At a node that reads a hidden feature a row goes both ways, by the shares of
        the rows of training that did.
        """
        rows = np.ascontiguousarray(values).reshape(-1, values.shape[-1])
        scores = np.repeat(self.starts[None], len(rows), axis=0)
        if is_hidden is None:
            is_hidden = np.zeros(values.shape[-1], np.bool_)
        kernels.add_trees(rows, is_hidden, self.served, scores)
        return scores.reshape(*values.shape[:-1], -1)


@dataclass(frozen=True, eq=False)
class KernelRidge(Arrays, Derived):
    """Kernel ridge regression on random Fourier features, scaled to log odds.

    The frequencies are drawn from the seed, so that no row of training is kept.
    """

    kind: Literal["laplace"]
    #: the kernel is exp(-d/width) at the distance d
    width: Annotated[float, Interval(gt=0, le=1e300)]
    seed: Annotated[int, Interval(ge=0, le=2**63 - 1)]
    #: (n_columns,), factors of the columns in distances
    stretches: Numbers
    #: (2 * n_waves, n_outputs)
    coefficients: Numbers
    #: (n_outputs,)
    offsets: Numbers
    slope: Number

    @cached_property
    def waves(self) -> FloatArray:
        """The frequencies, scaled by stretches and width; (n_columns, n_waves)."""
        n_waves = self.coefficients.shape[0] // 2
        waves = draw_waves(self.stretches.size, n_waves, self.seed)
        return waves * (self.stretches[:, None] / self.width)

    def compute_damping(self, hidden: HiddenColumns) -> FloatArray:
        """Return the damping factor of each wave; (2 * n_waves,).

        If x is normal with mean m and variance V, the means of cos(x w) and sin(x w)
        are cos(m w) and sin(m w), times exp(-w' V w / 2).
        """
        damping = np.exp(-hidden.compute_variances(self.waves) / 2.0)
        return np.concatenate((damping, damping))

    def logits(
        self, columns: FloatArray, damping: FloatArray | None = None
    ) -> FloatArray:
        """Return the log odds of rows; (..., n_columns) -> (..., n_outputs)."""
        features = wave_features(columns, self.waves)
        if damping is not None:
            features = features * damping
        votes = features @ self.coefficients
        logits: FloatArray = self.slope * votes + self.offsets
        return logits


@lru_cache(MAX_WAVES)
def draw_waves(n_columns: int, n_waves: int, seed: int) -> FloatArray:
    """Draw the frequencies of random Fourier features; (n_columns, n_waves).

    Rahimi and Recht (2007), in blocks of orthogonal directions (Yu et al. 2016). The
    kernel exp(-d) is a mixture of Gaussian kernels with half-normal widths.
    """
    generator = np.random.default_rng(seed)
    blocks = []
    # A block has one wave per column; -(-a // b) rounds up.
    for _ in range(-(-n_waves // n_columns)):
        directions, _ = np.linalg.qr(generator.normal(size=(n_columns, n_columns)))
        lengths = np.sqrt(generator.chisquare(n_columns, size=n_columns))
        blocks.append(directions * lengths)
    waves: FloatArray = np.hstack(blocks)[:, :n_waves]
    # Dividing by the widths makes the mixture.
    waves /= np.abs(generator.normal(size=n_waves))
    waves.flags.writeable = False
    return waves


def wave_features(columns: Floats, waves: Floats) -> Floats:
    """Return random Fourier features of rows, in their dtype; (..., 2 * n_waves)."""
    angles = columns @ waves
    n_waves = waves.shape[1]
    features = np.empty((*angles.shape[:-1], 2 * n_waves), angles.dtype)
    np.cos(angles, out=features[..., :n_waves])
    np.sin(angles, out=features[..., n_waves:])
    features /= np.sqrt(n_waves, dtype=angles.dtype)
    return features


@dataclass(frozen=True, eq=False)
class LogisticRidge(Arrays):
    """Ridge logistic regression on columns."""

    #: (n_columns, n_outputs)
    coefficients: Numbers
    #: (n_outputs,)
    offsets: Numbers

    def compute_damping(self, hidden: HiddenColumns) -> FloatArray:
        """Return the damping factor of each output's log odds; (n_outputs,).

        If log odds are normal with mean m and variance v, the mean chance is about that
        of the log odds m / sqrt(1 + pi v / 8) (MacKay 1992).
        """
        variances = hidden.compute_variances(self.coefficients)
        return np.asarray(1.0 / np.sqrt(1.0 + np.pi / 8.0 * variances))

    def logits(
        self, columns: FloatArray, damping: FloatArray | None = None
    ) -> FloatArray:
        """Return the log odds of rows; (..., n_columns) -> (..., n_outputs)."""
        logits: FloatArray = columns @ self.coefficients + self.offsets
        return logits if damping is None else logits * damping


@dataclass(frozen=True, eq=False)
class Hiding:
    """The figures that a blend computes once for a set of hidden features."""

    #: (n_features,)
    is_hidden: BoolArray
    columns: HiddenColumns
    #: one for each ridge
    dampings: tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False)
class Blend(Arrays):
    """Predictors, and the weights of their log odds."""

    columns: Columns
    trees: Trees
    ridges: tuple[KernelRidge | LogisticRidge, ...]
    #: (1 + n_ridges,), the weight of the trees first
    weights: FloatArray
    tables: TableMember | None = None
    tables_weight: Annotated[float, Interval(ge=0, le=1e6)] = 0.0

    def hide(self, is_hidden: BoolArray) -> Hiding:
        """Compute the figures for predicting without hidden features, (n_features,)."""
        columns = self.columns.hide(is_hidden)
        dampings = tuple(ridge.compute_damping(columns) for ridge in self.ridges)
        return Hiding(is_hidden, columns, dampings)

    def logits(
        self,
        values: FloatArray,
        hiding: Hiding | None = None,
        by_tables: FloatArray | None = None,
    ) -> FloatArray:
        """Return the log odds of rows; (..., n_features) -> (..., n_outputs).

        Log odds are 0 where huge numbers overflow. `hiding` is that of the hidden
        features, if any. `by_tables` (..., n_outputs) are log odds by tables of more
        features than the blend has, which replace those of its own.
        """
        columns = self.columns.standardise(values)
        is_hidden: BoolArray | None = None
        dampings: tuple[FloatArray | None, ...] = (None,) * len(self.ridges)
        if hiding is not None:
            is_hidden, dampings = hiding.is_hidden, hiding.dampings
            columns = hiding.columns.fill(columns)
        total = self.weights[0] * self.trees.logits(values, is_hidden)
        weighted = zip(self.weights[1:], self.ridges, dampings, strict=True)
        for weight, ridge, damping in weighted:
            # A ridge without weight takes time for nothing.
            if weight > 0:
                total = total + weight * ridge.logits(columns, damping)
        if self.tables is not None:
            if by_tables is None:
                by_tables = self.tables.logits(values, is_hidden)
            total = total + self.tables_weight * by_tables
        least = np.maximum(np.where(np.isnan(total), 0.0, total), -MAX_LOGIT)
        logits: FloatArray = np.minimum(least, MAX_LOGIT)
        return logits


def to_chances(logits: FloatArray) -> FloatArray:
    """Return the chance of each class; (..., n_outputs) -> (..., n_classes)."""
    if logits.shape[-1] == 1:
        # `np.clip` takes three times as long on the few numbers of a case.
        clipped = np.minimum(np.maximum(logits, -MAX_LOGIT), MAX_LOGIT)
        above = 1.0 / (1.0 + np.exp(-clipped))
        return np.concatenate((1.0 - above, above), axis=-1)
    chances = np.exp(logits - logits.max(axis=-1, keepdims=True))
    softmax: FloatArray = chances / chances.sum(axis=-1, keepdims=True)
    return softmax
