"""Weak hypotheses: stumps, trees and products."""

from dataclasses import dataclass

LEAF = -1


@dataclass(frozen=True, slots=True)
class Stump:
    """A weak hypothesis on one feature, v phi(x) (Kegl and Busa-Fekete 2009).

    It votes `votes` (+1 or -1 per output) where the value exceeds `cut` (numbers,
    booleans) or equals the category code `cut` (`is_category`), -`votes` otherwise,
    0 where it is missing or a category never seen in training.
    """

    feature_idx: int
    cut: float
    votes: tuple[int, ...]
    is_category: bool = False

    @property
    def feature_idxs(self) -> tuple[int, ...]:
        """Return the feature it reads."""
        return (self.feature_idx,)


@dataclass(frozen=True, slots=True)
class Tree:
    """Stumps asked one after the other; the last one that can be read votes.

    The first is the root. `children` gives, for each, the positions of the stumps
    asked next above and below its cut, `LEAF` where its own vote stands. Where the
    root can't be read the tree abstains; where a later one can't, the vote of the
    one before stands. Below its cut a stump votes the opposite, or what `below_votes`
    gives for it (trees that were not boosted).
    """

    stumps: tuple[Stump, ...]
    children: tuple[tuple[int, int], ...]
    below_votes: tuple[tuple[int, ...], ...] | None = None

    @property
    def feature_idxs(self) -> tuple[int, ...]:
        """Return the features it may read, the root's first."""
        return tuple(dict.fromkeys(one.feature_idx for one in self.stumps))


@dataclass(frozen=True, slots=True)
class Product:
    """Stumps whose votes are multiplied, output by output; 0 if one abstains."""

    stumps: tuple[Stump, ...]

    @property
    def feature_idxs(self) -> tuple[int, ...]:
        """Return the features it reads, in the order of asking."""
        return tuple(dict.fromkeys(one.feature_idx for one in self.stumps))


Hypothesis = Stump | Tree | Product
