"""Checks of the rules in a model's document that move a case to a dearer panel."""

from collections.abc import Iterator

import numpy as np

from askless.core.errors import Refusal
from askless.core.model.ladder.stopping import Stopping


def check_stopping(stopping: Stopping | None, where: str) -> Iterator[Refusal]:
    """Yield refusals of stopping rules; a target is the same or an earlier panel."""
    if stopping is None:
        return
    for number, rule in enumerate(stopping.rules):
        place = f"{where}.rules[{number}]"
        if (rule.targets > np.arange(rule.targets.size)).any():
            expected = "must be the panel's own position or one before"
            yield Refusal(f"{place}.targets", expected)
    spends = [rule.spend for rule in stopping.rules]
    errors = [-rule.error for rule in stopping.rules]
    if spends != sorted(set(spends)) or errors != sorted(set(errors)):
        expected = "must ascend in spend_micros and descend in error"
        yield Refusal(f"{where}.rules", expected)
