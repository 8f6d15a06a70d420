"""Set rows aside before training, and certify the model by its sessions on them."""

import itertools
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from askless.core.arrays import IntArray, evenly_spaced
from askless.core.errors import Refusal, RefusedError
from askless.core.model.certificates import (
    CHANCES,
    EARLY_RULES,
    N_STRATA,
    Certification,
    Level,
)
from askless.core.model.ensemble import Ensemble
from askless.core.pipeline.budgets import list_purchase_budgets
from askless.core.session import machine
from askless.core.session.policies import POLICIES
from askless.core.session.position import UNLIMITED, Position
from askless.core.session.rows.traces import Traces, locate_stops
from askless.core.session.rows.walks import SimulatedRows
from askless.core.session.state import StopRule
from askless.core.table.dataset import Dataset, LabelledRows

# Most rows set aside that are played, and most rows of the folds that order the tests.
MAX_ASIDE_ROWS = 4000
MAX_GUIDE_ROWS = 1000

# Most sessions on rows set aside; the fewer rows, the more budgets.
MAX_SESSIONS = 24_000
LEAST_LEVELS, MOST_LEVELS = 8, 24

# A random stream of its own, so that rows aside are drawn apart from the folds.
ASIDE_STREAM = 1


@dataclass(frozen=True)
class UnseenRows:
    """An ensemble, and rows that it was not trained on."""

    ensemble: Ensemble
    rows: Dataset


