"""Sessions of many rows under many budgets, played to their ends.

A smaller budget stops earlier on the same walk, so one walk serves all. Outputs are
(n_rows, n_budgets); budgets ascend.
"""

from typing import Any, NamedTuple

import numpy as np

from askless.core.kernels.jit import kernel
from askless.core.kernels.sessions.paths import (
    FEATURE,
    GONE,
    HERE,
    KNOWN,
    NEXT_FACTOR,
    OPEN,
    Case,
    follow,
)
from askless.core.kernels.sessions.prices import NO_GROUP, price_now, price_product

# Places in the counts of a row: what it spent, how many features it asked and draws
# it counted, the budgets that are done, the hypotheses whose paths have ended.
SPENT, ASKED, DRAWS, DONE, ENDED = range(5)
N_COUNTS = 5

# A price that ends a session under every budget.
NEVER = -1


class Terms(NamedTuple):
    """The budgets, paths and prices of a walk."""

    #: int64 (n_budgets,)
    budgets: Any
    paths: Any
    prices: Any


class Stages(NamedTuple):
    """Stages of a cascade; none for a plain walk."""

    #: int64 (n_stages,)
    ends: Any
    #: float64 (n_stages,); least vote of a stage that passes it
    thresholds: Any


class Totals(NamedTuple):
    """The votes, alpha and mark of a row's session if it ended now."""

    #: float64 (n_outputs,)
    votes: Any
    alpha: Any
    mark: Any


class Ends(NamedTuple):
    """The ends of sessions; (n_rows, n_budgets) unless another shape is given."""

    #: float64 (n_rows, n_budgets, n_outputs)
    votes: Any
    #: float64; the alpha that voted
    alphas: Any
    #: int64, as are all that follow; in micro-units
    spent: Any
    #: number of features asked
    n_asked: Any
    #: draws with a vote, -1 where the forecast is the full vote; or the stages up to
    #: the last passed with a vote, -1 - s once stage s has rejected
    marks: Any
    #: (n_rows, n_features); the order of asking, from 1; 0 before
    ranks: Any


# numba counts the references to all arrays of a record that is passed on inside a
# loop, 0.2 us at each purchase. So `walk_row` passes arrays: with one function for a
# purchase, which would have to take records, it is slower by two fifths.


@kernel
def ask_feature(feature_idx, values, out_status, out_counts, out_ranks):
    """Ask for a feature; return whether its value is there."""
    is_there = not np.isnan(values[feature_idx])
    out_status[feature_idx] = KNOWN if is_there else GONE
    out_counts[ASKED] += 1
    out_ranks[feature_idx] = out_counts[ASKED]
    return is_there


@kernel
def ask_bundle(group, group_idxs, values, out_status, out_counts, out_ranks):
    """Ask for all open members of a bundle; return whether any value is there."""
    is_there = False
    for f in range(values.shape[0]):
        if group_idxs[f] == group and out_status[f] == OPEN:
            is_there |= ask_feature(f, values, out_status, out_counts, out_ranks)
    return is_there


@kernel
def charge_purchase(price, group, out_counts, out_is_group_paid):
    """Charge a purchase, and with it the fee of its group."""
    out_counts[SPENT] += price
    if group != NO_GROUP:
        out_is_group_paid[group] = True


@kernel
def end_unpaid_budgets(row, due, budgets, totals, counts, out_ends):
    """End a row's session under the budgets that don't pay what is due."""
    budget = counts[DONE]
    while budget < budgets.shape[0] and (
        due == NEVER or due > budgets[budget] - counts[SPENT]
    ):
        for output in range(totals.votes.shape[0]):
            out_ends.votes[row, budget, output] = totals.votes[output]
        out_ends.alphas[row, budget] = totals.alpha
        out_ends.spent[row, budget] = counts[SPENT]
        out_ends.n_asked[row, budget] = counts[ASKED]
        out_ends.marks[row, budget] = totals.mark
        budget += 1
    counts[DONE] = budget


@kernel
def walk_row(row, case, terms, stages, out_ends):
    """Play one row's session for `walk_ordered`."""
    budgets, paths, prices = terms
    values, status, is_group_paid = case
    roots, nodes, cuts, weighted_votes, alphas = paths
    costs, group_idxs, fees, is_bundle, is_per_call = prices
    counts, ranks = np.zeros(N_COUNTS, np.int64), out_ends.ranks[row]
    votes = np.zeros(weighted_votes.shape[1])
    alpha, stage, passed = 0.0, 0, 0
    has_vote, stage_start = False, 0.0
    for h in range(roots.shape[0]):
        node = follow(values, status, roots[h], nodes, cuts)
        while node >= 0:
            f, here = nodes[node, FEATURE], nodes[node, HERE]
            due = price = price_now(f, costs, group_idxs, fees, is_group_paid)
            if nodes[node, NEXT_FACTOR] >= 0:
                due = price_product(node, case, paths, prices)
            if due > budgets[counts[DONE]] - counts[SPENT]:
                # What the path has come to counts where the budget ends it.
                alpha_here = alpha + (alphas[h] if here > 0 else 0.0)
                totals = Totals(votes + weighted_votes[here], alpha_here, passed)
                end_unpaid_budgets(row, due, budgets, totals, counts, out_ends)
            if counts[DONE] == budgets.shape[0]:
                return
            group = group_idxs[f]
            if group != NO_GROUP and is_bundle[group]:
                is_there = ask_bundle(group, group_idxs, values, status, counts, ranks)
            else:
                is_there = ask_feature(f, values, status, counts, ranks)
            if is_there or is_per_call[f]:
                charge_purchase(price, group, counts, is_group_paid)
            node = follow(values, status, node, nodes, cuts)
        # A path has ended here, with the vote ~node; 0 is none.
        if ~node > 0:
            alpha += alphas[h]
            has_vote = True
            for output in range(votes.shape[0]):
                votes[output] += weighted_votes[~node, output]
        if stage < stages.ends.shape[0] and h + 1 == stages.ends[stage]:
            if has_vote and votes[0] - stage_start < stages.thresholds[stage]:
                passed = -1 - stage
                break
            stage += 1
            passed = stage if has_vote else passed
            has_vote, stage_start = False, votes[0]
    totals = Totals(votes, alpha, passed)
    end_unpaid_budgets(row, np.int64(NEVER), budgets, totals, counts, out_ends)


@kernel
def walk_ordered(values, terms, stages, out_ends):
    """Simulate sessions that buy what hypotheses need in the order of training.

    values: (n_rows, n_features). A stage ends a session that has a vote in it and is
    below its threshold; out_ends.marks are the stages.

    Example: stumps on a (cost 2), b (3) and a again; budgets 1, 4 and 9.
        a is due: 2 > 1, budget 1 ends with nothing  |  a is bought and votes
        b is due: 3 > 4 - 2, budget 4 ends with a's vote  |  b is bought and votes
        a is known and votes  |  the end: budget 9 has three votes, 5 spent
    """
    n_features, n_groups = values.shape[1], terms.prices.fees.shape[0]
    for row in range(values.shape[0] if terms.budgets.shape[0] else 0):
        status = np.zeros(n_features, np.int64)
        case = Case(values[row], status, np.zeros(n_groups, np.bool_))
        walk_row(row, case, terms, stages, out_ends)
