"""Calibrations to and from JSON-able values."""

from __future__ import annotations

from core.codec.nodes import Json, Node
from core.model.ensemble import N_KNOTS, Calibration
from core.session.policies import POLICIES


def calibration_to_json(calibration: Calibration) -> Json:
    """Return one calibration as JSON-able values."""
    return {
        "offsets": [list(knot) for knot in calibration.offsets],
        "slopes": list(calibration.slopes),
    }


def read_calibrations(
    node: Node, n_outputs: int
) -> tuple[tuple[str, Calibration], ...]:
    """Read the calibration of each policy that has one."""
    return tuple(
        (policy, read_calibration(node.node(policy), n_outputs))
        for policy in POLICIES
        if node.get(policy) is not None
    )


def read_calibration(node: Node, n_outputs: int) -> Calibration:
    """Read one calibration."""
    offsets = tuple(
        tuple(Node({"offsets": knot}, node.where).numbers("offsets", -1e6, 1e6))
        for knot in node.items("offsets")
    )
    slopes = tuple(node.numbers("slopes", 0, 1e6))
    rule = f"must be {N_KNOTS} rows of {n_outputs}"
    is_right = [len(knot) for knot in offsets] == [n_outputs] * N_KNOTS
    node.require(is_right, "offsets", rule)
    node.require(len(slopes) == N_KNOTS, "slopes", f"must be {N_KNOTS}")
    return Calibration(offsets, slopes)
