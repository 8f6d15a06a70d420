"""The rules in a model's document that say when a case goes on to a dearer panel."""

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from app.documents.catalogue import Micros
from app.documents.shape import Many, StoredShape
from core.errors import Refusal
from core.model.stopping import Stopping, StoppingRule

Cost = Annotated[float, Field(ge=0, le=1e18)]
Place = Annotated[int, Field(ge=0, le=2**31)]


class StoppingRuleShape(StoredShape):
    rate: Cost
    spend: Cost = Field(alias="spend_micros")
    error: Cost
    targets: Many[Place]
    thresholds: Many[Annotated[float, Field(ge=-1, le=1e18)]]
    prices: Many[Micros] = Field(alias="prices_micros")
    left: Many[Annotated[float, Field(ge=0, le=1)]]


class StoppingShape(StoredShape):
    errors: Many[Cost]
    rules: Annotated[Many[StoppingRuleShape], Field(min_length=1)]


def stopping_to_json(stopping: Stopping) -> dict[str, Any]:
    """Return rules as JSON-able values."""
    rules = [
        {
            "rate": one.rate,
            "spend_micros": one.spend,
            "error": one.error,
            "targets": one.targets.tolist(),
            "thresholds": one.thresholds.tolist(),
            "prices_micros": one.prices.tolist(),
            "left": one.left.tolist(),
        }
        for one in stopping.rules
    ]
    return {"errors": stopping.errors.tolist(), "rules": rules}


def build_stopping(shape: StoppingShape | None) -> Stopping | None:
    """Return rules from their document, which `check_stopping` has found right."""
    if shape is None:
        return None
    rules = tuple(
        one.to(
            StoppingRule,
            targets=np.array(one.targets, np.int64),
            thresholds=np.array(one.thresholds, np.float64),
            prices=np.array(one.prices, np.int64),
            left=np.array(one.left, np.float64),
        )
        for one in shape.rules
    )
    return Stopping(np.array(shape.errors, np.float64), rules)


def check_stopping(
    shape: StoppingShape | None, n_panels: int, where: str
) -> Iterator[Refusal]:
    """Yield what is wrong with rules: a target is a panel preferred, or the own one."""
    if shape is None:
        return
    if len(shape.errors) != n_panels:
        yield Refusal(f"{where}.errors", f"must be {n_panels} numbers")
    for number, one in enumerate(shape.rules):
        place = f"{where}.rules[{number}]"
        lists = one.targets, one.thresholds, one.prices, one.left
        if {*map(len, lists)} != {n_panels}:
            yield Refusal(place, f"lists must be of {n_panels} items")
        elif any(target > here for here, target in enumerate(one.targets)):
            rule = "must be the panel's own position or one before"
            yield Refusal(f"{place}.targets", rule)
    spends = [one.spend for one in shape.rules]
    errors = [-one.error for one in shape.rules]
    if spends != sorted(set(spends)) or errors != sorted(set(errors)):
        rule = "must ascend in spend_micros and descend in error"
        yield Refusal(f"{where}.rules", rule)
