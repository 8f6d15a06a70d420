"""Rounds of boosting as the checkpoints of a training store them."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from askless.app.documents.model.hypotheses import StoredHypothesis, hypothesis_shape
from askless.app.documents.shape import Many, read_shape
from askless.app.documents.stored import StoredShape
from askless.core.catalogue.catalogue import Catalogue
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ranges import Micros
from askless.core.training.rounds import Memory, Round


class RoundShape(StoredShape):
    number: Annotated[int, Field(ge=1, le=2**31)]
    hypothesis: StoredHypothesis
    edge: Annotated[float, Field(ge=0, le=1 + 1e-9)]
    alpha: Annotated[float, Field(ge=0, le=1e6)]
    z: Annotated[float, Field(ge=0, le=1e6)]
    spent: Micros
    first_quality: Annotated[float, Field(ge=0, le=1e300)]
    is_smoothing: bool


class Checkpoint(StoredShape):
    rounds: Many[RoundShape]


def rounds_to_json(rounds: Sequence[Round]) -> list[dict[str, Any]]:
    """Return rounds of boosting as JSON-able values."""
    shapes = (
        RoundShape.of(
            boosting_round,
            boosting_round.memory,
            hypothesis=hypothesis_shape(boosting_round.hypothesis),
        )
        for boosting_round in rounds
    )
    return [shape.model_dump(exclude_none=True) for shape in shapes]


def rounds_from_json(
    raw: object, catalogue: Catalogue, n_outputs: int
) -> tuple[Round, ...]:
    """Read rounds of boosting over a catalogue whose categories are known."""
    checkpoint = read_shape(Checkpoint, {"rounds": raw}, "checkpoint")
    refusals: list[Refusal] = []
    for position, boosting_round in enumerate(checkpoint.rounds):
        where = f"checkpoint.rounds[{position}].hypothesis"
        refusals += boosting_round.hypothesis.check(
            catalogue.features, n_outputs, where
        )
    if refusals:
        raise RefusedError(refusals)
    return tuple(
        boosting_round.to(
            Round,
            hypothesis=boosting_round.hypothesis.build(catalogue.features),
            memory=boosting_round.to(Memory),
        )
        for boosting_round in checkpoint.rounds
    )
