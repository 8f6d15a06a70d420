"""Check the arrays of a booster that come from outside, such as from a file."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray
from askless.core.catalogue.catalogue import UNSEEN, Catalogue
from askless.core.table.dataset import MAX_CODES, count_outputs
from askless.core.training.online.online import SPEEDS
from askless.core.training.online.online_start import MARKS

# What counts, and numbers of rows, stay below.
MOST_ROWS = 2**53
Faults = Iterator[tuple[str, str]]


class Lengths(NamedTuple):
    """The least and the greatest length of each axis of an array."""

    ends: tuple[tuple[int, int], ...]

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Return whether an array may have a shape."""
        return len(shape) == len(self.ends) and all(
            least <= length <= most
            for (least, most), length in zip(self.ends, shape, strict=True)
        )

    @property
    def rule(self) -> str:
        """The lengths in words."""
        words = [str(a) if a == b else f"{a} to {b}" for a, b in self.ends]
        return f"of the shape [{', '.join(words)}]"


def list_shapes(
    catalogue: Catalogue, n_classes: int, n_learners: int
) -> dict[str, Lengths]:
    """Return the lengths that each array of a state may have."""
    n_features, n_outputs = (
        len(catalogue.features),
        count_outputs(n_classes, is_multilabel=False),
    )
    n_speeds = len(SPEEDS) + 1
    features, learners, outputs = ((n, n) for n in (n_features, n_learners, n_outputs))
    slots, speeds, first = (1, MAX_CODES), (n_speeds, n_speeds), (0, MARKS[-1])
    axes: dict[str, tuple[tuple[int, int], ...]] = {
        "cuts": (features, slots),
        "n_codes": (features,),
        "bins": (features, slots, (4, 4)),
        "sums": (features, slots, outputs),
        "squares": (features,),
        "facts": ((2, 2),),
        "stumps": (learners, (2, 2)),
        "thresholds": (learners,),
        "votes": (learners, outputs),
        "alphas": (speeds, learners),
        "slopes": (speeds, learners),
        "losses": (speeds,),
        "counts": ((5, 5),),
        "first_values": (first, features),
        "first_signed": (first, outputs),
    }
    return {name: Lengths(ends) for name, ends in axes.items()}


def check_state(state: Mapping[str, np.ndarray], catalogue: Catalogue) -> Faults:
    """Yield the name of each array that breaks a rule, and the rule.

    Their types are those of `askless.core.model.learning_state.ARRAYS`, their shapes
    those of `list_shapes`.
    """
    arrays = kernels.OnlineState(**state)
    types = [feature.type == "category" for feature in catalogue.features]
    is_category: BoolArray = np.array(types, np.bool_)
    if len({arrays.cuts.shape[1], arrays.bins.shape[1], arrays.sums.shape[1]}) > 1:
        yield "cuts", "must be of as many codes as bins and sums"
        return
    if arrays.first_values.shape[0] != arrays.first_signed.shape[0]:
        yield "first_values", "must be as many rows as first_signed"
        return
    yield from check_numbers(arrays)
    yield from check_codes(arrays, is_category)
    yield from check_learners(arrays, is_category)
    yield from check_counts(arrays)
    yield from check_first_rows(arrays, catalogue)


def check_numbers(state: kernels.OnlineState) -> Faults:
    """Yield faults of arrays that must be finite, or not negative."""
    for name in ("sums", "squares", "facts", "thresholds", "slopes", "losses"):
        if not np.isfinite(getattr(state, name)).all():
            yield name, "must be finite"
    for name in ("squares", "facts", "slopes", "losses"):
        if (getattr(state, name) < 0.0).any():
            yield name, "must not be negative"
    if not (np.abs(state.alphas) <= kernels.MOST_ALPHA).all():
        yield (
            "alphas",
            f"must be from {-kernels.MOST_ALPHA:g} to {kernels.MOST_ALPHA:g}",
        )
    if not state.facts[kernels.SCALE] >= 1.0:
        yield "facts", "must have a scale of at least 1"


