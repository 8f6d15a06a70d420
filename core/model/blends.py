"""Predictors of a panel, blended: trees and ridges, also where features are hidden.

What is hidden says nothing of the case (it was refused, or never asked), as a missing
cell may. It is marginalised: trees go both ways, ridges take the mean of what is hidden
given what is known.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Interval

from core import arrays, kernels
from core.arrays import Arrays, BoolArray, Derived, FloatArray, Floats
from core.model.columns import Columns, HiddenColumns
from core.model.ranges import Number, Numbers

KernelName = Literal["laplace", "gauss"]

# Beyond this log odds no chance is told.
MAX_LOGIT = 30.0


@dataclass(frozen=True, eq=False)
class Trees(Arrays):
    """Boosted trees: the log odds that a row begins with, and the steps of leaves."""

    #: (n_outputs,)
    starts: FloatArray
    served: kernels.ServedTrees

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copy what is mapped read-only: kernels are compiled for arrays of ours."""
        served = (np.require(one, requirements="W") for one in state["served"])
        self.__dict__.update(state, served=kernels.ServedTrees(*served))

    def logits(
        self, values: FloatArray, is_hidden: BoolArray | None = None
    ) -> FloatArray:
        """Return the log odds of rows; (..., n_features) -> (..., n_outputs).

        At a node that reads a hidden feature a row goes both ways, by the shares of
        the rows of training that did.
        """
        rows = np.ascontiguousarray(values).reshape(-1, values.shape[-1])
        scores = np.tile(self.starts, (len(rows), 1))
        if is_hidden is None:
            is_hidden = np.zeros(values.shape[-1], np.bool_)
        kernels.add_trees(rows, is_hidden, self.served, scores)
        return scores.reshape(*values.shape[:-1], -1)


@dataclass(frozen=True, eq=False)
class KernelRidge(Arrays, Derived):
    """Kernel ridge regression on random features, and its way to log odds.

    The waves are drawn from the seed, so that no row of training is kept.
    """

    kind: KernelName
    #: the kernel is exp(-d/width) or exp(-(d/width)^2) of a distance d
    width: Annotated[float, Interval(gt=0, le=1e300)]
    seed: Annotated[int, Interval(ge=0, le=2**63 - 1)]
    #: (n_columns,), what each is multiplied by before distances are taken
    stretches: Numbers
    #: (2 * n_waves, n_outputs)
    coefficients: Numbers
    #: (n_outputs,)
    offsets: Numbers
    slope: Number

    @cached_property
    def waves(self) -> FloatArray:
        """Return the frequencies; (n_columns, n_waves)."""
        n_waves = self.coefficients.shape[0] // 2
        waves = draw_waves(self.kind, self.stretches.size, n_waves, self.seed)
        return waves * (self.stretches[:, None] / self.width)

    def find_damping(self, hidden: HiddenColumns) -> FloatArray:
        """Return what is left of each wave's mean; (2 * n_waves,).

        The mean of cos(x w) and of sin(x w) where x is normal of variance V is that
        of its mean times exp(-w' V w / 2).
        """
        damping = np.exp(-hidden.spreads(self.waves) / 2.0)
        return np.concatenate((damping, damping))

    def logits(
        self, columns: FloatArray, damping: FloatArray | None = None
    ) -> FloatArray:
        """Return the log odds of rows; (..., n_columns) -> (..., n_outputs)."""
        laid = lay_waves(columns, self.waves)
        votes = (laid if damping is None else laid * damping) @ self.coefficients
        logits: FloatArray = self.slope * votes + self.offsets
        return logits


