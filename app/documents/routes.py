"""The route in a model's document: which panels are for which cases."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from app.documents.catalogue import Micros
from app.documents.shape import Many, StoredShape
from core.errors import Refusal
from core.model.routes import MAIN, Route, Split, SplitKind

Position = Annotated[int, Field(ge=0, le=2**31)]


class RouteShape(StoredShape):
    feature_idxs: Annotated[Many[Position], Field(min_length=1)] = Field(
        alias="features"
    )
    kind: SplitKind
    points: Many[Annotated[float, Field(ge=-1e300, le=1e300)]]
    parts: Many[Annotated[int, Field(ge=MAIN, le=2**31)]]
    least_budget: Micros = Field(alias="least_budget_micros")
    up_to: Micros | None = Field(alias="up_to_micros")


def route_to_json(route: Route) -> dict[str, Any]:
    """Return a route as JSON-able values."""
    return {
        "features": list(route.split.feature_idxs),
        "kind": route.split.kind,
        "points": route.split.points.tolist(),
        "parts": route.parts.tolist(),
        "least_budget_micros": route.least_budget,
        "up_to_micros": route.up_to,
    }


def build_route(shape: RouteShape | None) -> Route | None:
    """Return a route from its document, which `check_route` has found right."""
    if shape is None:
        return None
    points = np.array(shape.points, np.float64)
    split = Split(shape.feature_idxs, shape.kind, points)
    parts = np.array(shape.parts, np.int64)
    return Route(split, parts, shape.least_budget, shape.up_to)


def check_route(
    shape: RouteShape | None, panels: Sequence[set[int]], n_features: int
) -> Iterator[Refusal]:
    """Yield what is wrong with a route; `panels` are the features of each."""
    if shape is None:
        return
    where = "model.panels.route"
    root = set(shape.feature_idxs)
    if len(root) < len(shape.feature_idxs) or max(root) >= n_features:
        rule = f"must be different positions below {n_features}"
        yield Refusal(f"{where}.features", rule)
    if (shape.kind == "largest") != (len(shape.feature_idxs) > 1):
        yield Refusal(f"{where}.kind", "is largest exactly where features are several")
    is_empty = not shape.points
    has_order = list(shape.points) == sorted(set(shape.points))
    if is_empty != (shape.kind == "largest") or not has_order:
        rule = "must ascend, and be empty exactly where the kind is largest"
        yield Refusal(f"{where}.points", rule)
    if shape.up_to is not None and shape.up_to < shape.least_budget:
        yield Refusal(f"{where}.up_to_micros", "must not be below least_budget_micros")
    yield from check_part_numbers(shape, panels, where)


def check_part_numbers(
    shape: RouteShape, panels: Sequence[set[int]], where: str
) -> Iterator[Refusal]:
    """Yield what is wrong with the parts that panels are for."""
    root, parts = set(shape.feature_idxs), list(shape.parts)
    n_parts = Split(shape.feature_idxs, shape.kind, np.array(shape.points)).n_parts
    n_main = parts.count(MAIN)
    is_main_first = parts[:n_main] == [MAIN] * n_main
    if len(parts) != len(panels) or not is_main_first or n_main == len(parts):
        rule = "must be one for each panel, -1 first, and at least one more"
        yield Refusal(f"{where}.parts", rule)
        return
    if max(parts) >= n_parts:
        yield Refusal(f"{where}.parts", f"must be below {n_parts}")
    if n_main == 0 or all(panels[:n_main]):
        rule = "must be -1 of the panel without features"
        yield Refusal(f"{where}.parts", rule)
    for part in sorted(set(parts) - {MAIN}):
        sets = [one for one, its in zip(panels, parts, strict=True) if its == part]
        if root not in sets or any(not root <= one for one in sets):
            rule = f"panels of part {part} must have the root, one of them nothing else"
            yield Refusal(f"{where}.parts", rule)
