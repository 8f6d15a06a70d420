"""Compiled steps of a session, and of many sessions at once.

Hypotheses come as `roots`, `nodes` and `cuts` (see `core.model.paths.Paths`), their
votes as `weighted_votes` (n_votes, n_outputs), alpha times +1, -1 or 0, of which the
first alone is 0. A feature's status is `OPEN` (may be asked), `KNOWN`, `GONE` (asked
in vain) or `PENDING` (not back yet).
"""

import numpy as np

from core.kernels.jit import kernel

OPEN = 0
KNOWN = 1
GONE = 2
PENDING = 3

NO_GROUP = -1

# Where a path ends without a vote: `weighted_votes[~NO_VOTE]` is 0.
NO_VOTE = -1

# Columns of the array of nodes.
FEATURE, IS_CATEGORY, ABOVE, BELOW, HERE, NEXT_FACTOR = range(6)


# Where an inner kernel reads an array in one branch only, or leaves a loop in several
# ways, numba counts references at each call. So `step` reads before it branches, and
# `follow` has one way out: 500 stumps in 1.2 us instead of 30.


@kernel
def step(value, node, nodes, cuts):
    """Go one step from a node with the value of its feature; see `follow`."""
    cut, is_category = cuts[node], nodes[node, IS_CATEGORY]
    above, below, here = nodes[node, ABOVE], nodes[node, BELOW], nodes[node, HERE]
    if np.isnan(value) or (is_category and value < 0.0):
        return ~here
    is_above = value == cut if is_category else value > cut
    return above if is_above else below


@kernel
def follow(values, status, node, nodes, cuts):
    """Follow a path from a node as far as values are known.

    values, status: (n_features,). Returns the node that waits for its feature, or
    -1 - v where the path has ended with vote v. A product that waits for one factor
    has ended without a vote if another abstains.
    """
    while node >= 0 and (
        status[nodes[node, FEATURE]] == KNOWN or status[nodes[node, FEATURE]] == GONE
    ):
        feature_idx = nodes[node, FEATURE]
        value = values[feature_idx] if status[feature_idx] == KNOWN else np.nan
        node = step(value, node, nodes, cuts)
    ahead = nodes[node, NEXT_FACTOR] if node >= 0 else -1
    while ahead >= 0:
        feature_idx = nodes[ahead, FEATURE]
        is_answered = status[feature_idx] == KNOWN or status[feature_idx] == GONE
        value = values[feature_idx] if status[feature_idx] == KNOWN else np.nan
        if is_answered and step(value, ahead, nodes, cuts) == NO_VOTE:
            node = NO_VOTE
        ahead = nodes[ahead, NEXT_FACTOR]
    return node


@kernel
def follow_all(values, status, roots, nodes, cuts, out_ends):
    """Follow every hypothesis' path; out_ends: (n_hypotheses,), as from `follow`."""
    for h in range(roots.shape[0]):
        out_ends[h] = follow(values, status, roots[h], nodes, cuts)


@kernel
def add_votes(
    values, length, roots, nodes, cuts, alphas, weighted_votes, out_votes, out_alphas
):
    """Full vote of every row by the first hypotheses.

    values: (n_rows, n_features); alphas: (n_hypotheses,). out_votes: (n_rows,
    n_outputs) and out_alphas: (n_rows,), the alpha that voted; both 0 before.
    """
    n_outputs = weighted_votes.shape[1]
    for row in range(values.shape[0]):
        row_values = values[row]
        for h in range(length):
            node = roots[h]
            while node >= 0:
                node = step(row_values[nodes[node, FEATURE]], node, nodes, cuts)
            vote = ~node
            if vote > 0:
                out_alphas[row] += alphas[h]
                for output in range(n_outputs):
                    out_votes[row, output] += weighted_votes[vote, output]


@kernel
def tally(
    values,
    status,
    is_counted,
    length,
    roots,
    nodes,
    cuts,
    alphas,
    weighted_votes,
    out_votes,
    out_alphas,
):
    """Vote of what is known of one row, and of what is still to come.

    Counts the first `length` hypotheses, the one after them if it has a vote already,
    each only if it has a vote or waits for a feature and `is_counted`; values,
    status: (n_features,); is_counted: (n_hypotheses,). out_votes: (n_outputs,), and
    out_alphas: (2,), the alpha that has a vote, and that has or may get one; 0 before.
    """
    for h in range(min(length + 1, roots.shape[0])):
        node = follow(values, status, roots[h], nodes, cuts)
        vote = nodes[node, HERE] if node >= 0 else ~node
        if vote > 0:
            out_alphas[0] += alphas[h]
            out_alphas[1] += alphas[h]
            for output in range(out_votes.shape[0]):
                out_votes[output] += weighted_votes[vote, output]
        elif node >= 0 and h < length and is_counted[h]:
            out_alphas[1] += alphas[h]


