"""Sessions of many rows that draw hypotheses, played to their ends."""

from typing import Any, NamedTuple

import numpy as np

from askless.core.kernels.jit import kernel
from askless.core.kernels.sessions.draws import draw_hypothesis
from askless.core.kernels.sessions.paths import FEATURE, OPEN, Case, follow, vote_at
from askless.core.kernels.sessions.prices import NO_GROUP, price_now, price_to_vote
from askless.core.kernels.sessions.walks import (
    ASKED,
    DONE,
    DRAWS,
    ENDED,
    NEVER,
    SPENT,
    Totals,
    ask_bundle,
    ask_feature,
    charge_purchase,
    end_unpaid_budgets,
)

# How a session stands: draws go on, nothing is left to know, or nothing can be paid.
GOES_ON, ALL_KNOWN, NONE_PAYABLE = range(3)


class Draws(NamedTuple):
    """A block of draws for each row, and the hypotheses that read each feature."""

    #: float64 (n_rows, n_draws); in [0, 1)
    uniforms: Any
    #: float64 (n_hypotheses + 1,); running sums of alpha, the first one 0
    alpha_sums: Any
    #: int64 (n_features + 1,) into `readers`
    starts: Any
    readers: Any


class SampleState(NamedTuple):
    """How far sampled sessions have come between blocks of draws; 0 at first.

    For `walk_payable` each pair of a row and a budget is a row here.
    """

    #: int64 (n_rows, n_features)
    status: Any
    #: bool (n_rows, n_groups)
    is_group_paid: Any
    #: bool (n_rows, n_hypotheses); whether a path has ended, and has come to a vote
    is_done: Any
    has_vote: Any
    #: float64 (n_rows,); the alpha that has a vote
    alphas: Any
    #: float64 (n_rows, n_outputs)
    votes: Any
    #: int64 (n_rows, N_COUNTS)
    counts: Any
    #: int64 (n_rows, n_features); see `Ends`
    ranks: Any
    #: int64 (n_rows, n_hypotheses), how often each was drawn; by `walk_payable`
    n_drawn: Any


@kernel
def buy_feature(feature_idx, case, prices, out_counts, out_ranks):
    """Buy a feature, or all open members of its bundle, for one row.

    An offer billed by answer costs nothing if all that it opens is missing. Changes
    the status and the paid groups of `case`. out_ranks: (n_features,).
    """
    values, status, is_group_paid = case
    costs, group_idxs, fees, is_bundle, is_per_call = prices
    group = group_idxs[feature_idx]
    price = price_now(feature_idx, costs, group_idxs, fees, is_group_paid)
    if group != NO_GROUP and is_bundle[group]:
        is_there = ask_bundle(group, group_idxs, values, status, out_counts, out_ranks)
    else:
        is_there = ask_feature(feature_idx, values, status, out_counts, out_ranks)
    if is_there or is_per_call[feature_idx]:
        charge_purchase(price, group, out_counts, is_group_paid)


@kernel
def follow_readers(row, feature_idx, case, paths, draws, out_carried):
    """Follow the paths that wait for a feature, now that it is answered."""
    values, status, _ = case
    roots, nodes, cuts, _, alphas = paths
    is_done, has_vote = out_carried.is_done, out_carried.has_vote
    for idx in range(draws.starts[feature_idx], draws.starts[feature_idx + 1]):
        h = draws.readers[idx]
        if not is_done[row, h]:
            node = follow(values, status, roots[h], nodes, cuts)
            if node < 0:
                is_done[row, h] = True
                out_carried.counts[row, ENDED] += 1
            if vote_at(node, nodes) > 0 and not has_vote[row, h]:
                has_vote[row, h] = True
                out_carried.alphas[row] += alphas[h]


@kernel
def buy_and_follow(row, node, case, terms, draws, out_carried):
    """Buy the feature that a path waits for, and follow all paths that wait for it."""
    counts, ranks = out_carried.counts[row], out_carried.ranks[row]
    n_before = counts[ASKED]
    feature_idx = terms.paths.nodes[node, FEATURE]
    buy_feature(feature_idx, case, terms.prices, counts, ranks)
    # One feature, or the members of a bundle.
    is_single = counts[ASKED] == n_before + 1
    first = feature_idx if is_single else 0
    last = feature_idx if is_single else ranks.shape[0] - 1
    for asked in range(first, last + 1):
        if ranks[asked] > n_before:
            follow_readers(row, asked, case, terms.paths, draws, out_carried)


