"""Read and write session states; features are stored by name."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from askless.app.documents.fields import Policy
from askless.app.documents.shape import Many, check_version, read_shape, shape_of
from askless.app.documents.stored import StoredShape
from askless.core.catalogue.catalogue import Catalogue
from askless.core.errors import Refusal, RefusedError, shorten
from askless.core.model.ranges import Micros
from askless.core.session.certificates import COVERAGES
from askless.core.session.explorations import RATES
from askless.core.session.state import (
    Aim,
    Answer,
    Charge,
    ChargeKind,
    Exploration,
    Outcome,
    State,
    StopReason,
    StopRule,
)

# Categories that training did not see have no code: their texts are stored too.
Texts = dict[str, str]
Key = Annotated[int, Field(ge=0, le=2**64 - 1)]
Chance = Annotated[float, Field(ge=0, le=1)]


class MoneylessShape(StoredShape):
    """An object none of whose fields is an amount: `spend` says what is bought."""

    model_config = ConfigDict(alias_generator=None)


class StopShape(shape_of(StopRule, base=MoneylessShape)):  # type: ignore[misc]  # made of core's fields
    @model_serializer(mode="wrap")
    def without_defaults(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write a certificate's fields, and to spend all, only if requested."""
        document: dict[str, Any] = write(self)
        if document["disagreement"] is None:
            del document["disagreement"], document["delta"]
        if document["spend"] == "worthwhile":
            del document["spend"]
        return document


class AimShape(StoredShape):
    """An aim: one of three fields is set."""

    mean_budget: Micros | None = None
    wanted_error: float | None = Field(default=None, ge=0, le=1e12)
    error_price: Micros | None = None


class KnownShape(StoredShape):
    outcome: Outcome | Literal["known"]
    value: float | None = None


class ChargeShape(StoredShape):
    feature: str
    amount: Micros
    kind: ChargeKind = Field(
        default="charge", exclude_if=lambda value: value == "charge"
    )
    provider: str | None = Field(default=None, exclude_if=lambda value: value is None)


class AnswerShape(StoredShape):
    feature: str
    outcome: Outcome
    value: float | None = None
    charged: Micros
    propensity: Chance | None = Field(
        default=None, exclude_if=lambda number: number is None
    )


class ExplorationShape(StoredShape):
    """A draw of whether to explore; `drawn` is absent where nothing was drawn."""

    n_answers: Annotated[int, Field(ge=0, le=2**32)]
    n_open: Annotated[int, Field(ge=1, le=2**32)]
    drawn: str | None = None


class StateDocument(StoredShape):
    format: Literal["askless-state"]
    version: Literal[1]
    policy: Policy
    budget: Micros | None = None
    seed: Key
    stream: Key
    stop: StopShape
    features: dict[str, KnownShape]
    known: list[str]
    charges: list[ChargeShape]
    history: list[AnswerShape]
    n_draws: Annotated[int, Field(ge=0, le=2**32)]
    next_feature: str | None = None
    stop_reason: StopReason | None = None
    is_ended: bool
    is_decided: bool
    is_led: bool = Field(default=True, exclude_if=lambda value: value)
    coverage: Annotated[float, Field(ge=COVERAGES[0], le=COVERAGES[1])] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    unseen_texts: Texts = Field(default_factory=dict)
    aim: AimShape | None = Field(default=None, exclude_if=lambda value: value is None)
    step_chances: Many[Many[float]] = Field(
        default=(), alias="told", exclude_if=lambda value: not value
    )
    explore: Annotated[float, Field(ge=RATES[0], le=RATES[1])] = Field(
        default=0.0, exclude_if=lambda value: not value
    )
    explorations: Many[ExplorationShape] = Field(
        default=(), exclude_if=lambda value: not value
    )


