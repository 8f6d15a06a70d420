"""Report on a provider: its calls by day, what it has changed, what it is worth."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np

from askless.app.documents.buying import report_bodies as bodies
from askless.app.records import StoredCall
from askless.app.service.buying.providers import day_of
from askless.app.service.buying.watching import (
    TELLING,
    classify_call,
    learn_latency,
    list_changes,
)
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions.opened import open_stored
from askless.app.store import sessions
from askless.app.store.buying import calls, providers, runs
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.catalogue import Catalogue
from askless.core.model.shifts import MOST_CALLS
from askless.core.session import machine
from askless.core.session.state import State

DAYS = 30
# Newest ended runs that are replayed without the provider.
MOST_REPLAYED = 200
PLURALS = {"answer": "answers", "miss": "misses", "failure": "failures"}


def report(
    db: Transaction, loaded: LoadedModels, name: str, now: datetime
) -> bodies.ProviderReport:
    """Report on a provider of the tenant; raise NotFoundError.

    Days are counted whole; the other figures rest on the newest calls, and say so.
    """
    providers.get(db, name)
    newest = calls.list_newest(db, name, MOST_CALLS)
    days = sum_days(db, name, now - timedelta(days=DAYS - 1))
    totals: Counter[str] = sum(days.values(), Counter())
    return bodies.ProviderReport(
        name=name,
        days=[
            bodies.CallDay.model_validate({"day": day, **sums})
            for day, sums in days.items()
        ],
        totals=bodies.CallSums.model_validate(totals),
        unit=newest[-1].unit if newest else None,
        newest=summarise_newest(newest),
        changes=[bodies.ProviderChange(**change) for change in list_changes(newest)],
        without=replay(db, loaded, newest),
    )


def sum_days(db: Transaction, name: str, first: datetime) -> dict[str, Counter[str]]:
    """Count the calls of each day that had some, by how they have ended."""
    days: dict[str, Counter[str]] = {}
    for row in calls.count_days(db, name, day_of(first), TELLING):
        end = classify_call(row.state, row.reason, row.attempts)
        if end is None:
            continue
        sums = days.setdefault(row.day, Counter())
        sums[PLURALS.get(end, end)] += row.number
        sums["calls"] += 0 if end == "cached" else row.number
        sums["spent"] += row.charged
    return days


def summarise_newest(newest: Sequence[StoredCall]) -> bodies.NewestCalls:
    """Return the latencies of the newest calls, and how often they moved a label."""
    latency = learn_latency(newest)
    moves = [
        int(np.argmax(call.before)) != int(np.argmax(call.after))
        for call in newest
        if call.before is not None and call.after is not None
    ]
    return bodies.NewestCalls(
        calls=len(newest),
        since=newest[0].created_at if newest else None,
        timed=0 if latency is None else latency.n_answers,
        p50_ms=latency and latency.p50_ms,
        p95_ms=latency and latency.p95_ms,
        cases=len(moves),
        labels_changed=sum(moves),
        share_changed=sum(moves) / len(moves) if moves else None,
    )


def replay(
    db: Transaction, loaded: LoadedModels, newest: Sequence[StoredCall]
) -> bodies.ReplayWithout:
    """Predict ended runs again with the provider silent.

    What another provider of the same offer answered stays; nobody is asked instead, and
    what was bought afterwards is not planned anew. Erased cases are left out.
    """
    bought = {
        call.session_id: call
        for call in newest
        if call.session_id is not None and call.state in ("settled", "missed")
    }
    n_cases = n_changed = saved = 0
    for session_id, call in reversed(bought.items()):
        session, run = sessions.get(db, session_id), runs.find(db, session_id)
        if session.document is None or run is None or run.state != "ended":
            continue
        model = loaded.get(db, session.model_id, session.price_list_id)
        ensemble = model.ensemble
        state = open_stored(session, model)
        made = calls.list_of_session(db, session_id)
        silent = silence(state, list_own_features(call, made, ensemble.catalogue))
        labels = (machine.forecast(ensemble, s).label for s in (state, silent))
        n_cases += 1
        n_changed += len({*labels}) > 1
        saved += call.charged
        if n_cases == MOST_REPLAYED:
            break
    return bodies.ReplayWithout(cases=n_cases, labels_changed=n_changed, saved=saved)


def list_own_features(
    call: StoredCall, made: Sequence[StoredCall], catalogue: Catalogue
) -> list[int]:
    """Return the features whose answer would be missing without a call."""
    others = {
        name
        for other in made
        if other.id != call.id and other.state == "settled"
        for name in other.features
    }
    return [
        catalogue.feature_idxs[name] for name in call.features if name not in others
    ]


def silence(state: State, feature_idxs: Sequence[int]) -> State:
    """Return a state in which nobody has said anything of some features."""
    values, outcomes = [*state.values], [*state.outcomes]
    for idx in feature_idxs:
        values[idx], outcomes[idx] = np.nan, None
    history = [
        answer for answer in state.history if answer.feature_idx not in feature_idxs
    ]
    return replace(
        state,
        values=tuple(values),
        outcomes=tuple(outcomes),
        history=tuple(history),
        coverage=None,
        is_led=False,
        step_chances=(),
    )