def set_aside(rows: LabelledRows, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Split rows into those to train on and those for certificates, by position.

    Rows are drawn regardless of class. Row groups stay together, and of each group set
    aside one random row is used, since the rows of a group are no independent cases.
    Raises `RefusedError` where one class is left, or no row set aside.
    """
    random = np.random.default_rng((seed, ASIDE_STREAM))
    row_groups = rows.row_group_idxs
    order = random.permutation(int(row_groups.max()) + 1)
    is_aside = np.isin(row_groups, order[: int(share * order.size)])
    trained_idxs = np.flatnonzero(~is_aside)
    aside = random.permutation(np.flatnonzero(is_aside))
    # In random order the first row of each group is a random one; so are the groups
    # that come first.
    _, firsts = np.unique(row_groups[aside], return_index=True)
    aside = np.sort(aside[np.sort(firsts)[:MAX_ASIDE_ROWS]])
    if np.unique(rows.targets[trained_idxs]).size < 2 or not aside.size:
        rule = "must set a row aside and leave two classes to train on"
        raise RefusedError([Refusal("certificate.share", rule, f"{share:g}")])
    return trained_idxs, aside


def certify_early_stops(
    whole: UnseenRows, folds: Sequence[UnseenRows], budgets: Sequence[int], seed: int
) -> Generator[float, None, Certification]:
    """Simulate the model's sessions on rows set aside; count errors of early stops.

    Yields the share of the work done, 0 to 1. The ensemble of each fold was trained on
    some of the model's rows, and its `rows` are the others. `budgets` are in
    micro-units; if empty, those at which the model's sessions differ.
    """
    n_rows, ensemble = whole.rows.n_samples, whole.ensemble
    most = min(max(MAX_SESSIONS // n_rows, LEAST_LEVELS), MOST_LEVELS)
    limits = (
        [*sorted(set(budgets)), None] if budgets else list_level_budgets(ensemble, most)
    )
    guides = [
        UnseenRows(
            # Calibrated as the whole is.
            replace(fold.ensemble, calibrations=ensemble.calibrations),
            thin_guide(fold.rows, len(folds)),
        )
        for fold in folds
    ]
    policies = [ensemble.policy_at(limit) for limit in limits]
    played = [list_traces(guide, limits, policies, seed) for guide in (whole, *guides)]
    # The last budget is unlimited; the one before pays everything.
    dearest = list_purchase_budgets(ensemble, most)[-2] or 0
    levels = []
    for policy, limit in zip(policies, limits, strict=True):
        traces, *others = [next(guide_traces) for guide_traces in played]
        total = dearest if limit is None else min(limit, dearest)
        # Strata of equal width in spend; -(-a // b) rounds up.
        bounds = tuple(-(-part * total // N_STRATA) for part in range(1, N_STRATA))
        level = count_level_stops(limit, policy, bounds, traces, whole.rows)
        levels.append(add_guide_counts(level, others))
        yield len(levels) / len(limits)
    n_guide = sum(guide.rows.n_samples for guide in guides)
    return Certification(n_rows, n_guide, EARLY_RULES, CHANCES, tuple(levels))


def add_guide_counts(level: Level, guides: Sequence[Traces]) -> Level:
    """Return a level with counts of the same rules on the guide, rows of the folds."""
    counts = np.zeros((len(EARLY_RULES), 2 * N_STRATA), np.int64)
    spends = np.zeros(len(EARLY_RULES), np.int64)
    for traces in guides:
        stops = locate_stops(traces, EARLY_RULES, level.bounds)
        counts += stops.count()
        spends += stops.spends.sum(axis=1)
    # Without folds there are no sessions, and all counts stay 0.
    n_rows = max(1, sum(len(traces.labels) for traces in guides))
    return replace(
        level,
        guide=tuple(map(tuple, counts.tolist())),
        guide_spends=tuple((spends // n_rows).tolist()),
    )


def thin_guide(rows: Dataset, n_folds: int) -> Dataset:
    """Return some rows of a fold, evenly spaced."""
    most = max(1, MAX_GUIDE_ROWS // n_folds)
    return rows.take(evenly_spaced(rows.n_samples, most))


def list_level_budgets(ensemble: Ensemble, most: int) -> list[int | None]:
    """Return budgets above 0 under which sessions begin differently, thinned to `most`.

    Each is the least budget of those with the same beginning.
    """
    last, budgets = None, []
    for budget in list_purchase_budgets(ensemble, 1 << 20):
        state = machine.start(ensemble, budget, stop=StopRule(certain=False))
        policy, position = POLICIES[state.policy], Position.of(ensemble, state)
        plan = policy.plan_length(position), policy.list_askable(position)
        if budget is None or (budget > 0 and (state.policy, plan) != last):
            budgets.append(budget)
        last = state.policy, plan
    return [budgets[pick] for pick in evenly_spaced(len(budgets), most)]


def list_traces(
    unseen: UnseenRows, limits: Sequence[int | None], policies: Sequence[str], seed: int
) -> Iterator[Traces]:
    """Yield the traces of unseen rows budget by budget; `limits` ascend."""
    values = np.ascontiguousarray(unseen.rows.values)
    for policy, places in itertools.groupby(range(len(limits)), policies.__getitem__):
        policy_limits = [limits[place] for place in places]
        budgets = [UNLIMITED if limit is None else limit for limit in policy_limits]
        streams = range(unseen.rows.n_samples)
        simulated = SimulatedRows(values, np.array(budgets, np.int64), seed, streams)
        yield from POLICIES[policy].trace(unseen.ensemble, simulated)


def count_level_stops(
    budget: int | None,
    policy: str,
    bounds: tuple[int, ...],
    traces: Traces,
    rows: Dataset,
) -> Level:
    """Count early stops on rows set aside under one budget; without a guide yet."""
    stops = locate_stops(traces, EARLY_RULES, bounds)
    true = traces.chances[np.arange(rows.n_samples), rows.targets]
    n_covered = (true[:, None] >= np.array(CHANCES)).sum(axis=0)
    return Level(
        budget=budget,
        policy=policy,
        bounds=bounds,
        guide=(),
        guide_spends=(),
        counts=tuple(map(tuple, stops.count().tolist())),
        mean_spends=tuple((stops.spends.sum(axis=1) // rows.n_samples).tolist()),
        mean_spend=int(traces.spends[:, -1].sum()) // rows.n_samples,
        n_covered=tuple(n_covered.tolist()),
    )
