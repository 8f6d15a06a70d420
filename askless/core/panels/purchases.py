"""Offers of features that are bought at once, and the prices of sets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askless.core.arrays import BoolArray, Derived, FloatArray
from askless.core.catalogue.catalogue import NO_GROUP, Catalogue
from askless.core.catalogue.prices import Paid, buy

NOTHING = Paid()


@dataclass(frozen=True, eq=False)
class Shop(Derived):
    """A catalogue as a buyer sees it: a bundle is bought whole, fees fall due once."""

    catalogue: Catalogue
    #: which features have two values or more; others are never bought
    is_useful: BoolArray

    @cached_property
    def offers(self) -> tuple[tuple[int, ...], ...]:
        """Useful features that are bought together: those of a bundle, or one alone."""
        useful = (
            tuple(idx for idx in offer if self.is_useful[idx])
            for offer in self.catalogue.offers
        )
        return tuple(sorted(filter(None, useful)))

    @cached_property
    def offer_of(self) -> dict[int, int]:
        """Position of the offer of each useful feature."""
        return {
            idx: number for number, offer in enumerate(self.offers) for idx in offer
        }

    def price(self, feature_idxs: Iterable[int], paid: Paid = NOTHING) -> int:
        """Return the price of features after those in `paid`, in micro-units."""
        return buy(self.catalogue, paid, feature_idxs)[0]

    def fill_budget(self, order: Sequence[int], budget: int) -> tuple[int, ...]:
        """Buy features in an order, skipping those too dear by then; return the bought.

        A bundle is bought whole; a feature of fewer than two values is never bought.
        """
        bought: dict[int, None] = {}
        left, paid = budget, Paid()
        for idx in order:
            if idx in bought or not self.is_useful[idx]:
                continue
            offer = self.offers[self.offer_of[idx]]
            amount, after = buy(self.catalogue, paid, offer)
            if amount <= left:
                left, paid = left - amount, after
                bought |= dict.fromkeys(offer)
        return tuple(bought)

    def list_starters(
        self, paid: Paid, gains: FloatArray, costs: FloatArray
    ) -> list[tuple[int, ...]]:
        """Return the next possible purchases: open offers, and starts of unpaid groups.

        A fee may pay off only with several members of its group. So each such group
        offers its first members by gain per cost, as many as give the most gain per
        price. `gains` and `costs` are (n_features,).
        """
        starters = [offer for offer in self.offers if offer[0] not in paid.feature_idxs]
        groups: dict[int, list[int]] = {}
        for idx, *_ in starters:
            group = int(self.catalogue.group_idxs[idx])
            is_due = group != NO_GROUP and group not in paid.group_idxs
            if is_due and not self.catalogue.is_bundled[idx]:
                groups.setdefault(group, []).append(idx)
        for group, members in groups.items():
            fee = float(self.catalogue.fees[group])
            if fee == 0 or len(members) < 2:
                continue
            order = sorted(members, key=lambda idx: -gains[idx] / costs[idx])
            # The ratio of gain to price for each number of first members.
            totals = np.cumsum(gains[order]) / (fee + np.cumsum(costs[order]))
            size = 1 + int(totals.argmax())
            # A single member is an offer already.
            if size > 1:
                starters.append(tuple(order[:size]))
        return starters
