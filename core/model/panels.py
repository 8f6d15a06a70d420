"""Sets of features to buy, each with a blend that predicts from exactly these."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from core import arrays, kernels
from core.arrays import Arrays, BoolArray, Derived, FloatArray, Floats, IntArray
from core.model.routes import MAIN, Route
from core.model.stopping import Stopping

# Of a column: that of a number, and of one that says whether a value is missing.
NUMBER_CODE, MISSING_CODE = -1, -2

# Beyond this log odds no chance is told.
MAX_LOGIT = 30.0


@dataclass(frozen=True, eq=False)
class Columns(Arrays):
    """How the values of features become standardised columns.

    A number is clipped and scaled; a category has a column for each of its codes; a
    feature with missing cells has one that says so. A missing value is 0, the mean.
    """

    #: (n_columns,), the feature that each reads
    feature_idxs: IntArray
    #: (n_columns,), the code whose presence it tells, -1 of a number, -2: of missing
    codes: IntArray
    #: (n_columns,)
    lows: FloatArray
    highs: FloatArray
    means: FloatArray
    #: what it is divided by
    scales: FloatArray

    def lay(self, values: FloatArray) -> FloatArray:
        """Return rows as columns; (..., n_features) -> (..., n_columns)."""
        read = values[..., self.feature_idxs]
        is_missing = np.isnan(read)
        is_code = np.where(is_missing, np.nan, read == self.codes)
        clipped = np.clip(read, self.lows, self.highs)
        laid = np.where(self.codes >= 0, is_code, clipped)
        laid = np.where(self.codes == MISSING_CODE, is_missing, laid)
        laid = arrays.make_finite((laid - self.means) / self.scales)
        # Of rows that stand alone each in one piece, as a single one is.
        return np.ascontiguousarray(laid) if values.ndim > 2 else laid


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

    def logits(self, values: FloatArray) -> FloatArray:
        """Return the log odds of rows; (..., n_features) -> (..., n_outputs)."""
        rows = np.ascontiguousarray(values).reshape(-1, values.shape[-1])
        scores = np.tile(self.starts, (len(rows), 1))
        kernels.add_trees(rows, self.served, scores)
        return scores.reshape(*values.shape[:-1], -1)


@dataclass(frozen=True, eq=False)
class KernelRidge(Arrays, Derived):
    """Kernel ridge regression on random features, and its way to log odds.

    The waves are drawn from the seed, so that no row of training is kept.
    """

    #: "laplace" or "gauss"
    kind: str
    #: the kernel is exp(-d/width) or exp(-(d/width)^2) of a distance d
    width: float
    seed: int
    #: (n_columns,), what each is multiplied by before distances are taken
    stretches: FloatArray
    #: (2 * n_waves, n_outputs)
    coefficients: FloatArray
    #: (n_outputs,)
    offsets: FloatArray
    slope: float

    @cached_property
    def waves(self) -> FloatArray:
        """Return the frequencies; (n_columns, n_waves)."""
        n_waves = self.coefficients.shape[0] // 2
        waves = draw_waves(self.kind, self.stretches.size, n_waves, self.seed)
        return waves * (self.stretches[:, None] / self.width)

    def logits(self, columns: FloatArray) -> FloatArray:
        """Return the log odds of rows; (..., n_columns) -> (..., n_outputs)."""
        votes = lay_waves(columns, self.waves) @ self.coefficients
        logits: FloatArray = self.slope * votes + self.offsets
        return logits


def draw_waves(kind: str, n_columns: int, n_waves: int, seed: int) -> FloatArray:
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
    coefficients: FloatArray
    #: (n_outputs,)
    offsets: FloatArray

    def logits(self, columns: FloatArray) -> FloatArray:
        """Return the log odds of rows; (..., n_columns) -> (..., n_outputs)."""
        logits: FloatArray = columns @ self.coefficients + self.offsets
        return logits


@dataclass(frozen=True, eq=False)
class Blend(Arrays):
    """Predictors, and what each of their log odds counts."""

    columns: Columns
    trees: Trees
    ridges: tuple[KernelRidge | LogisticRidge, ...]
    #: (1 + n_ridges,), that of the trees first
    weights: FloatArray

    def logits(self, values: FloatArray) -> FloatArray:
        """Return the log odds of rows; (..., n_features) -> (..., n_outputs).

        Even odds where huge numbers, which no training finds, leave none.
        """
        total = self.weights[0] * self.trees.logits(values)
        columns = self.columns.lay(values)
        for weight, ridge in zip(self.weights[1:], self.ridges, strict=True):
            if weight > 0:
                total = total + weight * ridge.logits(columns)
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


@dataclass(frozen=True, eq=False)
class Panel(Arrays):
    """A set of features, in the order in which they are asked."""

    feature_idxs: tuple[int, ...]
    #: log-loss on rows that its blend was not fitted to; no set that was chosen for a
    #: larger budget has a larger one, and no part of such a set a smaller one
    loss: float
    #: of the features those whose missing values training has seen
    may_lack: frozenset[int]
    #: None: the class shares, of a panel without features
    blend: Blend | None = None

    def logits(self, values: FloatArray, starts: FloatArray) -> FloatArray:
        """Return the log odds of rows; (..., n_features) -> (..., n_outputs).

        `starts` are those of the class shares. Of shape (n_rows, 1, n_features) each
        row is rounded as if it came alone.
        """
        if self.blend is None:
            return np.tile(starts, (*values.shape[:-1], 1))
        return self.blend.logits(values)


@dataclass(frozen=True, eq=False)
class PanelLadder(Arrays, Derived):
    """Panels from nothing to the dearest that helps; the first are preferred."""

    panels: tuple[Panel, ...]
    #: (n_outputs,), log odds of the class shares
    starts: FloatArray
    #: when a case goes on to a dearer panel; None: training learned no rules
    stopping: Stopping | None = None
    #: which panels are for which cases; None: all are for all
    route: Route | None = None

    @cached_property
    def n_read(self) -> int:
        """One more than the last feature that some panel reads."""
        return 1 + max(max(one.feature_idxs, default=-1) for one in self.panels)

    @cached_property
    def members(self) -> BoolArray:
        """Which features each panel has; (n_panels, n_read)."""
        members = np.zeros((len(self.panels), self.n_read), np.bool_)
        for panel, row in zip(self.panels, members, strict=True):
            row[list(panel.feature_idxs)] = True
        return members

    @cached_property
    def needs(self) -> BoolArray:
        """Which features each panel can't do without; (n_panels, n_read)."""
        needs = self.members.copy()
        for panel, row in zip(self.panels, needs, strict=True):
            row[list(panel.may_lack)] = False
        return needs

    @cached_property
    def gains(self) -> tuple[FloatArray, FloatArray]:
        """What each panel gains on the class shares, and what the best of its part."""
        losses = np.array([panel.loss for panel in self.panels])
        gains = np.maximum(losses[self.is_for(MAIN)].max() - losses, 0.0)
        parts = [MAIN] * gains.size if self.route is None else self.route.parts
        return gains, np.array([gains[self.is_for(one)].max() for one in parts])

    def prepare(self) -> None:
        """Compute now what else the first answers would wait for."""
        blends = (panel.blend for panel in self.panels if panel.blend is not None)
        ridges = (ridge for blend in blends for ridge in blend.ridges)
        _ = self.members, self.needs
        _ = [ridge.waves for ridge in ridges if isinstance(ridge, KernelRidge)]

    def is_for(self, part: int) -> BoolArray:
        """Return which panels are for a part of the route; (n_panels,)."""
        if self.route is None:
            return np.ones(len(self.panels), np.bool_)
        return self.route.is_for(part)

    def find_panel(
        self, is_known: BoolArray, is_gone: BoolArray, part: int = MAIN
    ) -> int:
        """Return the first panel of a part for what is known; (n_features,) each.

        What came back without a value may be lacking where training saw it lack.
        """
        known, gone = is_known[: self.n_read], is_gone[: self.n_read]
        lacks = (self.members & ~known & ~gone).any(axis=1)
        lacks |= (self.needs & gone & ~known).any(axis=1)
        return int(np.argmin(lacks | ~self.is_for(part)))

    def find_next(
        self,
        is_known: BoolArray,
        is_gone: BoolArray,
        ahead: Sequence[int],
        part: int = MAIN,
    ) -> int:
        """Return the panel of a part that predicts next, as features become known.

        That of now where none does.
        """
        now = self.find_panel(is_known, is_gone, part)

        def find_after(n_answers: int) -> int:
            will_know = is_known.copy()
            will_know[list(ahead[:n_answers])] = True
            return self.find_panel(will_know, is_gone, part)

        reached = map(find_after, range(1, len(ahead) + 1))
        return next((one for one in reached if one != now), now)
