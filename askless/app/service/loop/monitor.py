"""Monitor a model: errors, spend, refusals and drift of its sessions over time."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np

from askless.app.documents.http import outcomes as bodies
from askless.app.documents.http.models import Estimate, Figures
from askless.app.records import ModelHead, Moment, PredictSession
from askless.app.service.loaded import LoadedModels
from askless.app.service.loop.due import SeenSession, judge, see
from askless.app.service.sessions.expiry import apply_expiry
from askless.app.store import models, outcomes
from askless.app.store.database.transactions import Transaction
from askless.app.store.outcomes import StoredOutcome
from askless.core.errors import Refusal, RefusedError
from askless.core.model.drift import measure_drift
from askless.core.model.ensemble import Ensemble
from askless.core.model.figures import wilson_interval
from askless.core.simulation.figures import (
    ScoredRows,
    compute_figures_at,
    estimate_mean,
)

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


def monitor(
    db: Transaction, loaded: LoadedModels, model_id: str, span: Span, at: Moment
) -> bodies.Monitor:
    """Return figures of all sessions that began within a span, and of each bucket.

    Raises RefusedError if these are more than `MOST_SESSIONS`.
    """
    head = models.get_head(db, model_id)
    model = loaded.get(db, head.id)
    ensemble = model.ensemble
    pairs = outcomes.sessions_of(db, head.id, span.since, span.until, MOST_SESSIONS + 1)
    if len(pairs) > MOST_SESSIONS:
        rule = f"must leave at most {MOST_SESSIONS} sessions: ask for fewer days"
        raise RefusedError([Refusal("from", rule)])
    seen = see_all(pairs, at)
    parts: dict[date, list[SeenSession]] = defaultdict(list)
    for seen_session in seen:
        parts[span.bucket_start(seen_session.session.created_at)].append(seen_session)
    return bodies.Monitor(
        model=head.id,
        unit=ensemble.catalogue.cost_unit,
        bucket=span.bucket,
        refresh=judge(db, head, model, seen, at),
        whole=sum_up(ensemble, span.since.date(), seen),
        buckets=[sum_up(ensemble, start, part) for start, part in parts.items()],
    )


def find_due(
    db: Transaction, loaded: LoadedModels, head: ModelHead, since: datetime, at: Moment
) -> bodies.RefreshDue:
    """Return whether sessions that began since a time speak for training a model anew.

    Of more than `MOST_SESSIONS` the newest are judged.
    """
    pairs = outcomes.sessions_of(db, head.id, since, at.now, MOST_SESSIONS)
    return judge(db, head, loaded.get(db, head.id), see_all(pairs, at), at)


def see_all(
    rows: Sequence[tuple[PredictSession, StoredOutcome | None]], at: Moment
) -> list[SeenSession]:
    return [see(apply_expiry(session, at), outcome) for session, outcome in rows]


def sum_up(
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
        spend = estimate_mean(amounts, equal_rows(np.zeros(len(closed), np.int64)))
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
        figures=figures_of(ensemble, recorded) if recorded else None,
        features=features_of(ensemble, seen),
    )


def equal_rows(targets: Any) -> ScoredRows:
    """Return rows to score, with equal weights and each in its own group."""
    n_rows = targets.size
    weights = np.full(n_rows, 1.0 / n_rows)
    return ScoredRows(targets, weights, np.arange(n_rows), np.empty((n_rows, 0, 0)))


def estimate_share(count: int, n_rows: int) -> Estimate:
    value = count / n_rows
    return Estimate(value=value, interval=wilson_interval(value, n_rows))


def figures_of(ensemble: Ensemble, recorded: Sequence[StoredOutcome]) -> Figures:
    """Return the figures of recorded outcomes, as a curve has them of held-out rows."""
    idxs = {label.label: idx for idx, label in enumerate(ensemble.classes)}
    targets = np.array([idxs[outcome.label] for outcome in recorded], np.int64)
    labels = np.array([idxs[outcome.predicted] for outcome in recorded], np.int64)
    chances = np.array([outcome.chances for outcome in recorded], np.float64)
    return Figures.of(
        compute_figures_at(ensemble, equal_rows(targets), chances, labels)
    )


def features_of(
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
