"""List, show, plan, export, import and delete models."""

import re
from dataclasses import replace
from datetime import datetime
from io import BytesIO
from typing import IO, NamedTuple

from askless.app.documents.fields import NAME_RULE, STORABLE_RULE, is_name, is_storable
from askless.app.documents.files import model_text, read_model
from askless.app.documents.http import models as bodies
from askless.app.documents.text import parse_json
from askless.app.errors import ConflictError, NotFoundError
from askless.app.processes.child import set_preloaded
from askless.app.processes.limited import (
    ChildLimits,
    IsWanted,
    is_always_wanted,
    run_limited,
)
from askless.app.records import Decision, ModelHead, Moment
from askless.app.service.loaded import LoadedModels
from askless.app.store import challenges, models, sessions
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.prices import (
    MAX_TOTAL,
    MAX_UNITS,
    MICROS_PER_UNIT,
    from_micros,
)
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Model
from askless.core.model.values import middle_values
from askless.core.session import machine
from askless.core.session.plans.outline import outline
from askless.core.session.policies import POLICIES, default_policy
from askless.core.session.position import Position
from askless.core.session.state import Answer, Spend, StopRule

page = models.page
# A model with its document, MODEL.json.
export = models.get
get_head, versions = models.get_head, models.list_versions
find_maker = models.find_maker_name
find_head = models.find_head
lock_name = models.lock_name
titles = models.map_titles
MAX_MICROS = MAX_UNITS * MICROS_PER_UNIT
MODEL_START = re.compile(rb'\s*\{\s*"')
# Doors list at most so many names of models.
MOST_LISTED = 200
# More questions of one case would take too long where features are many.
MOST_PLAYED = 20
PLAYABLE = "must be a model that a case can be played with, as `askless train` makes it"
# Errors that contradictory numbers can end in.
BROKEN = (ArithmeticError, AssertionError, LookupError, TypeError, ValueError)
START_RULE = "must be an object of JSON with fields, as `askless train` writes it"


def list_newest(db: Transaction, most: int = MOST_LISTED) -> list[ModelHead]:
    """Return the newest version of each name; many versions of one hide no other."""
    heads: dict[str, ModelHead] = {}
    after: str | None = None
    while True:
        listed = page(db, most, after)
        for head in listed.items:
            heads.setdefault(head.name, head)
        after = listed.next
        if after is None or len(heads) >= most:
            return [*heads.values()][:most]


def get(db: Transaction, loaded: LoadedModels, model_id: str) -> bodies.Model:
    """Return the body of a model: its head, catalogue, classes and card."""
    head = models.get_head(db, model_id)
    model = loaded.get(db, head.id)
    ensemble, catalogue = model.ensemble, model.ensemble.catalogue
    return bodies.Model.of(
        head,
        model,
        ensemble,
        catalogue,
        name=head.name,
        features=[
            bodies.ModelFeature.of(feature, used=bool(is_used))
            for feature, is_used in zip(
                catalogue.features, ensemble.is_used, strict=True
            )
        ],
        groups=[bodies.ModelGroup.of_group(group) for group in catalogue.groups],
        classes=[
            bodies.ModelClass.of(label, share=share)
            for label, share in zip(ensemble.classes, ensemble.priors, strict=True)
        ],
        positive=ensemble.classes[1].label if ensemble.n_outputs == 1 else None,
        hypotheses=len(ensemble.hypotheses),
    )


def load(db: Transaction, loaded: LoadedModels, model_id: str) -> Model:
    """Load a model; raise NotFoundError if it is deleted."""
    return loaded.get(db, models.get_head(db, model_id).id)


def get_curve(db: Transaction, loaded: LoadedModels, model_id: str) -> bodies.Curve:
    """Return a model's curve; raise NotFoundError if it has none."""
    model = load(db, loaded, model_id)
    if model.curve is None:
        raise NotFoundError("curve")
    return bodies.Curve.of(model.curve, unit=model.ensemble.catalogue.cost_unit)


def get_plan(
    db: Transaction,
    loaded: LoadedModels,
    model_id: str,
    budget: int | None,
    spend: Spend,
) -> bodies.Plan:
    """Return the purchases in order at a budget in micro-units; None: unlimited."""
    ensemble = load(db, loaded, model_id).ensemble
    policy = default_policy(ensemble, budget, None, spend)
    features = ensemble.catalogue.features
    purchases, total = [], 0
    for question in outline(ensemble, budget, spend=spend):
        total += question.price
        feature = features[question.feature_idx]
        purchases.append(
            bodies.Purchase.of(
                feature,
                number=question.number,
                feature=feature.name,
                features=[features[idx].name for idx in question.feature_idxs],
                price=question.price,
                total=total,
                empty_chance=question.empty_chance,
                expected_price=question.expected_price,
            )
        )
    n_planned = None
    if POLICIES[policy].has_votes:
        # The plan without any answer: certainty, which depends on answers, must not end
        # it.
        stop = StopRule(certain=False, spend=spend)
        state = machine.start(ensemble, budget, stop=stop)
        n_planned = Position.of(ensemble, state).plan.length
    return bodies.Plan(
        budget=None if budget is None else from_micros(budget),
        unit=ensemble.catalogue.cost_unit,
        policy=policy,
        purchases=purchases,
        total=from_micros(total),
        hypotheses=len(ensemble.hypotheses),
        hypotheses_planned=n_planned,
    )


class CheckedModel(NamedTuple):
    """A model's document that was checked, as it is stored."""

    name: str
    text: str


