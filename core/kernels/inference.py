"""Compiled steps of a session, and of many sessions at once.

An ensemble comes as arrays by hypothesis: `feature_idxs`, `cuts`, `is_category` and
`signed_alphas` (alpha times the vote above the cut). A feature's status is `OPEN`
(may be asked), `KNOWN`, `GONE` (asked in vain) or `PENDING` (not back yet).
"""

import numpy as np

from core.kernels.jit import kernel

OPEN = 0
KNOWN = 1
GONE = 2
PENDING = 3

NO_GROUP = -1


@kernel
def vote(value, cut, is_category, signed_alpha):
    """Weighted vote of a stump on one value; 0 for NaN and for no known category."""
    if np.isnan(value) or (is_category and value < 0.0):
        return 0.0
    is_above = value == cut if is_category else value > cut
    return signed_alpha if is_above else -signed_alpha


@kernel
def add_votes(values, feature_idxs, cuts, is_category, signed_alphas, out_votes):
    """Full vote of every row.

    values: (n_rows, n_features). out_votes: (n_rows,).
    """
    for row in range(values.shape[0]):
        total = 0.0
        for h in range(feature_idxs.shape[0]):
            total += vote(
                values[row, feature_idxs[h]], cuts[h], is_category[h], signed_alphas[h]
            )
        out_votes[row] = total


@kernel
def price_now(feature_idx, costs, group_idxs, fees, is_group_paid):
    """Price of a feature that was not charged before."""
    group = group_idxs[feature_idx]
    if group == NO_GROUP or is_group_paid[group]:
        return costs[feature_idx]
    return costs[feature_idx] + fees[group]


@kernel
def find_plan(
    feature_idxs,
    status,
    costs,
    group_idxs,
    fees,
    is_group_paid,
    remaining,
    out_is_planned,
):
    """Longest prefix of the ensemble whose features fit what remains.

    status, costs, group_idxs: (n_features,); fees, is_group_paid: (n_groups,), the
    latter overwritten. Returns the length of the prefix and the
    first open feature in it (-1: none). out_is_planned: (n_features,), False before.
    """
    first = -1
    for h in range(feature_idxs.shape[0]):
        f = feature_idxs[h]
        if status[f] == OPEN and not out_is_planned[f]:
            price = price_now(f, costs, group_idxs, fees, is_group_paid)
            if price > remaining:
                return h, first
            remaining -= price
            if group_idxs[f] != NO_GROUP:
                is_group_paid[group_idxs[f]] = True
            if first < 0:
                first = f
        out_is_planned[f] = True
    return feature_idxs.shape[0], first


@kernel
def bound_votes(
    values,
    status,
    is_affordable,
    feature_idxs,
    cuts,
    is_category,
    signed_alphas,
    segment_starts,
    segment_cuts,
    start,
    is_prefix,
    out_bounds,
):
    """Least and greatest vote that the answers still to come can lead to.

    A feature whose value is still to come contributes the least and the greatest of
    its summed votes over all segments between its cuts, and 0 for a missing value.
    For a prefix plan (`is_prefix`) every length from `start` to the first
    hypothesis that can't be afforded counts, since a missing value extends the
    prefix; else the whole ensemble without what can't be afforded.
    values, status, is_affordable: (n_features,); segment_starts: (n_features + 1,)
    into segment_cuts, which holds one value of each segment. out_bounds: (2,).
    """
    n_hypotheses = feature_idxs.shape[0]
    sums = np.zeros(segment_cuts.shape[0])
    low = np.zeros(status.shape[0])
    high = np.zeros(status.shape[0])
    known = 0.0
    low_sum = 0.0
    high_sum = 0.0
    least = np.inf
    greatest = -np.inf
    for h in range(n_hypotheses):
        if is_prefix and h >= start:
            least = min(least, known + low_sum)
            greatest = max(greatest, known + high_sum)
        f = feature_idxs[h]
        if status[f] == KNOWN:
            known += vote(values[f], cuts[h], is_category[h], signed_alphas[h])
        elif status[f] == PENDING or (status[f] == OPEN and is_affordable[f]):
            new_low = 0.0
            new_high = 0.0
            for segment in range(segment_starts[f], segment_starts[f + 1]):
                sums[segment] += vote(
                    segment_cuts[segment], cuts[h], is_category[h], signed_alphas[h]
                )
                new_low = min(new_low, sums[segment])
                new_high = max(new_high, sums[segment])
            low_sum += new_low - low[f]
            high_sum += new_high - high[f]
            low[f] = new_low
            high[f] = new_high
        elif status[f] == OPEN and is_prefix:
            break
    out_bounds[0] = min(least, known + low_sum)
    out_bounds[1] = max(greatest, known + high_sum)


@kernel
def reveal(
    values,
    feature_idx,
    group_idxs,
    is_bundle,
    is_group_paid,
    price,
    spent,
    out_status,
    out_ranks,
    n_asked,
):
    """Obtain a feature, or all open members of its bundle, for one row.

    Missing values cost nothing; the bundle is charged if any of its open members is
    there. Returns what is spent and how many features were asked so far. out_status,
    out_ranks (the order of asking, from 1): (n_features,).
    """
    group = group_idxs[feature_idx]
    is_there = False
    if group != NO_GROUP and is_bundle[group]:
        for f in range(group_idxs.shape[0]):
            if group_idxs[f] == group and out_status[f] == OPEN:
                is_there = is_there or not np.isnan(values[f])
                out_status[f] = GONE if np.isnan(values[f]) else KNOWN
                n_asked += 1
                out_ranks[f] = n_asked
    else:
        is_there = not np.isnan(values[feature_idx])
        out_status[feature_idx] = KNOWN if is_there else GONE
        n_asked += 1
        out_ranks[feature_idx] = n_asked
    if is_there:
        spent += price
        if group != NO_GROUP:
            is_group_paid[group] = True
    return spent, n_asked


