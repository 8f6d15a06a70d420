"""Small curves."""

from askless.core.model.model import Curve
from tests.small import MICROS


def curve_of(errors, n_samples: int = 2000) -> Curve:
    """A curve at 0, 1, 2 ... units and without a limit, all of it spent."""
    amounts = [place * MICROS for place in range(len(errors))]
    return Curve(
        budgets=(*amounts[:-1], None),
        errors=tuple(errors),
        errors_calibrated=tuple(errors),
        mean_spends=tuple(map(float, amounts)),
        max_spends=tuple(amounts),
        n_samples=n_samples,
    )
