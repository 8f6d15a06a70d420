"""Cascades to and from JSON-able values."""

from __future__ import annotations

from dataclasses import asdict

from core.codec.nodes import Json, Node
from core.model.ensemble import Cascade, Stage

STAGE_SHARES = ("detection", "false_alarm", "chance_reaching", "chance_rejected")


def cascade_to_json(cascade: Cascade) -> Json:
    """Give a cascade as JSON-able values."""
    return {
        "stages": [asdict(stage) for stage in cascade.stages],
        "chance_passed": cascade.chance_passed,
    }


def read_cascade(top: Node, n_hypotheses: int, n_outputs: int) -> Cascade | None:
    """Read a cascade, where there is one; its stages part the hypotheses in order."""
    if top.get("cascade") is None:
        return None
    node = top.node("cascade")
    stages = tuple(
        Stage(
            length=one.integer("length", 1, n_hypotheses),
            threshold=one.number("threshold", -1e12, 1e12),
            **{name: one.number(name, 0, 1 + 1e-9) for name in STAGE_SHARES},
        )
        for one in node.nodes("stages")
    )
    lengths = [stage.length for stage in stages]
    is_parted = lengths == sorted(set(lengths)) and lengths[-1:] == [
        n_hypotheses
    ] * bool(n_hypotheses)
    rule = "must end one after the other, the last with the hypotheses"
    node.require(is_parted and n_outputs == 1, "stages", rule)
    return Cascade(stages, node.number("chance_passed", 0, 1))
