"""Hold how often offers come back empty, in each kind of cases."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from annotated_types import Len

from askless.core.arrays import Arrays, BoolArray, Derived, FloatArray
from askless.core.catalogue.catalogue import Catalogue
from askless.core.model.ranges import Each, Share, Shares

# Nothing is certain to be there, or to be empty.
LEAST_CHANCE = 1e-4


@dataclass(frozen=True, eq=False)
class CaseKind(Arrays):
    """Cases whose offers come back empty alike often."""

    #: share of the cases
    share: Share
    #: (n_features,), chance that the offer of a feature comes back empty
    chances: Annotated[Shares, Each("features")]


@dataclass(frozen=True, eq=False)
class Emptiness(Arrays, Derived):
    """Kinds of cases; what came back empty shows which kind a case may be.

    Within a kind, offers come back empty independently of each other (latent class
    analysis; Lazarsfeld and Henry 1968). With one kind each offer has its own chance,
    whatever else came back.
    """

    kinds: Annotated[tuple[CaseKind, ...], Len(1, 2)]

    @cached_property
    def chances(self) -> FloatArray:
        """Chance of an empty answer in each kind; (n_kinds, n_features)."""
        return np.array([kind.chances for kind in self.kinds])

    @cached_property
    def shares(self) -> FloatArray:
        """Share of each kind; (n_kinds,)."""
        return np.array([kind.share for kind in self.kinds])

    def expect(
        self, catalogue: Catalogue, is_empty: BoolArray, is_asked: BoolArray
    ) -> FloatArray:
        """Return the chance that each feature's offer comes back empty.

        Parameters
        ----------
        is_empty : bool array, shape (n_rows, n_offers)
            Which of `Catalogue.offers` came back without any value.
        is_asked : bool array, shape (n_rows, n_offers) or (n_offers,)
            Which were asked at all; the others say nothing.

        Returns
        -------
        float64 array, shape (n_rows, n_features)
        """
        if len(self.kinds) == 1:
            return np.repeat(self.chances, len(is_empty), axis=0)
        chances = self.chances[:, [offer[0] for offer in catalogue.offers]]
        logs = log_chances_of_rows(is_empty, is_asked, self.shares, chances)
        odds = np.exp(logs - logs.max(axis=1, keepdims=True))
        expected: FloatArray = odds / odds.sum(axis=1, keepdims=True) @ self.chances
        return expected


def log_chances_of_rows(
    is_empty: BoolArray, is_asked: BoolArray, shares: FloatArray, chances: FloatArray
) -> FloatArray:
    """Return the log chance of each row's answers and each kind; (n_rows, n_kinds)."""
    chances = np.clip(chances, LEAST_CHANCE, 1.0 - LEAST_CHANCE)
    logs: FloatArray = np.log(np.maximum(shares, LEAST_CHANCE))
    logs = logs + (is_empty & is_asked) @ np.log(chances).T
    return logs + (~is_empty & is_asked) @ np.log1p(-chances).T