def draw_waves(kind: KernelName, n_columns: int, n_waves: int, seed: int) -> FloatArray:
    """Draw frequencies whose mean cosine is the kernel; (n_columns, n_waves).

    Rahimi and Recht (2007), in blocks of directions at right angles (Yu et al. 2016).
    exp(-d) is a mean of Gaussian kernels, whose widths are those of a normal draw.
    """
    generator = np.random.default_rng(seed)
    blocks = []
    for _ in range(-(-n_waves // n_columns)):
        turned, _ = np.linalg.qr(generator.normal(size=(n_columns, n_columns)))
        lengths = np.sqrt(generator.chisquare(n_columns, size=n_columns))
        blocks.append(turned * lengths)
    waves: FloatArray = np.hstack(blocks)[:, :n_waves]
    if kind == "gauss":
        waves *= np.sqrt(2.0)
    else:
        waves /= np.abs(generator.normal(size=n_waves))
    return waves


def lay_waves(columns: Floats, waves: Floats) -> Floats:
    """Return cosines and sines of rows, as precise as these; (..., 2 * n_waves)."""
    angles = columns @ waves
    n_waves = waves.shape[1]
    laid = np.empty((*angles.shape[:-1], 2 * n_waves), angles.dtype)
    np.cos(angles, out=laid[..., :n_waves])
    np.sin(angles, out=laid[..., n_waves:])
    laid /= np.sqrt(n_waves, dtype=angles.dtype)
    return laid


@dataclass(frozen=True, eq=False)
class LogisticRidge(Arrays):
    """Ridge logistic regression on columns."""

    #: (n_columns, n_outputs)
    coefficients: Numbers
    #: (n_outputs,)
    offsets: Numbers

    def find_damping(self, hidden: HiddenColumns) -> FloatArray:
        """Return what is left of each output's log odds; (n_outputs,).

        The mean chance where the log odds are normal of variance v is about that of
        their mean over sqrt(1 + pi v / 8) (MacKay 1992).
        """
        spreads = hidden.spreads(self.coefficients)
        return np.asarray(1.0 / np.sqrt(1.0 + np.pi / 8.0 * spreads))

    def logits(
        self, columns: FloatArray, damping: FloatArray | None = None
    ) -> FloatArray:
        """Return the log odds of rows; (..., n_columns) -> (..., n_outputs)."""
        logits: FloatArray = columns @ self.coefficients + self.offsets
        return logits if damping is None else logits * damping


@dataclass(frozen=True, eq=False)
class Hiding:
    """What follows of a blend from which features are hidden; found once."""

    #: (n_features,)
    is_hidden: BoolArray
    columns: HiddenColumns
    #: of each ridge
    dampings: tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False)
class Blend(Arrays):
    """Predictors, and what each of their log odds counts."""

    columns: Columns
    trees: Trees
    ridges: tuple[KernelRidge | LogisticRidge, ...]
    #: (1 + n_ridges,), that of the trees first
    weights: FloatArray

    def hide(self, is_hidden: BoolArray) -> Hiding:
        """Return what follows from hidden features, (n_features,)."""
        columns = self.columns.hide(is_hidden)
        dampings = tuple(ridge.find_damping(columns) for ridge in self.ridges)
        return Hiding(is_hidden, columns, dampings)

    def logits(self, values: FloatArray, hiding: Hiding | None = None) -> FloatArray:
        """Return the log odds of rows; (..., n_features) -> (..., n_outputs).

        Even odds where huge numbers, which no training finds, leave none.
        """
        columns = self.columns.lay(values)
        is_hidden: BoolArray | None = None
        dampings: tuple[FloatArray | None, ...] = (None,) * len(self.ridges)
        if hiding is not None:
            is_hidden, dampings = hiding.is_hidden, hiding.dampings
            columns = hiding.columns.fill(columns)
        total = self.weights[0] * self.trees.logits(values, is_hidden)
        told = zip(self.weights[1:], self.ridges, dampings, strict=True)
        for weight, ridge, damping in told:
            if weight > 0:
                total = total + weight * ridge.logits(columns, damping)
        logits: FloatArray = np.clip(arrays.make_finite(total), -MAX_LOGIT, MAX_LOGIT)
        return logits


def to_chances(logits: FloatArray) -> FloatArray:
    """Chance of each class; (..., n_outputs) -> (..., n_classes)."""
    if logits.shape[-1] == 1:
        above = 1.0 / (1.0 + np.exp(-np.clip(logits, -MAX_LOGIT, MAX_LOGIT)))
        return np.concatenate((1.0 - above, above), axis=-1)
    chances = np.exp(logits - logits.max(axis=-1, keepdims=True))
    found: FloatArray = chances / chances.sum(axis=-1, keepdims=True)
    return found
