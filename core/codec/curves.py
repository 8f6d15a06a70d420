"""Curves to and from JSON-able values."""

from __future__ import annotations

from core.codec.nodes import MAX_MICROS, Json, Node
from core.model.model import Curve


def curve_to_json(curve: Curve) -> Json:
    """Give a curve as JSON-able values."""
    return {
        "budgets_micros": list(curve.budgets),
        "errors": list(curve.errors),
        "errors_calibrated": list(curve.errors_calibrated),
        "mean_spends_micros": list(curve.mean_spends),
        "max_spends_micros": list(curve.max_spends),
        "rows": curve.n_samples,
    }


def read_curve(node: Node) -> Curve:
    """Read a curve; its lists must be of one length."""
    budgets = tuple(
        None if budget is None else Node({"b": budget}, "curve").micros("b")
        for budget in node.items("budgets_micros")
    )
    curve = Curve(
        budgets=budgets,
        errors=tuple(node.numbers("errors", 0, 1 + 1e-9)),
        errors_calibrated=tuple(node.numbers("errors_calibrated", 0, 1 + 1e-9)),
        mean_spends=tuple(node.numbers("mean_spends_micros", 0, 1e18)),
        max_spends=tuple(node.integers("max_spends_micros", 0, MAX_MICROS)),
        n_samples=node.integer("rows", 0, 2**53),
    )
    lengths = {
        len(curve.budgets),
        len(curve.errors),
        len(curve.errors_calibrated),
        len(curve.mean_spends),
        len(curve.max_spends),
    }
    node.require(len(lengths) == 1, "budgets_micros", "lists must be of one length")
    return curve
