"""Calibrations to and from JSON-able values."""

from __future__ import annotations

from core.codec.nodes import Json, Node
from core.model.ensemble import Calibration
from core.session.policies import POLICIES


def calibration_to_json(calibration: Calibration) -> Json:
    """Give one calibration as JSON-able values."""
    return {
        "offset": calibration.offset,
        "drift": calibration.drift,
        "slope_unknown": calibration.slope_unknown,
        "slope_known": calibration.slope_known,
    }


def read_calibrations(
    node: Node, n_outputs: int
) -> tuple[tuple[str, tuple[Calibration, ...]], ...]:
    """Read the calibrations of each policy that has them, one per output."""
    policies: tuple[str, ...] = tuple(POLICIES)
    calibrations = []
    for policy in policies:
        if node.get(policy) is not None:
            outputs = tuple(read_calibration(one) for one in node.nodes(policy))
            rule = f"must be {n_outputs}"
            node.require(len(outputs) == n_outputs, policy, rule)
            calibrations.append((policy, outputs))
    return tuple(calibrations)


def read_calibration(node: Node) -> Calibration:
    """Read one calibration."""
    return Calibration(
        offset=node.number("offset", -1e6, 1e6),
        drift=node.number("drift", -1e6, 1e6),
        slope_unknown=node.number("slope_unknown", 0, 1e6),
        slope_known=node.number("slope_known", 0, 1e6),
    )
