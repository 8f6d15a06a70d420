"""The route in a model's document: which panels are for which cases."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from annotated_types import Interval, Len

from askless.app.documents.shape import Many
from askless.app.documents.stored import Stored, StoredShape, write
from askless.core.arrays import IntArray
from askless.core.errors import Refusal
from askless.core.model.ladder.routes import MAIN, Route, Split, SplitKind
from askless.core.model.ranges import Micros, Numbers, Position


class RouteShape(StoredShape):
    """A route and its split in one object."""

    feature_idxs: Annotated[Many[Position], Len(1)]
    kind: SplitKind
    points: Stored[Numbers]
    parts: Stored[Annotated[IntArray, Interval(ge=MAIN, le=2**31)]]
    least_budget: Micros
    up_to: Micros | None


def route_to_json(route: Route) -> dict[str, Any]:
    """Return a route as JSON-able values."""
    document = write(route)
    return {**document.pop("split"), **document}


def build_route(shape: RouteShape | None) -> Route | None:
    """Return the route that a document describes; `check_route` holds its rules."""
    return None if shape is None else shape.to(Route, split=shape.to(Split))


def check_route(
    route: Route | None, panels: Sequence[set[int]], n_features: int
) -> Iterator[Refusal]:
    """Yield refusals of a route; `panels` holds the features of each panel."""
    if route is None:
        return
    where, split = "model.panels.route", route.split
    root, points = set(split.feature_idxs), split.points.tolist()
    if len(root) < len(split.feature_idxs) or max(root) >= n_features:
        rule = f"must be different positions below {n_features}"
        yield Refusal(f"{where}.features", rule)
    is_largest = split.kind == "largest"
    if is_largest != (len(split.feature_idxs) > 1):
        yield Refusal(f"{where}.kind", "is largest exactly where features are several")
    if bool(points) == is_largest or points != sorted(set(points)):
        rule = "must ascend, and be empty exactly where the kind is largest"
        yield Refusal(f"{where}.points", rule)
    if route.up_to is not None and route.up_to < route.least_budget:
        yield Refusal(f"{where}.up_to_micros", "must not be below least_budget_micros")
    yield from check_part_numbers(route, panels, f"{where}.parts")


def check_part_numbers(
    route: Route, panels: Sequence[set[int]], where: str
) -> Iterator[Refusal]:
    """Yield refusals of the part of the route that each panel belongs to."""
    root, parts = set(route.split.feature_idxs), route.parts.tolist()
    n_main, n_parts = parts.count(MAIN), route.split.n_parts
    is_main_first = parts[:n_main] == [MAIN] * n_main
    if len(parts) != len(panels) or not is_main_first or n_main == len(parts):
        rule = "must be one for each panel, -1 first, and at least one more"
        yield Refusal(where, rule)
        return
    if max(parts) >= n_parts:
        yield Refusal(where, f"must be below {n_parts}")
    if all(panels[:n_main]):
        yield Refusal(where, "must be -1 of the panel without features")
    for part in sorted(set(parts) - {MAIN}):
        sets = [
            feature_set
            for feature_set, other in zip(panels, parts, strict=True)
            if other == part
        ]
        if root not in sets or any(not root <= feature_set for feature_set in sets):
            rule = f"panels of part {part} must have the root, one of them nothing else"
            yield Refusal(where, rule)
