"""Decide whether a model is due for retraining."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np

from askless.app.documents.http import outcomes as bodies
from askless.app.records import ModelHead, Moment, PredictSession
from askless.app.service.loop.cases import MOST_CASES, CaseQuery, CaseSpan, find_rows
from askless.app.service.loop.origins import find_trained_on
from askless.app.store import challenges
from askless.app.store.database.transactions import Transaction
from askless.app.store.outcomes import StoredOutcome
from askless.app.words.challenges import say_due, say_reason
from askless.core.model.alarms import (
    Alarm,
    Evidence,
    FeatureEvidence,
    OutcomeEvidence,
    count_trained,
    find_alarms,
    gather_feature,
)
from askless.core.model.model import Model


class SeenSession(NamedTuple):
    """A session, expired where due, with what its stored document says, read once."""

    session: PredictSession
    outcome: StoredOutcome | None
    #: outcome and value by feature; None: it was erased
    answers: Mapping[str, tuple[str, float | None]] | None


def see(session: PredictSession, outcome: StoredOutcome | None) -> SeenSession:
    if session.document is None:
        return SeenSession(session, outcome, None)
    stored = json.loads(session.document)["features"]
    answers = {
        name: (answer["outcome"], answer["value"]) for name, answer in stored.items()
    }
    return SeenSession(session, outcome, answers)


def judge(
    db: Transaction,
    head: ModelHead,
    model: Model,
    seen: Sequence[SeenSession],
    at: Moment,
) -> bodies.RefreshDue:
    """Return whether sessions of a model speak for a refresh."""
    kept = [
        seen_session.answers
        for seen_session in seen
        if seen_session.answers is not None
    ]
    with_outcome = [
        (seen_session.session, seen_session.outcome)
        for seen_session in seen
        if seen_session.outcome is not None
    ]
    evidence = Evidence(
        n_trained=count_rows(model, "rows"),
        n_cases=len(kept),
        features=list(gather_features(model, kept)),
        outcomes=gather_outcomes(model, with_outcome),
        n_new=count_new(db, head, at),
    )
    reasons = [reason_of(model, alarm) for alarm in find_alarms(evidence)]
    sentence = say_due(
        [reason.told for reason in reasons], len(kept), len(with_outcome)
    )
    return bodies.RefreshDue(is_due=bool(reasons), reasons=reasons, sentence=sentence)


def count_rows(model: Model, name: str) -> int:
    """Return a number of the model's card; 0 if it has none."""
    count = model.card.get(name)
    return count if isinstance(count, int) else 0


def gather_features(
    model: Model, kept: Sequence[Mapping[str, tuple[str, float | None]]]
) -> Iterator[FeatureEvidence]:
    """Yield what each feature's values say; features without a value are left out."""
    values: dict[str, list[float]] = defaultdict(list)
    for answers in kept:
        for name, (_, value) in answers.items():
            if value is not None:
                values[name].append(value)
    ensemble = model.ensemble
    n_rows, n_missing = (count_rows(model, name) for name in ("rows", "missing_cells"))
    trained = count_trained(ensemble, n_rows, n_missing)
    for idx, feature in enumerate(ensemble.catalogue.features):
        if values[feature.name]:
            known = np.array(values[feature.name])
            yield gather_feature(ensemble, idx, known, trained[idx])


def gather_outcomes(
    model: Model, with_outcome: Sequence[tuple[PredictSession, StoredOutcome]]
) -> OutcomeEvidence:
    """Return what outcomes say beside the curve, at what each case has spent.

    The curve is for sessions that buy all of their knowledge at the model's prices: of
    others, and of those that spent less than its first budget, it says nothing.
    """
    labels = [label.label for label in model.ensemble.classes]
    judged = [
        (outcome, place)
        for session, outcome in with_outcome
        if session.price_list_id is None
        and (place := find_place(model, session.spent)) is not None
    ]
    if model.curve is None:
        judged = [(outcome, -1) for _, outcome in with_outcome]
    chances = np.array(
        [outcome.chances[labels.index(outcome.predicted)] for outcome, _ in judged],
        np.float64,
    )
    places = [place for _, place in judged]
    return OutcomeEvidence(
        n_cases=len(judged),
        n_wrong=sum(outcome.label != outcome.predicted for outcome, _ in judged),
        most_error=mean_most_error(model, places),
        sum_chances=float(chances.sum()),
        sum_variances=float((chances * (1.0 - chances)).sum()),
        most_gap=mean_most_gap(model, places),
    )


def find_place(model: Model, spent: int) -> int | None:
    """Return the place of a spend in the model's curve; None where it has none."""
    if model.curve is None:
        return None
    try:
        return model.curve.place_at(spent)
    except ValueError:
        return None


def mean_most_error(model: Model, places: Sequence[int]) -> float | None:
    """Return the mean upper end of the curve's errors at some places."""
    if model.curve is None or not places:
        return None
    ends = model.curve.intervals
    return float(np.mean([ends[place][1] for place in places]))


def mean_most_gap(model: Model, places: Sequence[int]) -> float | None:
    """Return the mean upper end of the curve's calibration errors at some places."""
    if model.curve is None or model.curve.predictive is None or not places:
        return None
    gaps = [model.curve.predictive[place].calibration_error for place in places]
    ends = [gap.value if gap.interval is None else gap.interval[1] for gap in gaps]
    return float(np.mean(ends))


def count_new(db: Transaction, head: ModelHead, at: Moment) -> int:
    """Count the cases of a model's name that no training has used."""
    span = CaseSpan(find_cut(db, head))
    query = CaseQuery(head, is_by_name=True, span=span, newest=MOST_CASES)
    return len(find_rows(db, query, at))


def find_cut(db: Transaction, head: ModelHead) -> datetime:
    """Return the time up to which trainings have used the cases that were known.

    The cases of the last challenger count as used even if it was not promoted: they
    are no reason to train again. If its training failed, they do not count.
    """
    cut = find_trained_on(db, head).until
    assert cut is not None, "a model has an age"
    newest = challenges.find_newest(db, head.name)
    if newest is None or newest.decision == "failed":
        return cut
    return max(cut, newest.cut_at)


def reason_of(model: Model, alarm: Alarm) -> bodies.RefreshReason:
    name = title = None
    if alarm.feature_idx is not None:
        feature = model.ensemble.catalogue.features[alarm.feature_idx]
        name, title = feature.name, feature.title
    sentence = say_reason(alarm, title)
    return bodies.RefreshReason.of(alarm, feature=name, told=sentence)