@kernel
def tally_draws(
    values, status, drawn, roots, nodes, cuts, votes, out_votes, out_has_vote
):
    """Vote of the hypotheses drawn, as far as values are known.

    drawn: (n_draws,); votes: (n_votes, n_outputs), +1, -1 or 0. out_votes:
    (n_outputs,), 0 before; out_has_vote: (n_hypotheses,), drawn or not. Returns how
    many draws have a vote.
    """
    counts = np.zeros(roots.shape[0], np.int64)
    for h in drawn:
        counts[h] += 1
    n_voted = 0
    for h in range(roots.shape[0]):
        node = follow(values, status, roots[h], nodes, cuts)
        vote = nodes[node, HERE] if node >= 0 else ~node
        out_has_vote[h] = vote > 0
        if vote > 0:
            n_voted += counts[h]
            for output in range(out_votes.shape[0]):
                out_votes[output] += counts[h] * votes[vote, output]
    return n_voted


@kernel
def draw(uniform, alpha_sums):
    """Hypothesis that a number in [0, 1) draws, with probability alpha/sum(alpha)."""
    h = np.searchsorted(alpha_sums, uniform * alpha_sums[-1], side="right") - 1
    return min(h, alpha_sums.shape[0] - 2)


@kernel
def find_asking(uniforms, n_done, alpha_sums, waiting_for):
    """Position of the first draw whose hypothesis waits for a feature, and which it is.

    uniforms: (n_draws,) in [0, 1), of which `n_done` are done with; waiting_for:
    (n_hypotheses,), the feature or -1. Returns -1 twice if none does.
    """
    for position in range(n_done, uniforms.shape[0]):
        h = draw(uniforms[position], alpha_sums)
        if waiting_for[h] >= 0:
            return position, h
    return -1, -1


@kernel
def price_now(feature_idx, costs, group_idxs, fees, is_group_paid):
    """Price of a feature that was not charged before."""
    group = group_idxs[feature_idx]
    if group == NO_GROUP or is_group_paid[group]:
        return costs[feature_idx]
    return costs[feature_idx] + fees[group]


@kernel
def price_to_vote(node, status, nodes, costs, group_idxs, fees, is_group_paid):
    """Price of the open features that a path needs before its next vote.

    Of a stump or a tree that of the feature its node waits for, since the next answer
    brings a vote; of a product that of all factors left: each feature once, a fee once.
    """
    total = 0
    last = node
    while last >= 0:
        f = nodes[last, FEATURE]
        price = price_now(f, costs, group_idxs, fees, is_group_paid)
        # What factors before this one pay is paid.
        before = node
        while before != last:
            other = nodes[before, FEATURE]
            if other == f:
                price = 0
            elif status[other] == OPEN and group_idxs[other] == group_idxs[f]:
                price = min(price, costs[f])
            before = nodes[before, NEXT_FACTOR]
        total += price if status[f] == OPEN else 0
        last = nodes[last, NEXT_FACTOR]
    return total


# A call of `price_to_vote` costs as much as a step of a walk: so stumps and trees get
# by without (4,000 rows, 500 stumps: 57 ms instead of 85).


@kernel
def find_dues(
    ends, status, prices, nodes, costs, group_idxs, fees, is_group_paid, out_dues
):
    """Price of what each hypothesis needs before its next vote; see `price_to_vote`.

    ends: (n_hypotheses,), as from `follow_all`; prices: (n_features,), of now.
    out_dues: (n_hypotheses,), 0 where nothing is needed.
    """
    for h in range(ends.shape[0]):
        node = max(ends[h], 0)
        f = nodes[node, FEATURE]
        due = prices[f] if ends[h] >= 0 and status[f] == OPEN else 0
        if nodes[node, NEXT_FACTOR] >= 0 and ends[h] >= 0:
            due = price_to_vote(
                node, status, nodes, costs, group_idxs, fees, is_group_paid
            )
        out_dues[h] = due