@kernel
def walk_ordered(
    values,
    budgets,
    feature_idxs,
    cuts,
    is_category,
    signed_alphas,
    costs,
    group_idxs,
    fees,
    is_bundle,
    out_votes,
    out_alphas,
    out_spent,
    out_asked,
    out_ranks,
):
    """Sessions of the policy `ordered` for many rows under many budgets.

    values: (n_rows, n_features); budgets ascending: (n_budgets,). A smaller budget
    stops earlier on the same walk, so one walk serves all. Outputs (n_rows,
    n_budgets): vote, alpha known, spent, number of features asked; out_ranks
    (n_rows, n_features), 0 before: the order of asking, from 1.
    """
    n_budgets = budgets.shape[0]
    for row in range(values.shape[0]):
        row_values = values[row]
        status = np.zeros(costs.shape[0], dtype=np.int64)
        is_group_paid = np.zeros(fees.shape[0], dtype=np.bool_)
        votes = 0.0
        alpha = 0.0
        spent = np.int64(0)
        n_asked = np.int64(0)
        alive = 0
        for h in range(feature_idxs.shape[0]):
            f = feature_idxs[h]
            if status[f] == OPEN:
                price = price_now(f, costs, group_idxs, fees, is_group_paid)
                while alive < n_budgets and price > budgets[alive] - spent:
                    out_votes[row, alive] = votes
                    out_alphas[row, alive] = alpha
                    out_spent[row, alive] = spent
                    out_asked[row, alive] = n_asked
                    alive += 1
                if alive == n_budgets:
                    break
                spent, n_asked = reveal(
                    row_values,
                    f,
                    group_idxs,
                    is_bundle,
                    is_group_paid,
                    price,
                    spent,
                    status,
                    out_ranks[row],
                    n_asked,
                )
            if status[f] == KNOWN:
                votes += vote(row_values[f], cuts[h], is_category[h], signed_alphas[h])
                alpha += abs(signed_alphas[h])
        for budget in range(alive, n_budgets):
            out_votes[row, budget] = votes
            out_alphas[row, budget] = alpha
            out_spent[row, budget] = spent
            out_asked[row, budget] = n_asked


@kernel
def walk_sampled(
    values,
    budgets,
    uniforms,
    alpha_sums,
    feature_idxs,
    cuts,
    is_category,
    signed_alphas,
    costs,
    group_idxs,
    fees,
    is_bundle,
    is_used,
    status,
    is_group_paid,
    totals,
    out_votes,
    out_draws,
    out_spent,
    out_asked,
    out_ranks,
):
    """One row's session of the policy `sample`, over one block of draws.

    values: (n_features,); uniforms: (n_draws,) in [0, 1). Between blocks `status`
    (n_features,), `is_group_paid` (n_groups,) and `totals` (votes, draws counted,
    spent, asked, budgets done) carry the session on. Returns True once it has ended:
    every budget is done, or every feature used is known; out_draws is then -1 for
    the budgets left, whose forecast is the full vote.
    """
    n_budgets = budgets.shape[0]
    n_open = 0
    for f in range(status.shape[0]):
        if is_used[f] and status[f] == OPEN:
            n_open += 1
    alive = totals[4]
    block = 0
    while n_open > 0 and alive < n_budgets and block < uniforms.shape[0]:
        target = uniforms[block] * alpha_sums[-1]
        block += 1
        h = np.searchsorted(alpha_sums, target, side="right") - 1
        h = min(h, feature_idxs.shape[0] - 1)
        f = feature_idxs[h]
        if status[f] == OPEN:
            price = price_now(f, costs, group_idxs, fees, is_group_paid)
            while alive < n_budgets and price > budgets[alive] - totals[2]:
                out_votes[alive] = totals[0]
                out_draws[alive] = totals[1]
                out_spent[alive] = totals[2]
                out_asked[alive] = totals[3]
                alive += 1
            if alive == n_budgets:
                break
            totals[2], totals[3] = reveal(
                values,
                f,
                group_idxs,
                is_bundle,
                is_group_paid,
                price,
                totals[2],
                status,
                out_ranks,
                totals[3],
            )
            n_open = 0
            for other in range(status.shape[0]):
                if is_used[other] and status[other] == OPEN:
                    n_open += 1
        if status[f] == KNOWN:
            ballot = vote(values[f], cuts[h], is_category[h], signed_alphas[h])
            if ballot != 0.0:
                totals[0] += 1 if ballot > 0.0 else -1
                totals[1] += 1
    totals[4] = alive
    if n_open > 0 and alive < n_budgets:
        return False
    for budget in range(alive, n_budgets):
        out_draws[budget] = -1
        out_spent[budget] = totals[2]
        out_asked[budget] = totals[3]
    return True
