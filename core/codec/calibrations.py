"""Calibrations to and from JSON-able values."""

from __future__ import annotations

from typing import get_args

from core.codec.nodes import Json, Node
from core.types import Calibration, PolicyName


def calibration_to_json(calibration: Calibration) -> Json:
    """Give one calibration as JSON-able values."""
    return {
        "offset": calibration.offset,
        "drift": calibration.drift,
        "slope_unknown": calibration.slope_unknown,
        "slope_known": calibration.slope_known,
    }


def read_calibrations(
    node: Node, n_channels: int
) -> tuple[tuple[PolicyName, tuple[Calibration, ...]], ...]:
    """Read the calibrations of each policy that has them, one per channel."""
    policies: tuple[PolicyName, ...] = get_args(PolicyName)
    calibrations = []
    for policy in policies:
        if node.get(policy) is not None:
            channels = tuple(read_calibration(one) for one in node.nodes(policy))
            rule = f"must be {n_channels}"
            node.require(len(channels) == n_channels, policy, rule)
            calibrations.append((policy, channels))
    return tuple(calibrations)


def read_calibration(node: Node) -> Calibration:
    """Read one calibration."""
    return Calibration(
        offset=node.number("offset", -1e6, 1e6),
        drift=node.number("drift", -1e6, 1e6),
        slope_unknown=node.number("slope_unknown", 0, 1e6),
        slope_known=node.number("slope_known", 0, 1e6),
    )