@kernel
def find_plan(
    values,
    status,
    roots,
    nodes,
    cuts,
    costs,
    group_idxs,
    fees,
    is_group_paid,
    remaining,
):
    """Longest prefix of the ensemble that what remains can pay, whatever the answers.

    values, status, costs, group_idxs: (n_features,); fees, is_group_paid:
    (n_groups,), the latter overwritten. Of a tree every open feature that its path
    may still lead to is reserved. Returns the length of the prefix and the first open
    feature that its paths (or that of the tree after it) need now (-1: none).
    """
    first = -1
    # What is reserved is as good as ordered.
    left = status.copy()
    stack = np.empty(nodes.shape[0] + 1, np.int64)
    # Paths of a product meet again: each node is looked at once.
    seen_for = np.full(nodes.shape[0], -1)
    for h in range(roots.shape[0]):
        node = follow(values, status, roots[h], nodes, cuts)
        if node < 0:
            continue
        f = nodes[node, FEATURE]
        if first < 0 and status[f] == OPEN:
            due = price_to_vote(
                node, left, nodes, costs, group_idxs, fees, is_group_paid
            )
            if due > remaining:
                return h, first
            first = f
        # What its path may read, each feature once; a fee counts with the first.
        total = 0
        stack[0] = node
        n_stacked = 1
        while n_stacked > 0:
            n_stacked -= 1
            node = follow(values, status, stack[n_stacked], nodes, cuts)
            if node < 0 or seen_for[node] == h:
                continue
            seen_for[node] = h
            f = nodes[node, FEATURE]
            if left[f] == OPEN:
                total += price_now(f, costs, group_idxs, fees, is_group_paid)
                left[f] = PENDING
                if group_idxs[f] != NO_GROUP:
                    is_group_paid[group_idxs[f]] = True
            for child in (nodes[node, ABOVE], nodes[node, BELOW]):
                if child >= 0:
                    stack[n_stacked] = child
                    n_stacked += 1
        if total > remaining:
            return h, first
        remaining -= total
    return roots.shape[0], first