@kernel
def sample_row(row, case, terms, draws, out_carried, out_ends):
    """Play one row through a block of draws; return whether its session has ended."""
    budgets, paths, prices = terms
    values, status, _ = case
    roots, nodes, cuts, weighted_votes, _ = paths
    counts, votes = out_carried.counts[row], out_carried.votes[row]
    numbers, alpha_sums = draws.uniforms[row], draws.alpha_sums
    n_budgets, drawn = budgets.shape[0], 0
    while counts[ENDED] < roots.shape[0] and counts[DONE] < n_budgets:
        if drawn == numbers.shape[0]:
            return False
        h = draw_hypothesis(numbers[drawn], alpha_sums)
        drawn += 1
        node = follow(values, status, roots[h], nodes, cuts)
        while node >= 0 and counts[DONE] < n_budgets:
            due = price_to_vote(node, case, paths, prices)
            totals = Totals(votes, out_carried.alphas[row], counts[DRAWS])
            end_unpaid_budgets(row, due, budgets, totals, counts, out_ends)
            if counts[DONE] < n_budgets:
                buy_and_follow(row, node, case, terms, draws, out_carried)
                node = follow(values, status, node, nodes, cuts)
        if counts[DONE] < n_budgets and ~node > 0:
            counts[DRAWS] += 1
            for output in range(votes.shape[0]):
                votes[output] += 1.0 if weighted_votes[~node, output] > 0.0 else -1.0
    # No path waits any more, or all budgets have ended: what is left is the full vote.
    counts[DRAWS] = -1
    totals = Totals(votes, out_carried.alphas[row], counts[DRAWS])
    end_unpaid_budgets(row, np.int64(NEVER), budgets, totals, counts, out_ends)
    return True


@kernel
def walk_sampled(values, terms, draws, out_carried, out_has_ended, out_ends):
    """Simulate sessions that draw hypotheses by alpha, over one block of draws.

    values: (n_rows, n_features); out_has_ended: (n_rows,), rows to skip: every budget
    has ended, or no hypothesis waits for a feature. out_ends.marks are the draws.

    Example: stumps on a (cost 2) and b (3), budgets 1 and 9; drawn are a, a, b.
        a is due: 2 > 1, budget 1 ends with no draw  |  a is bought and votes
        a votes again, for nothing  |  b is bought and votes
        no path waits any more: budget 9 ends with the full vote, 5 spent
    """
    for row in range(values.shape[0]):
        if not out_has_ended[row]:
            status, is_paid = out_carried.status[row], out_carried.is_group_paid[row]
            case = Case(values[row], status, is_paid)
            out_has_ended[row] = sample_row(
                row, case, terms, draws, out_carried, out_ends
            )


@kernel
def is_any_payable(pair, case, terms, draws, carried):
    """Return whether what remains pays the next vote of some path that waits."""
    paths, prices = terms.paths, terms.prices
    values, status, is_group_paid = case
    remaining = (
        terms.budgets[pair % terms.budgets.shape[0]] - carried.counts[pair, SPENT]
    )
    for f in range(status.shape[0]):
        price = price_now(
            f, prices.costs, prices.group_idxs, prices.fees, is_group_paid
        )
        if status[f] != OPEN or price > remaining:
            continue
        for idx in range(draws.starts[f], draws.starts[f + 1]):
            h = draws.readers[idx]
            if carried.is_done[pair, h]:
                continue
            node = follow(values, status, paths.roots[h], paths.nodes, paths.cuts)
            if node >= 0 and price_to_vote(node, case, paths, prices) <= remaining:
                return True
    return False