def check_model(
    body: bytes, limits: ChildLimits, is_wanted: IsWanted = is_always_wanted
) -> CheckedModel:
    """Check a MODEL.json in a child process, since it may be anybody's.

    Nested lists take thirty times their size in memory. Raises RefusedError.
    """
    if MODEL_START.match(body) is None:
        raise RefusedError([Refusal("model", START_RULE)])
    bounded = replace(limits, noun="model")
    checked: CheckedModel = run_limited(
        bounded, BytesIO(body), check_document, is_wanted=is_wanted
    )
    return checked


def preload_check() -> None:
    """Preload the modules that check a model, so that child processes share them."""
    set_preloaded(check_document.__module__)


def check_document(file: IO[bytes]) -> CheckedModel:
    """Read and check a document; the text may differ from the file in its layout."""
    model = read_model(parse_json(file.read(), "body"))
    check_bounds(model)
    check_playable(model.ensemble)
    text = model_text(model)
    if not is_storable(text):
        raise RefusedError([Refusal("model", STORABLE_RULE)])
    return CheckedModel(model.name, text)


def check_playable(ensemble: Ensemble) -> None:
    """Raise RefusedError for a model with which a case can't be played."""
    try:
        play_case(ensemble)
    except BROKEN as error:
        raise RefusedError([Refusal("model", PLAYABLE, type(error).__name__)]) from None


def play_case(ensemble: Ensemble) -> None:
    """Play the first questions of a case that has middle values."""
    values = middle_values(ensemble)
    state = machine.start(ensemble, None, stop=StopRule(certain=False))
    for _ in range(MOST_PLAYED):
        question = machine.next_question(ensemble, state)
        if question is None:
            break
        answers = [Answer(idx, "value", values[idx]) for idx in question.feature_idxs]
        state = machine.observe(ensemble, state, answers)
    machine.forecast(ensemble, state)


def import_model(
    db: Transaction, model: CheckedModel, now: datetime, *, as_version: bool
) -> ModelHead:
    """Store a model, `as_version` of a taken name; else raise ConflictError."""
    models.lock_name(db, model.name)
    if not as_version and is_name_taken(db, model.name):
        detail = "A model has this name. as_version=true adds the next version of it."
        raise ConflictError("name-taken", detail)
    return models.insert(db, model.name, model.text, now)


def is_name_taken(db: Transaction, name: str) -> bool:
    return models.find_by_name(db, name) is not None


def crown(db: Transaction, model_id: str, now: datetime) -> ModelHead:
    """Make a model the champion, which its name means without a version.

    An open challenge of its name ends: it is promoted, or has overtaken both.
    """
    head = lock_champion_name(db, model_id)
    models.crown(db, head.name, head.id)
    challenge = challenges.lock_open(db, head.name)
    if challenge is not None and challenge.champion_id != head.id:
        is_challenger = challenges.challenger_of(db, challenge) == head.id
        decision: Decision = "promoted" if is_challenger else "overtaken"
        challenges.end_challenge(db, challenge, decision, now)
    return models.get_head(db, head.id)


def dethrone(db: Transaction, model_id: str) -> None:
    """Remove the champion; the name then means its newest version.

    Raises ConflictError while that may be a challenger that nobody has promoted.
    """
    head = lock_champion_name(db, model_id)
    if head.is_champion:
        refuse_challenged(db, head)
        models.crown(db, head.name, None)


def refuse_challenged(db: Transaction, champion: ModelHead) -> None:
    """Refuse what would let a challenger take a locked name that nobody promoted."""
    challenge = challenges.lock_open(db, champion.name)
    if challenge is not None and challenge.champion_id == champion.id:
        detail = (
            "A challenger plays against it: promote the challenger, or end the "
            "challenge, first."
        )
        raise ConflictError("conflict", detail)


def lock_champion_name(db: Transaction, model_id: str) -> ModelHead:
    """Lock the name of a model that may be a champion, and return its head."""
    head = models.get_head(db, model_id)
    models.lock_name(db, head.name)
    # Read again: the model may have changed while this waited for the lock.
    return models.get_head(db, head.id)


def delete(db: Transaction, model_id: str, at: Moment) -> None:
    """Delete a model, unless a session may still use it.

    Raises NotFoundError, or ConflictError if a session may still use it or a challenger
    plays against it.
    """
    head = models.get_head(db, model_id)
    models.lock_name(db, head.name)
    if not models.lock(db, head.id):
        raise NotFoundError("model", model_id)
    head = models.get_head(db, head.id)
    refuse_challenged(db, head)
    idle_since = at.now - at.ttl, at.now - at.waiting_ttl
    if sessions.is_model_in_use(db, head.id, *idle_since):
        detail = "Sessions of this model are open or wait for results."
        raise ConflictError("model-in-use", detail)
    models.delete(db, head.id, at.now)
    end_challenge_of(db, head, at.now)


def end_challenge_of(db: Transaction, head: ModelHead, now: datetime) -> None:
    """End the open challenge whose challenger is deleted."""
    challenge = challenges.lock_open(db, head.name)
    if challenge is not None and challenges.challenger_of(db, challenge) == head.id:
        challenges.end_challenge(db, challenge, "overtaken", now)


def check_bounds(model: Model) -> None:
    """Refuse names and amounts that the database can't store."""
    catalogue = model.ensemble.catalogue
    refusals = [
        Refusal(f"model.{noun}[{position}].name", NAME_RULE)
        for noun in ("features", "groups")
        for position, named in enumerate(getattr(catalogue, noun))
        if not is_name(named.name)
    ]
    amounts = [feature.cost for feature in catalogue.features]
    amounts += [group.price or group.fee for group in catalogue.groups]
    if max(amounts) > MAX_MICROS or sum(amounts) > MAX_TOTAL:
        rule = f"amounts must be at most {MAX_UNITS} units each, and add up"
        refusals.append(Refusal("model.features", rule))
    if refusals:
        raise RefusedError(refusals)