@kernel
def bound_votes(
    values,
    status,
    is_affordable,
    is_payable,
    is_coming,
    roots,
    nodes,
    cuts,
    scores,
    segment_starts,
    segment_cuts,
    start,
    is_prefix,
    out_bounds,
):
    """Least and greatest score that the answers still to come can lead to.

    `scores` (n_votes,) is what each vote counts for. Stumps that wait for one feature
    contribute the least and the greatest of their summed scores over all segments
    between their cuts, and 0 for a missing value; a tree or a product the least and
    greatest of the votes that its path may still end in, each on its own.
    is_payable: (n_hypotheses,), whether what remains pays their next vote.
    For a prefix plan (`is_prefix`) every length from `start` to the first
    hypothesis that isn't payable counts, since a missing value extends the prefix (and
    also past a product that it silences); else the whole ensemble without them.
    values, status, is_affordable, is_coming (whether an answer may come although
    nothing asks for it): (n_features,); segment_starts: (n_features + 1,)
    into segment_cuts, which holds one value of each segment. out_bounds: (2,).
    """
    may_come = is_coming.copy()
    n_hypotheses = roots.shape[0]
    sums = np.zeros(segment_cuts.shape[0])
    low = np.zeros(status.shape[0])
    high = np.zeros(status.shape[0])
    stack = np.empty(nodes.shape[0] + 1, np.int64)
    seen_for = np.full(nodes.shape[0], -1)
    low_sum = 0.0
    high_sum = 0.0
    least = np.inf
    greatest = -np.inf
    for h in range(n_hypotheses):
        if is_prefix and h >= start:
            least = min(least, low_sum)
            greatest = max(greatest, high_sum)
        root = roots[h]
        node = follow(values, status, root, nodes, cuts)
        if node < 0:
            low_sum += scores[~node]
            high_sum += scores[~node]
            continue
        f = nodes[node, FEATURE]
        if not is_payable[h]:
            low_sum += scores[nodes[node, HERE]]
            high_sum += scores[nodes[node, HERE]]
            is_end = is_prefix
            while node >= 0:
                is_end = is_end and not may_come[nodes[node, FEATURE]]
                node = nodes[node, NEXT_FACTOR]
            if is_end:
                break
        elif node == root and nodes[node, ABOVE] < 0 and nodes[node, BELOW] < 0:
            new_low = 0.0
            new_high = 0.0
            for segment in range(segment_starts[f], segment_starts[f + 1]):
                vote = ~step(segment_cuts[segment], node, nodes, cuts)
                sums[segment] += scores[vote]
                new_low = min(new_low, sums[segment])
                new_high = max(new_high, sums[segment])
            low_sum += new_low - low[f]
            high_sum += new_high - high[f]
            low[f] = new_low
            high[f] = new_high
            may_come[f] = True
        else:
            tree_low = np.inf
            tree_high = -np.inf
            stack[0] = node
            n_stacked = 1
            while n_stacked > 0:
                n_stacked -= 1
                node = follow(values, status, stack[n_stacked], nodes, cuts)
                vote = nodes[node, HERE] if node >= 0 else ~node
                tree_low = min(tree_low, scores[vote])
                tree_high = max(tree_high, scores[vote])
                if node >= 0 and seen_for[node] != h:
                    seen_for[node] = h
                    f = nodes[node, FEATURE]
                    if status[f] == PENDING or is_affordable[f]:
                        may_come[f] = True
                        stack[n_stacked] = nodes[node, ABOVE]
                        stack[n_stacked + 1] = nodes[node, BELOW]
                        n_stacked += 2
            low_sum += tree_low
            high_sum += tree_high
    out_bounds[0] = min(least, low_sum)
    out_bounds[1] = max(greatest, high_sum)


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
    roots,
    nodes,
    cuts,
    alphas,
    weighted_votes,
    costs,
    group_idxs,
    fees,
    is_bundle,
    stage_ends,
    thresholds,
    out_votes,
    out_alphas,
    out_spent,
    out_asked,
    out_stages,
    out_ranks,
):
    """Sessions of the policy `ordered` for many rows under many budgets.

    values: (n_rows, n_features); budgets ascending: (n_budgets,). A smaller budget
    stops earlier on the same walk, so one walk serves all. Of a cascade, stage_ends
    and thresholds (n_stages,) end a walk that has a vote and falls short of one.
    Outputs (n_rows, n_budgets): alpha that voted, spent, number of features asked,
    stages up to the last passed with a vote (-1 - s once stage s has rejected);
    out_votes (n_rows, n_budgets, n_outputs); out_ranks (n_rows, n_features), 0
    before: the order of asking, from 1.
    """
    n_budgets = budgets.shape[0]
    n_outputs = weighted_votes.shape[1]
    votes = np.zeros(n_outputs)
    for row in range(values.shape[0]):
        row_values = values[row]
        status = np.zeros(costs.shape[0], dtype=np.int64)
        is_group_paid = np.zeros(fees.shape[0], dtype=np.bool_)
        votes[:] = 0.0
        alpha = 0.0
        spent = np.int64(0)
        n_asked = np.int64(0)
        alive = 0
        stage = 0
        passed = 0
        has_vote = False
        stage_start = 0.0
        for h in range(roots.shape[0]):
            node = follow(row_values, status, roots[h], nodes, cuts)
            while node >= 0 and alive < n_budgets:
                f = nodes[node, FEATURE]
                price = price_now(f, costs, group_idxs, fees, is_group_paid)
                due = price
                if nodes[node, NEXT_FACTOR] >= 0:
                    due = price_to_vote(
                        node, status, nodes, costs, group_idxs, fees, is_group_paid
                    )
                # What the path has come to counts where the budget ends it.
                here = nodes[node, HERE]
                while alive < n_budgets and due > budgets[alive] - spent:
                    for output in range(n_outputs):
                        out_votes[row, alive, output] = (
                            votes[output] + weighted_votes[here, output]
                        )
                    out_alphas[row, alive] = alpha + (alphas[h] if here > 0 else 0.0)
                    out_spent[row, alive] = spent
                    out_asked[row, alive] = n_asked
                    out_stages[row, alive] = passed
                    alive += 1
                if alive < n_budgets:
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
                    node = follow(row_values, status, node, nodes, cuts)
            if alive == n_budgets:
                break
            if ~node > 0:
                for output in range(n_outputs):
                    votes[output] += weighted_votes[~node, output]
                alpha += alphas[h]
                has_vote = True
            if stage < stage_ends.shape[0] and h + 1 == stage_ends[stage]:
                if has_vote and votes[0] - stage_start < thresholds[stage]:
                    passed = -1 - stage
                    break
                stage += 1
                if has_vote:
                    passed = stage
                has_vote = False
                stage_start = votes[0]
        for budget in range(alive, n_budgets):
            out_stages[row, budget] = passed
            for output in range(n_outputs):
                out_votes[row, budget, output] = votes[output]
            out_alphas[row, budget] = alpha
            out_spent[row, budget] = spent
            out_asked[row, budget] = n_asked


