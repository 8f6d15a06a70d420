"""Calibrations to and from JSON-able values."""

from __future__ import annotations

from core.codec.nodes import Json, Node
from core.model.ensemble import Calibration
from core.session.policies import POLICIES


def calibration_to_json(calibration: Calibration) -> Json:
    """Return one calibration as JSON-able values."""
    return {
        "offsets": list(calibration.offsets),
        "drifts": list(calibration.drifts),
        "slope_unknown": calibration.slope_unknown,
        "slope_known": calibration.slope_known,
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
    shifts = {name: node.numbers(name, -1e6, 1e6) for name in ("offsets", "drifts")}
    for name, numbers in shifts.items():
        node.require(len(numbers) == n_outputs, name, f"must be {n_outputs}")
    return Calibration(
        offsets=tuple(shifts["offsets"]),
        drifts=tuple(shifts["drifts"]),
        slope_unknown=node.number("slope_unknown", 0, 1e6),
        slope_known=node.number("slope_known", 0, 1e6),
    )
