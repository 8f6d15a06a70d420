"""Rounds of boosting to and from JSON-able values: the checkpoints of a training."""

from __future__ import annotations

from collections.abc import Sequence

from core.codec.hypotheses import hypothesis_to_json, read_hypothesis, read_stump
from core.codec.nodes import Json, Node
from core.model.hypotheses import Hypothesis
from core.table.catalogue import Catalogue, Feature
from core.training.rounds import Memory, Round


def rounds_to_json(rounds: Sequence[Round]) -> list[Json]:
    """Give rounds of boosting as JSON-able values, for a checkpoint."""
    return [
        {
            "number": one.number,
            "hypothesis": hypothesis_to_json(one.hypothesis),
            "edge": one.edge,
            "alpha": one.alpha,
            "z": one.z,
            "spent_micros": one.spent,
            "first_quality": one.memory.first_quality,
            "is_smoothing": one.memory.is_smoothing,
        }
        for one in rounds
    ]


def rounds_from_json(
    raw: object, catalogue: Catalogue, n_outputs: int
) -> tuple[Round, ...]:
    """Read rounds of boosting over a catalogue whose categories are known.

    Raises
    ------
    RefusedError
        Naming the first field that is missing, of the wrong type or out of range.
    """
    return tuple(
        Round(
            number=node.integer("number", 1, 2**31),
            hypothesis=read_round_hypothesis(node, catalogue.features, n_outputs),
            edge=node.number("edge", 0, 1 + 1e-9),
            alpha=node.number("alpha", 0, 1e6),
            z=node.number("z", 0, 1e6),
            spent=node.micros("spent_micros"),
            memory=Memory(
                node.number("first_quality", 0, 1e300), node.flag("is_smoothing")
            ),
        )
        for node in Node({"rounds": raw}, "checkpoint").nodes("rounds")
    )


def read_round_hypothesis(
    node: Node, features: Sequence[Feature], n_outputs: int
) -> Hypothesis:
    """Read a round's hypothesis; one stored before trees holds a stump."""
    if node.get("hypothesis") is not None:
        return read_hypothesis(node.node("hypothesis"), features, n_outputs)
    stump = {**node.raw, "votes": [node.get("vote")]}
    return read_stump(Node(stump, node.where), features, n_outputs)