def check_codes(state: kernels.OnlineState, is_category: BoolArray) -> Faults:
    """Yield faults of cuts and bins."""
    n_slots = state.cuts.shape[1]
    if ((state.n_codes < 0) | (state.n_codes > n_slots)).any():
        yield "n_codes", f"must be from 0 to {n_slots}"
        return
    # Before there are cuts, all values have the first code.
    is_used = np.arange(n_slots) < np.maximum(state.n_codes, 1)[:, None]
    # The last code of a number has no upper end.
    n_finite = state.n_codes - (~is_category & (state.n_codes > 0))
    is_finite = np.arange(n_slots) < n_finite[:, None]
    is_right = np.where(is_finite, np.isfinite(state.cuts), state.cuts == np.inf)
    is_rising = (state.cuts[:, 1:] > state.cuts[:, :-1]) | ~is_finite[:, 1:]
    if not (is_right.all() and is_rising.all()):
        yield "cuts", "must ascend, and be infinite beyond the codes of a feature"
    weights, means = (state.bins[..., at] for at in (kernels.BIN_WEIGHT, kernels.MEAN))
    is_wrong = ~(np.isfinite(weights) & np.isfinite(means) & (weights >= 0.0))
    if is_wrong.any() or np.isnan(state.bins).any():
        yield "bins", "must have weights of at least 0 and finite means"
    for name, sums in (("bins", weights), ("sums", state.sums)):
        if (sums[~is_used] != 0.0).any():
            yield name, "must be 0 beyond the codes of a feature"


def check_learners(state: kernels.OnlineState, is_category: BoolArray) -> Faults:
    """Yield faults of the weak learners."""
    n_learners = int(state.counts[kernels.N_LEARNERS])
    if not 0 <= n_learners <= state.thresholds.size:
        yield "counts", f"must count from 0 to {state.thresholds.size} learners"
        return
    features = state.stumps[:n_learners, kernels.READS_FEATURE]
    if ((features < 0) | (features >= is_category.size)).any():
        yield "stumps", f"must read features from 0 to {is_category.size - 1}"
        return
    if (state.stumps[:n_learners, kernels.EQUALS] != is_category[features]).any():
        yield "stumps", "must test for a value where the feature is a category"
    if (np.abs(state.votes[:n_learners]) != 1).any():
        yield "votes", "must be 1 or -1"


def check_counts(state: kernels.OnlineState) -> Faults:
    """Yield faults of the counts of rows."""
    counts = state.counts
    if ((counts < 0) | (counts > MOST_ROWS)).any():
        yield "counts", f"must be from 0 to {MOST_ROWS}"
    if counts[kernels.HAS_TABLE] > 1:
        yield "counts", "must say by 0 or 1 whether the cuts are those of a table"
    if not counts[kernels.N_SINCE] < counts[kernels.N_LOOK]:
        yield "counts", "must have a look for a stump ahead"
    n_first = state.first_values.shape[0]
    if n_first not in (0, MARKS[-1]):
        yield "first_values", f"must be 0 or {MARKS[-1]} rows"
    elif n_first and not counts[kernels.N_ROWS] < n_first:
        yield "counts", f"must be below {n_first} rows while these are held"


def check_first_rows(state: kernels.OnlineState, catalogue: Catalogue) -> Faults:
    """Yield faults of the first rows of a stream."""
    if np.isinf(state.first_values).any():
        yield "first_values", "must not be infinite"
    if not np.isfinite(state.first_signed).all():
        yield "first_signed", "must be finite"
    for idx, feature in enumerate(catalogue.features):
        column = state.first_values[:, idx]
        known = column[np.isfinite(column)]
        is_code = (known % 1 == 0) & (known >= UNSEEN)
        if (
            feature.type == "category"
            and not (is_code & (known < max(len(feature.categories), 1))).all()
        ):
            yield "first_values", f"must be codes of {feature.name}'s categories"
