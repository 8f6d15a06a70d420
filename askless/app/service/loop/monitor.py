"""Monitor a model, and decide whether it is due for retraining.

Errors, spend, refusals and drift of its sessions are measured over time."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np

from askless.app.documents.http import outcomes as bodies
from askless.app.documents.http.models import Estimate, Figures
from askless.app.records import ModelHead, Moment, PredictSession
from askless.app.service.loaded import LoadedModels
from askless.app.service.loop.cases import MOST_CASES, CaseQuery, CaseSpan, find_rows
from askless.app.service.loop.origins import get_trained_until
from askless.app.service.sessions.expiry import apply_expiry
from askless.app.store import challenges, models, outcomes
from askless.app.store.database.transactions import Transaction
from askless.app.store.outcomes import StoredOutcome
from askless.app.words.challenges import describe_alarm, describe_due
from askless.core.errors import Refusal, RefusedError
from askless.core.model.alarms import (
    Alarm,
    Evidence,
    FeatureEvidence,
    OutcomeEvidence,
    count_trained,
    list_alarms,
    make_feature_evidence,
)
from askless.core.model.drift import measure_drift
from askless.core.model.ensemble import Ensemble
from askless.core.model.figures import wilson_interval
from askless.core.model.model import Model
from askless.core.simulation.figures import (
    ScoredRows,
    compute_figures_at,
    estimate_mean,
)


class SeenSession(NamedTuple):
    """A session, expired where due, with what its stored document says, read once."""

    session: PredictSession
    outcome: StoredOutcome | None
    #: outcome and value by feature; None: it was erased
    answers: Mapping[str, tuple[str, float | None]] | None


MOST_SESSIONS = 50_000

IN_VAIN = ("refused", "unavailable", "unknown")


class Span(NamedTuple):
    """A period, its end excluded, and the size of its buckets."""

    since: datetime
    until: datetime
    bucket: bodies.BucketSize

    def bucket_start(self, at: datetime) -> date:
        """Return the first day of the bucket that a time is in."""
        day = at.date()
        if self.bucket == "week":
            return day - timedelta(days=day.weekday())
        return day.replace(day=1) if self.bucket == "month" else day


def compute_monitor(
    db: Transaction, loaded: LoadedModels, model_id: str, span: Span, at: Moment
) -> bodies.Monitor:
    """Return figures of all sessions that began within a span, and of each bucket.

    Raises RefusedError if these are more than `MOST_SESSIONS`.
    """
    head = models.get_head(db, model_id)
    model = loaded.get(db, head.id)
    ensemble = model.ensemble
    pairs = outcomes.list_sessions(
        db, head.id, span.since, span.until, MOST_SESSIONS + 1
    )
    if len(pairs) > MOST_SESSIONS:
        rule = f"must leave at most {MOST_SESSIONS} sessions: ask for fewer days"
        raise RefusedError([Refusal("from", rule)])
    seen = parse_sessions(pairs, at)
    parts: dict[date, list[SeenSession]] = defaultdict(list)
    for seen_session in seen:
        parts[span.bucket_start(seen_session.session.created_at)].append(seen_session)
    return bodies.Monitor(
        model=head.id,
        unit=ensemble.catalogue.cost_unit,
        bucket=span.bucket,
        refresh=judge_seen(db, head, model, seen, at),
        whole=summarise_bucket(ensemble, span.since.date(), seen),
        buckets=[
            summarise_bucket(ensemble, start, part) for start, part in parts.items()
        ],
    )


def judge_refresh(
    db: Transaction, loaded: LoadedModels, head: ModelHead, since: datetime, at: Moment
) -> bodies.RefreshDue:
    """Return whether the newest sessions speak for training a model anew."""
    pairs = outcomes.list_sessions(db, head.id, since, at.now, MOST_SESSIONS)
    return judge_seen(db, head, loaded.get(db, head.id), parse_sessions(pairs, at), at)


def parse_sessions(
    rows: Sequence[tuple[PredictSession, StoredOutcome | None]], at: Moment
) -> list[SeenSession]:
    return [
        parse_session(apply_expiry(session, at), outcome) for session, outcome in rows
    ]


def summarise_bucket(
    ensemble: Ensemble, start: date, seen: Sequence[SeenSession]
) -> bodies.MonitorBucket:
    """Return counts, mean spend, error and figures of the sessions of a bucket."""
    closed = [
        seen_session.session
        for seen_session in seen
        if seen_session.session.state == "closed"
    ]
    recorded = [
        seen_session.outcome
        for seen_session in seen
        if seen_session.outcome is not None
    ]
    spend = None
    if closed:
        amounts = np.array([float(session.spent) for session in closed])
        spend = estimate_mean(
            amounts, equal_weight_rows(np.zeros(len(closed), np.int64))
        )
    interval = None
    if spend is not None and spend.interval is not None:
        interval = round(spend.interval[0]), round(spend.interval[1])
    wrong = sum(outcome.label != outcome.predicted for outcome in recorded)
    return bodies.MonitorBucket(
        start=start,
        sessions=len(seen),
        closed=len(closed),
        mean_spend=None if spend is None else round(spend.value),
        mean_spend_interval=interval,
        outcomes=len(recorded),
        error=estimate_share(wrong, len(recorded)) if recorded else None,
        figures=compute_outcome_figures(ensemble, recorded) if recorded else None,
        features=compute_feature_drift(ensemble, seen),
    )


def equal_weight_rows(targets: Any) -> ScoredRows:
    """Return rows to score, with equal weights and each in its own group."""
    n_rows = targets.size
    weights = np.full(n_rows, 1.0 / n_rows)
    return ScoredRows(targets, weights, np.arange(n_rows), np.empty((n_rows, 0, 0)))


def estimate_share(count: int, n_rows: int) -> Estimate:
    value = count / n_rows
    return Estimate(value=value, interval=wilson_interval(value, n_rows))


def compute_outcome_figures(
    ensemble: Ensemble, recorded: Sequence[StoredOutcome]
) -> Figures:
    """Return the figures of recorded outcomes, as a curve has them of held-out rows."""
    idxs = {label.label: idx for idx, label in enumerate(ensemble.classes)}
    targets = np.array([idxs[outcome.label] for outcome in recorded], np.int64)
    labels = np.array([idxs[outcome.predicted] for outcome in recorded], np.int64)
    chances = np.array([outcome.chances for outcome in recorded], np.float64)
    return Figures.of(
        compute_figures_at(ensemble, equal_weight_rows(targets), chances, labels)
    )


def compute_feature_drift(
    ensemble: Ensemble, seen: Sequence[SeenSession]
) -> list[bodies.MonitoredFeature]:
    """Return shares of unanswered questions, and drift of values, for each feature."""
    outcomes_by_feature: dict[str, list[str]] = defaultdict(list)
    values: dict[str, list[float]] = defaultdict(list)
    for session in seen:
        for name, (outcome, value) in (session.answers or {}).items():
            if outcome not in ("known", "ordered"):
                outcomes_by_feature[name].append(outcome)
            if value is not None:
                values[name].append(value)
    features = []
    for idx, feature in enumerate(ensemble.catalogue.features):
        known, answers = values[feature.name], outcomes_by_feature[feature.name]
        if known or answers:
            n_answers = max(len(answers), 1)
            shares = {
                answer: estimate_share(answers.count(answer), n_answers)
                for answer in IN_VAIN
            }
            drift = measure_drift(ensemble, idx, np.array(known)) if known else None
            features.append(
                bodies.MonitoredFeature.of(
                    feature=feature.name, answers=len(answers), drift=drift, **shares
                )
            )
    return features


def parse_session(
    session: PredictSession, outcome: StoredOutcome | None
) -> SeenSession:
    if session.document is None:
        return SeenSession(session, outcome, None)
    stored = json.loads(session.document)["features"]
    answers = {
        name: (answer["outcome"], answer["value"]) for name, answer in stored.items()
    }
    return SeenSession(session, outcome, answers)


def judge_seen(
    db: Transaction,
    head: ModelHead,
    model: Model,
    seen: Sequence[SeenSession],
    at: Moment,
) -> bodies.RefreshDue:
    """Return whether sessions of a model speak for a refresh."""
    answers = [
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
        n_trained=read_count(model, "rows"),
        n_cases=len(answers),
        features=list(gather_features(model, answers)),
        outcomes=gather_outcomes(model, with_outcome),
        n_new=count_new(db, head, at),
    )
    reasons = [to_refresh_reason(model, alarm) for alarm in list_alarms(evidence)]
    sentence = describe_due(
        [reason.told for reason in reasons], len(answers), len(with_outcome)
    )
    return bodies.RefreshDue(is_due=bool(reasons), reasons=reasons, sentence=sentence)


def read_count(model: Model, name: str) -> int:
    """Return a number of the model's card; 0 if it has none."""
    count = model.card.get(name)
    return count if isinstance(count, int) else 0