@kernel
def simulate_pair(pair, drawn, case, terms, draws, out_carried):
    """Simulate one row under one budget by drawn hypotheses; return its status."""
    paths = terms.paths
    values, status, _ = case
    budget = terms.budgets[pair % terms.budgets.shape[0]]
    counts, n_checked = out_carried.counts[pair], -1
    for h in drawn:
        if counts[ENDED] == paths.roots.shape[0]:
            return ALL_KNOWN
        node = np.int64(-1)
        if not out_carried.is_done[pair, h]:
            node = follow(values, status, paths.roots[h], paths.nodes, paths.cuts)
        while node >= 0:
            due = price_to_vote(node, case, paths, terms.prices)
            if due > budget - counts[SPENT]:
                break
            buy_and_follow(pair, node, case, terms, draws, out_carried)
            node = follow(values, status, node, paths.nodes, paths.cuts)
        # Only a purchase changes which features can be paid, so each is checked once.
        if node >= 0 and n_checked < counts[ASKED]:
            if not is_any_payable(pair, case, terms, draws, out_carried):
                return NONE_PAYABLE
            n_checked = counts[ASKED]
        out_carried.n_drawn[pair, h] += 1
    return ALL_KNOWN if counts[ENDED] == paths.roots.shape[0] else GOES_ON


@kernel
def walk_payable(values, terms, draws, out_carried, out_stands):
    """Simulate sessions that draw among payable hypotheses, over one block of draws.

    A draw that waits for a feature and can't be paid is skipped as long as another
    hypothesis could be paid; else it ends the session. Row r under budget b is the pair
    r*n_budgets + b, and has its own state. values: (n_rows, n_features); out_stands:
    (n_pairs,), the status of each pair; pairs that don't go on are skipped.

    Example: stumps on a (cost 2) and b (3), budget 2; drawn are b, a, b.
        b is due: 3 > 2, a could be paid: passed over  |  a is bought and votes
        b is due: 3 > 0, nothing could be paid: the end with one draw that votes
    """
    n_budgets = terms.budgets.shape[0]
    drawn = np.empty(draws.uniforms.shape[1], np.int64)
    for row in range(values.shape[0]):
        first = row * n_budgets
        if not (out_stands[first : first + n_budgets] == GOES_ON).any():
            continue
        for position in range(drawn.shape[0]):
            drawn[position] = draw_hypothesis(
                draws.uniforms[row, position], draws.alpha_sums
            )
        for pair in range(first, first + n_budgets):
            if out_stands[pair] == GOES_ON:
                is_paid = out_carried.is_group_paid[pair]
                case = Case(values[row], out_carried.status[pair], is_paid)
                out_stands[pair] = simulate_pair(
                    pair, drawn, case, terms, draws, out_carried
                )


@kernel
def tally_pair(case, paths, n_drawn, out_votes):
    """Sum the votes of the drawn hypotheses that have one; return their number."""
    values, status, _ = case
    n_voted = 0
    for h in range(paths.roots.shape[0]):
        node = follow(values, status, paths.roots[h], paths.nodes, paths.cuts)
        vote = vote_at(node, paths.nodes)
        if vote > 0:
            n_voted += n_drawn[h]
            for output in range(out_votes.shape[0]):
                out_votes[output] += n_drawn[h] * np.sign(paths.votes[vote, output])
    return n_voted


@kernel
def tally_payable(values, terms, carried, stands, out_ends):
    """Write the votes, spends and counts of the sessions of `walk_payable`.

    out_ends.marks are the draws with a vote, -1 where nothing is left to know.
    """
    n_budgets = terms.budgets.shape[0]
    for pair in range(stands.shape[0]):
        row, budget = pair // n_budgets, pair % n_budgets
        counts = carried.counts[pair]
        case = Case(values[row], carried.status[pair], carried.is_group_paid[pair])
        votes = out_ends.votes[row, budget]
        n_voted = tally_pair(case, terms.paths, carried.n_drawn[pair], votes)
        out_ends.marks[row, budget] = n_voted if stands[pair] == NONE_PAYABLE else -1
        out_ends.alphas[row, budget] = carried.alphas[pair]
        out_ends.spent[row, budget] = counts[SPENT]
        out_ends.n_asked[row, budget] = counts[ASKED]