@kernel
def tell_readers(
    values,
    status,
    feature_idx,
    roots,
    nodes,
    cuts,
    alphas,
    reader_starts,
    readers,
    out_is_done,
    out_has_vote,
):
    """Follow the paths that waited for a feature.

    out_is_done, out_has_vote: (n_hypotheses,), whether a path has ended and whether it
    has come to a vote. Returns how many have ended newly, and the alpha that has a
    vote newly.
    """
    n_done = 0
    alpha = 0.0
    for idx in range(reader_starts[feature_idx], reader_starts[feature_idx + 1]):
        h = readers[idx]
        if not out_is_done[h]:
            node = follow(values, status, roots[h], nodes, cuts)
            if node < 0:
                out_is_done[h] = True
                n_done += 1
            vote = nodes[node, HERE] if node >= 0 else ~node
            if vote > 0 and not out_has_vote[h]:
                out_has_vote[h] = True
                alpha += alphas[h]
    return n_done, alpha


@kernel
def walk_sampled(
    values,
    budgets,
    uniforms,
    alpha_sums,
    roots,
    nodes,
    cuts,
    alphas,
    weighted_votes,
    costs,
    group_idxs,
    fees,
    is_bundle,
    reader_starts,
    readers,
    status,
    is_group_paid,
    is_done,
    has_vote,
    known_alpha,
    totals,
    ballots,
    out_votes,
    out_draws,
    out_alphas,
    out_spent,
    out_asked,
    out_ranks,
):
    """One row's session of the policy `sample`, over one block of draws.

    values: (n_features,); uniforms: (n_draws,) in [0, 1); reader_starts
    (n_features + 1,) into readers: the hypotheses that read each feature. Between
    blocks `status` (n_features,), `is_group_paid` (n_groups,), `is_done` and
    `has_vote` (n_hypotheses,), `known_alpha` (1,), `totals` (hypotheses done, draws
    counted, spent, asked, budgets done) and `ballots` (n_outputs,) carry the session
    on. Returns True once it has ended: every budget is done, or no hypothesis waits
    for a feature; out_draws is
    then -1 for the budgets left, whose forecast is the full vote. out_votes:
    (n_budgets, n_outputs); the others (n_budgets,) but out_ranks (n_features,).
    """
    n_budgets = budgets.shape[0]
    n_hypotheses = roots.shape[0]
    n_outputs = ballots.shape[0]
    alive = totals[4]
    drawn = 0
    while totals[0] < n_hypotheses and alive < n_budgets and drawn < uniforms.shape[0]:
        h = draw(uniforms[drawn], alpha_sums)
        drawn += 1
        node = follow(values, status, roots[h], nodes, cuts)
        while node >= 0 and alive < n_budgets:
            f = nodes[node, FEATURE]
            price = price_now(f, costs, group_idxs, fees, is_group_paid)
            due = price
            if nodes[node, NEXT_FACTOR] >= 0:
                due = price_to_vote(
                    node, status, nodes, costs, group_idxs, fees, is_group_paid
                )
            while alive < n_budgets and due > budgets[alive] - totals[2]:
                for output in range(n_outputs):
                    out_votes[alive, output] = ballots[output]
                out_draws[alive] = totals[1]
                out_alphas[alive] = known_alpha[0]
                out_spent[alive] = totals[2]
                out_asked[alive] = totals[3]
                alive += 1
            if alive < n_budgets:
                n_before = totals[3]
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
                # One feature, or the members of a bundle.
                first = f if totals[3] == n_before + 1 else 0
                last = f if totals[3] == n_before + 1 else status.shape[0] - 1
                for asked in range(first, last + 1):
                    if out_ranks[asked] > n_before:
                        n_done, alpha = tell_readers(
                            values,
                            status,
                            asked,
                            roots,
                            nodes,
                            cuts,
                            alphas,
                            reader_starts,
                            readers,
                            is_done,
                            has_vote,
                        )
                        totals[0] += n_done
                        known_alpha[0] += alpha
                node = follow(values, status, node, nodes, cuts)
        if alive < n_budgets and ~node > 0:
            for output in range(n_outputs):
                ballots[output] += 1 if weighted_votes[~node, output] > 0.0 else -1
            totals[1] += 1
    totals[4] = alive
    if totals[0] < n_hypotheses and alive < n_budgets:
        return False
    for budget in range(alive, n_budgets):
        out_draws[budget] = -1
        out_spent[budget] = totals[2]
        out_asked[budget] = totals[3]
    return True