def build_document(state: State, catalogue: Catalogue, texts: Texts) -> StateDocument:
    """Build the document of a state, and of category texts without a code."""
    names = [feature.name for feature in catalogue.features]
    next_idx = state.next_feature_idx
    return StateDocument.of(
        state,
        format="askless-state",
        version=1,
        features={
            names[idx]: {"outcome": outcome, "value": none_if_nan(state.values[idx])}
            for idx, outcome in enumerate(state.outcomes)
            if outcome is not None
        },
        known=[names[idx] for idx in state.known],
        charges=[
            {
                "feature": names[charge.feature_idx],
                "amount": charge.amount,
                "kind": charge.kind,
                "provider": charge.provider,
            }
            for charge in state.charges
        ],
        history=[
            {
                "feature": names[answer.feature_idx],
                "outcome": answer.outcome,
                "value": answer.value,
                "charged": answer.charged,
                "propensity": answer.propensity,
            }
            for answer in state.history
        ],
        explorations=[
            ExplorationShape.of(
                exploration, drawn=name_of(names, exploration.feature_idx)
            )
            for exploration in state.explorations
        ],
        next_feature=name_of(names, next_idx),
        unseen_texts=texts,
    )


def name_of(names: Sequence[str], feature_idx: int | None) -> str | None:
    return None if feature_idx is None else names[feature_idx]


def none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else value


def read_state(raw: object) -> StateDocument:
    check_version(raw, 1, "state", "start another session")
    return read_shape(StateDocument, raw, "state")


def check_names(document: StateDocument, idxs: Mapping[str, int]) -> Iterator[Refusal]:
    """Yield refusals of features that are not in the catalogue."""
    rule = "must be in the catalogue"
    names_by_field = {
        "known": document.known,
        "charges": [charge.feature for charge in document.charges],
        "history": [answer.feature for answer in document.history],
        "explorations": [
            draw.drawn for draw in document.explorations if draw.drawn is not None
        ],
    }
    for noun, names in names_by_field.items():
        for position, name in enumerate(names):
            if name not in idxs:
                yield Refusal(f"state.{noun}[{position}]", rule, shorten(name))
    for name in document.features:
        if name not in idxs:
            yield Refusal("state.features", rule, shorten(name))
    if document.next_feature not in {None, *idxs}:
        yield Refusal("state.next_feature", rule, shorten(document.next_feature))


def build_state(document: StateDocument, catalogue: Catalogue) -> State:
    """Build a state; refuse features that are not in the catalogue."""
    idxs = catalogue.feature_idxs
    refusals = [*check_names(document, idxs)]
    if refusals:
        raise RefusedError(refusals)
    outcomes: list[Any] = [None] * len(idxs)
    values = [math.nan] * len(idxs)
    for name, outcome in document.features.items():
        outcomes[idxs[name]] = outcome.outcome
        values[idxs[name]] = math.nan if outcome.value is None else outcome.value
    next_feature = document.next_feature
    return document.to(
        State,
        stop=StopRule(**dict(document.stop)),
        aim=None if document.aim is None else document.aim.to(Aim),
        outcomes=tuple(outcomes),
        values=tuple(values),
        known=tuple(idxs[name] for name in document.known),
        charges=tuple(
            charge.to(Charge, feature_idx=idxs[charge.feature])
            for charge in document.charges
        ),
        history=tuple(
            Answer(
                idxs[answer.feature],
                answer.outcome,
                answer.value,
                answer.charged,
                answer.propensity,
            )
            for answer in document.history
        ),
        explorations=tuple(
            draw.to(
                Exploration,
                feature_idx=None if draw.drawn is None else idxs[draw.drawn],
            )
            for draw in document.explorations
        ),
        next_feature_idx=None if next_feature is None else idxs[next_feature],
        held=0,
        pace=None,
    )


def write_state(state: State, catalogue: Catalogue, texts: Texts) -> str:
    """Return a state as the text that is stored."""
    return build_document(state, catalogue, texts).model_dump_json()


def parse_state(text: str, catalogue: Catalogue) -> tuple[State, Texts]:
    """Return a stored state, and the texts that have no code."""
    document = read_state(json.loads(text))
    return build_state(document, catalogue), document.unseen_texts


def has_pending(text: str) -> bool:
    """Return whether some result is still pending; needs no catalogue."""
    features = json.loads(text)["features"].values()
    return any(feature["outcome"] == "ordered" for feature in features)
