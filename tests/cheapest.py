"""A policy that is no part of the program: what one class must say, and no more."""

import numpy as np

from askless.core.session.policy import Policy, Step
from askless.core.session.position import Position


class Cheapest(Policy):
    """Buy whatever the model reads, the cheapest first."""

    name = "cheapest"

    def choose_next(self, position: Position) -> Step:
        is_wanted = np.zeros(position.prices.size, np.bool_)
        is_wanted[position.waiting_for[position.waiting_for >= 0]] = True
        if not is_wanted.any():
            return Step(None, "all_known")
        prices = np.where(is_wanted, position.prices, np.inf)
        cheapest = int(prices.argmin())
        if prices[cheapest] > position.remaining:
            return Step(None, "budget_exhausted")
        return Step(cheapest)
