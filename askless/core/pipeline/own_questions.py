"""Decide on held-out rows under which budgets each case is asked its own questions."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray, evenly_spaced
from askless.core.catalogue.prices import total_cost
from askless.core.model.ensemble import BudgetRange, Ensemble
from askless.core.model.ladder.asking import Worth
from askless.core.pipeline.comparison import (
    Comparison,
    OwnQuestions,
    PlayedRows,
    average_differences,
    join_weights,
    merge_ranges,
    number_groups,
    simulate_policy,
)
from askless.core.table.dataset import Dataset

# The policy that asks each case its own questions, and the one that it must beat.
OWN, LISTED = "worth", "panels"

# Its gain in log-loss is so many standard errors at each budget of a run, and somewhere
# in the run so many: several budgets of the same rows are many looks.
LEAST_LEAD, BEST_LEAD = 2.0, 4.0

# A lead that ends at so many standard errors on a third of the rows has little hope.
HOPEFUL_LEAD = 1.0

# It may err more by this share of rows, less than one of those that are played.
ERROR_SLACK = 5e-4

# Least standard error, against division by 0.
LEAST_ERROR = 1e-12

# Held-out rows that are played at most, of all folds together.
MOST_JUDGED = 1000


def evaluate_own_questions(
    pairs: Sequence[tuple[Ensemble, Dataset]],
    budgets: Sequence[int | None],
    seed: int,
    listed: Sequence[PlayedRows],
) -> OwnQuestions | None:
    """Compare own questions with lists on unseen rows; None without tables.

    `listed` is the policy `LISTED`, played on each pair. At most `MOST_JUDGED` rows are
    compared, evenly spaced in each pair. Those of the first third of the pairs are
    played first; where own questions lead nowhere there, the others are not played.
    """
    if any(pair.panels is None or pair.panels.worth is None for pair, _ in pairs):
        return None
    n_rows = sum(rows.n_samples for _, rows in pairs)
    few = [
        evenly_spaced(rows.n_samples, max(1, MOST_JUDGED * rows.n_samples // n_rows))
        for _, rows in pairs
    ]
    pairs = [
        (pair, rows.take(some)) for (pair, rows), some in zip(pairs, few, strict=True)
    ]
    listed = [
        PlayedRows(*(array[some] for array in part))
        for part, some in zip(listed, few, strict=True)
    ]
    owned: list[PlayedRows] = []
    # Rounded up.
    for n_played in (-(-len(pairs) // 3), len(pairs)):
        owned += [
            simulate_policy(pair, rows, budgets, OWN, seed)
            for pair, rows in pairs[len(owned) : n_played]
        ]
        own = judge_own_questions(pairs[:n_played], budgets, listed[:n_played], owned)
        if max(own.leads) < HOPEFUL_LEAD:
            break
    return own


def judge_own_questions(
    pairs: Sequence[tuple[Ensemble, Dataset]],
    budgets: Sequence[int | None],
    listed: Sequence[PlayedRows],
    owned: Sequence[PlayedRows],
) -> OwnQuestions:
    """Return what own questions gain over lists, both played on the same rows."""
    losses, costs = (
        [
            np.concatenate([getattr(part, name) for part in parts])
            for parts in (listed, owned)
        ]
        for name in ("log_losses", "costs")
    )
    weights, groups = (join_weights(pairs), number_groups([rows for _, rows in pairs]))
    saved: FloatArray = losses[0] - losses[1]
    spared: FloatArray = costs[0] - costs[1]
    leads = np.array([standardised_gain(column, weights, groups) for column in saved.T])
    gains = weights @ spared
    in_force = choose_budgets_in_force(leads, gains)
    some = in_force if in_force.any() else np.array([budget != 0 for budget in budgets])
    chosen = spared[:, some].mean(axis=1) if some.any() else np.zeros(len(spared))
    mean, error = average_differences(chosen, weights, groups)
    return OwnQuestions(
        tuple(budgets),
        tuple(leads.tolist()),
        tuple(gains.tolist()),
        tuple(in_force.tolist()),
        mean,
        error,
        total_cost(pairs[0][0].catalogue),
    )


def standardised_gain(
    gains: FloatArray, weights: FloatArray, groups: IntArray
) -> float:
    """Return the mean gain of rows in units of its standard error."""
    mean, error = average_differences(gains, weights, groups)
    return mean / max(error, LEAST_ERROR)


def choose_budgets_in_force(leads: FloatArray, gains: FloatArray) -> BoolArray:
    """Return under which budgets own questions are in force; (n_budgets,).

    They are runs of neighbouring budgets, each with a lead above `LEAST_LEAD` and no
    more errors, somewhere above `BEST_LEAD`.
    """
    is_run = (leads > LEAST_LEAD) & (gains > -ERROR_SLACK)
    chosen = np.zeros(leads.size, np.bool_)
    # Padded on both sides, so that every run has a begin and an end.
    padded = np.concatenate(([False], is_run, [False]))
    begins = np.flatnonzero(~padded[:-1] & padded[1:]).tolist()
    ends = np.flatnonzero(padded[:-1] & ~padded[1:]).tolist()
    for begin, end in zip(begins, ends, strict=True):
        chosen[begin:end] = leads[begin:end].max() > BEST_LEAD
    return chosen


def add_own_questions(comparison: Comparison, own: OwnQuestions) -> Comparison:
    """Return the comparison with own questions in the ranges where they pay.

    A run begins at its least budget and ends before the next one of the curve. No limit
    begins at the price of everything.
    """
    runs = list_runs_in_force(own)
    ends = {policy_range.up_to for policy_range in comparison.ranges}
    for least, up_to in runs:
        ends |= {least - 1, up_to}
    ends.discard(-1)
    finite = sorted(end for end in ends if end is not None)
    ranges = merge_ranges(
        BudgetRange(
            end,
            OWN
            if any(is_budget_within(end, run) for run in runs)
            else policy_under_budget(comparison.ranges, end),
        )
        for end in (*finite, None)
    )
    return replace(comparison, ranges=ranges, own_questions=own)


def list_runs_in_force(own: OwnQuestions) -> list[tuple[int, int | None]]:
    """Return the least and the greatest budget of each run; None: no upper end."""
    finite = [budget for budget in own.budgets if budget is not None]
    unlimited = max([own.whole_price, *(budget + 1 for budget in finite)])
    begins = [unlimited if budget is None else budget for budget in own.budgets]
    runs: list[tuple[int, int | None]] = []
    for place, is_on in enumerate(own.in_force):
        if not is_on:
            continue
        is_last = place + 1 == len(begins)
        up_to = None if is_last else begins[place + 1] - 1
        goes_on = place > 0 and own.in_force[place - 1]
        runs.append((runs.pop()[0] if goes_on else begins[place], up_to))
    return runs


def is_budget_within(budget: int | None, run: tuple[int, int | None]) -> bool:
    """Return whether a budget lies in a run; None: unlimited."""
    least, up_to = run
    if budget is None:
        return up_to is None
    return least <= budget and (up_to is None or budget <= up_to)


def policy_under_budget(ranges: Sequence[BudgetRange], budget: int | None) -> str:
    """Return the policy of a budget by ranges, the last of which has no end."""
    for span in ranges:
        if span.up_to is None or (budget is not None and budget <= span.up_to):
            return span.policy
    return LISTED


def limit_asking(ensemble: Ensemble) -> Ensemble:
    """Return the ensemble; out of force own questions read what panels read alone.

    A model then needs no feature that no session asks by default.
    """
    ladder = ensemble.panels
    is_on = any(policy_range.policy == OWN for policy_range in ensemble.ranges)
    if ladder is None or ladder.worth is None or is_on:
        return ensemble
    read = set(np.flatnonzero(ladder.is_read).tolist())
    few = tuple(idx for idx in ladder.worth.feature_idxs if idx in read)
    limited: Worth = replace(ladder.worth, feature_idxs=few)
    return replace(ensemble, panels=replace(ladder, worth=limited))