def gather_features(
    model: Model, answers_by_case: Sequence[Mapping[str, tuple[str, float | None]]]
) -> Iterator[FeatureEvidence]:
    """Yield the evidence of the values of each feature that has any."""
    values: dict[str, list[float]] = defaultdict(list)
    for answers in answers_by_case:
        for name, (_, value) in answers.items():
            if value is not None:
                values[name].append(value)
    ensemble = model.ensemble
    n_rows, n_missing = (read_count(model, name) for name in ("rows", "missing_cells"))
    trained = count_trained(ensemble, n_rows, n_missing)
    for idx, feature in enumerate(ensemble.catalogue.features):
        if values[feature.name]:
            known = np.array(values[feature.name])
            yield make_feature_evidence(ensemble, idx, known, trained[idx])


def gather_outcomes(
    model: Model, with_outcome: Sequence[tuple[PredictSession, StoredOutcome]]
) -> OutcomeEvidence:
    """Return errors by outcome beside those of the curve at the spend of each case.

    The curve is for sessions that buy all of their knowledge at the model's prices: of
    others, and of those that spent less than its first budget, it says nothing.
    """
    labels = [label.label for label in model.ensemble.classes]
    judged = [
        (outcome, place)
        for session, outcome in with_outcome
        if session.price_list_id is None
        and (place := place_in_curve(model, session.spent)) is not None
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


def place_in_curve(model: Model, spent: int) -> int | None:
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
    span = CaseSpan(last_trained_until(db, head))
    query = CaseQuery(head, is_by_name=True, span=span, newest=MOST_CASES)
    return len(find_rows(db, query, at))


def last_trained_until(db: Transaction, head: ModelHead) -> datetime:
    """Return the time up to which trainings have used the cases that were known.

    The cases of the last challenger count as used even if it was not promoted: they
    are no reason to train again. If its training failed, they do not count.
    """
    cut = get_trained_until(db, head).until
    assert cut is not None, "a model has an age"
    newest = challenges.find_newest(db, head.name)
    if newest is None or newest.decision == "failed":
        return cut
    return max(cut, newest.cut_at)


def to_refresh_reason(model: Model, alarm: Alarm) -> bodies.RefreshReason:
    name = title = None
    if alarm.feature_idx is not None:
        feature = model.ensemble.catalogue.features[alarm.feature_idx]
        name, title = feature.name, feature.title
    sentence = describe_alarm(alarm, title)
    return bodies.RefreshReason.of(alarm, feature=name, told=sentence)
