"""Weigh what the next answer is worth by class-conditional tables, and play cases."""

from typing import NamedTuple

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.kernels.jit import kernel
from askless.core.kernels.tables import (
    TINY,
    CellLayout,
    add_case_logs,
    compute_entropy,
    normalise_logs,
    write_expected_falls,
)

# An answer that lowers the entropy by less is worth nothing, in nats.
LEAST_FALL = 1e-4

# Least price in rates, by the mean price: free answers have no infinite rate.
LEAST_PRICE = 1e-3

# No part, and no feature; a question that is not chosen yet.
NONE, UNCHOSEN = -1, -2


class TableParts(NamedTuple):
    """Tables of all parts, and the parts that their gates lead to."""

    cells: CellLayout
    #: (n_parts, n_cells, n_classes)
    chances: FloatArray
    log_chances: FloatArray
    #: (n_parts, n_features, n_classes), entropy of a feature's cell in a class
    spreads: FloatArray
    #: (n_parts, n_classes)
    log_shares: FloatArray
    #: (n_parts, n_classes), chance of a part, of those of its gate, given the class
    arrivals: FloatArray
    #: (n_parts, n_ways), the part of each way, -1 for none
    children: IntArray
    #: (n_parts, n_most), the features of each part's gate, -1 for no more
    gates: IntArray


class RateTerms(NamedTuple):
    """How gains and prices are weighed, and what is asked first."""

    #: gains are divided by the price to this power
    power: float
    #: the price that counts as 1, in micro-units
    unit: float
    #: the feature that is asked first, -1 for that of the largest rate
    first: int


class Offers(NamedTuple):
    """Features that a case can still be asked, and their prices."""

    #: (n_features,)
    is_open: BoolArray
    #: (n_features,), of each taken alone, in micro-units
    prices: IntArray
    #: in micro-units
    remaining: int


class GatePlan(NamedTuple):
    """Parts that a case may come to by its gates; each array (n_parts, ...)."""

    #: chance of each part, 0 where the case can't come to it
    shares: FloatArray
    #: (n_parts, n_classes), chances of the classes there
    chances: FloatArray
    #: what is left there to pay with, in micro-units
    remaining: IntArray
    #: the first feature of the gate that can be paid there, -1 for none
    gates: IntArray
    #: gain and price of what is best there
    gains: FloatArray
    costs: FloatArray


class Shopping(NamedTuple):
    """Features that a played case has asked, and fees that it has paid."""

    #: (n_features,)
    is_open: BoolArray
    is_known: BoolArray
    #: (n_groups + 1,)
    is_group_paid: BoolArray
    #: (n_features,), the order of asking
    ranks: IntArray


class PlayedCases(NamedTuple):
    """Cases to play: their cells, and where their gates lead."""

    #: (n_rows, n_features)
    coded: IntArray
    #: (n_rows, n_features), values that are missing, charged if billed by call
    is_lost: BoolArray
    #: (n_rows, n_parts), as `PartTables.list_ways`
    ways: IntArray


class PlayedEnds(NamedTuple):
    """Ends of the sessions of played cases."""

    #: (n_rows, n_features), the order of asking from 1, 0: not asked
    ranks: IntArray
    #: (n_rows,), in micro-units
    spent: IntArray
    #: (n_rows,)
    parts: IntArray
    #: (n_rows, n_classes), log chances, not normalised
    logs: FloatArray


@kernel
def rate_gain(gain, price, terms):
    """Return a gain by its price to the power of the terms."""
    return gain / max(price / terms.unit, LEAST_PRICE) ** terms.power


@kernel
def write_rates(posterior, part, offers, tables, terms, out_gains):
    """Write by how much each affordable feature lowers the entropy, and its rate.

    The rate is 0 where the feature can't be bought, or lowers it by too little.
    out_gains: (2, n_features), the falls and the rates.
    """
    falls, rates = out_gains[0], out_gains[1]
    is_payable = np.empty(offers.is_open.shape[0], np.bool_)
    for idx in range(is_payable.shape[0]):
        is_cheap = offers.prices[idx] <= offers.remaining
        is_payable[idx] = offers.is_open[idx] and is_cheap
    chances, spreads = tables.chances[part], tables.spreads[part]
    write_expected_falls(posterior, chances, spreads, tables.cells, is_payable, falls)
    for idx in range(is_payable.shape[0]):
        rates[idx] = 0.0
        if falls[idx] >= LEAST_FALL:
            rates[idx] = rate_gain(falls[idx], float(offers.prices[idx]), terms)


@kernel
def choose_affordable_look(posterior, part, offers, tables, terms):
    """Return the feature of the largest rate that is affordable, its gain and rate.

    The first feature wins a tie; -1 means that none lowers the entropy.
    """
    gains = np.empty((2, offers.is_open.shape[0]))
    write_rates(posterior, part, offers, tables, terms, gains)
    best, gain, best_rate = NONE, 0.0, 0.0
    for idx in range(gains.shape[1]):
        if gains[1, idx] > best_rate:
            best, gain, best_rate = idx, gains[0, idx], gains[1, idx]
    return best, gain, best_rate


@kernel
def first_of_open_gate(part, offers, tables):
    """Return the first feature of a part's gate if all are open and paid, else -1."""
    first = tables.gates[part, 0]
    if first == NONE:
        return NONE
    for place in range(tables.gates.shape[1]):
        idx = tables.gates[part, place]
        if idx != NONE and not offers.is_open[idx]:
            return NONE
    return first if offers.prices[first] <= offers.remaining else NONE


@kernel
def follow_gates(part, offers, tables, plan):
    """Follow gates that can be paid, and write where a case may come to, and how."""
    plan.gates[:] = NONE
    for number in range(part, plan.shares.shape[0]):
        # A part stands after the one that leads to it.
        if plan.shares[number] <= 0.0:
            continue
        left = Offers(offers.is_open, offers.prices, plan.remaining[number])
        gate = first_of_open_gate(number, left, tables)
        plan.gates[number] = gate
        if gate != NONE:
            spread_over_parts(number, offers.prices[gate], tables, plan)


@kernel
def spread_over_parts(number, price, tables, plan):
    """Write the chance of each part that a gate leads to, and of the classes there."""
    for way in range(tables.children.shape[1]):
        child = tables.children[number, way]
        if child != NONE:
            share, chances = 0.0, plan.chances[child]
            for target in range(chances.shape[0]):
                joint = plan.chances[number, target] * tables.arrivals[child, target]
                chances[target] = joint
                share += joint
            for target in range(chances.shape[0]):
                chances[target] /= max(share, TINY)
            plan.shares[child] = share
            plan.remaining[child] = plan.remaining[number] - price


@kernel
def sum_children(number, price, tables, plan):
    """Return gain and price of a gate with what is best in each of its parts."""
    gain, cost = compute_entropy(plan.chances[number]), float(price)
    for way in range(tables.children.shape[1]):
        child = tables.children[number, way]
        if child != NONE:
            share = plan.shares[child]
            gain -= share * (compute_entropy(plan.chances[child]) - plan.gains[child])
            cost += share * plan.costs[child]
    return max(gain, 0.0), cost


@kernel
def plan_gate(posterior, part, offers, tables, terms):
    """Return gain and price of: the gate, then in its part the best look or gate.

    Both are means over the parts that the gate may lead to; what follows must be paid
    by what the gate leaves. The gate can be paid.
    """
    n_parts, n_classes = tables.log_shares.shape
    plan = GatePlan(
        np.zeros(n_parts),
        np.zeros((n_parts, n_classes)),
        np.zeros(n_parts, np.int64),
        np.empty(n_parts, np.int64),
        np.zeros(n_parts),
        np.zeros(n_parts),
    )
    plan.shares[part], plan.remaining[part] = 1.0, offers.remaining
    for target in range(n_classes):
        plan.chances[part, target] = posterior[target]
    follow_gates(part, offers, tables, plan)
    for number in range(n_parts - 1, part - 1, -1):
        if plan.shares[number] <= 0.0:
            continue
        rate = 0.0
        if number > part:
            left = Offers(offers.is_open, offers.prices, plan.remaining[number])
            class_chances = plan.chances[number]
            look, gain, rate = choose_affordable_look(
                class_chances, number, left, tables, terms
            )
            if look != NONE:
                plan.gains[number], plan.costs[number] = gain, offers.prices[look]
        if plan.gates[number] != NONE:
            price = offers.prices[plan.gates[number]]
            gain, cost = sum_children(number, price, tables, plan)
            if number == part or rate_gain(gain, cost, terms) > rate:
                plan.gains[number], plan.costs[number] = gain, cost
    return plan.gains[part], plan.costs[part]


@kernel
def choose_look(posterior, part, offers, tables, terms):
    """Return the feature to ask next, -1 for none, and its gain and rate.

    A gate is worth what the best question after it is worth, too.
    """
    best, gain, rate = choose_affordable_look(posterior, part, offers, tables, terms)
    gate = first_of_open_gate(part, offers, tables)
    if gate != NONE:
        plan_gain, plan_cost = plan_gate(posterior, part, offers, tables, terms)
        plan_rate = rate_gain(plan_gain, plan_cost, terms)
        if plan_gain >= LEAST_FALL and plan_rate > rate:
            return gate, plan_gain, plan_rate
    return best, gain, rate


@kernel
def price_features(prices, is_group_paid, out_prices):
    """Write the price of each feature taken alone; out_prices: (n_features,)."""
    for idx in range(out_prices.shape[0]):
        group = prices.group_idxs[idx]
        out_prices[idx] = prices.costs[idx]
        if group >= 0 and not is_group_paid[group]:
            out_prices[idx] += prices.fees[group]


@kernel
def is_gate_known(part, is_known, tables):
    """Return whether all features of a part's gate are known."""
    for place in range(tables.gates.shape[1]):
        idx = tables.gates[part, place]
        if idx != NONE and not is_known[idx]:
            return False
    return True


@kernel
def compute_case_log_chances(case_cells, is_known, way, tables, out_logs):
    """Return the part of a case; write the log chances of its classes.

    case_cells: (n_features,); is_known: (n_features,); way: (n_parts,), where gates
    lead it. out_logs: (n_classes,), not normalised.
    """
    part = np.int64(0)
    while way[part] != NONE and is_gate_known(part, is_known, tables):
        part = way[part]
    for target in range(out_logs.shape[0]):
        out_logs[target] = tables.log_shares[part, target]
    add_case_logs(case_cells, is_known, tables.log_chances[part], out_logs)
    return part


@kernel
def compute_row_log_chances(coded, is_known, ways, tables, out_logs):
    """Write the log chances of classes of rows of which the same features are known.

    coded: (n_rows, n_features); is_known: (n_features,); ways: (n_rows, n_parts).
    out_logs: (n_rows, n_classes), not normalised.
    """
    for row in range(coded.shape[0]):
        compute_case_log_chances(coded[row], is_known, ways[row], tables, out_logs[row])


@kernel
def reveal_offer(asked, case, prices, is_lost):
    """Reveal a feature, or all of its bundle; return what it charges.

    case: a `Shopping`, changed in place; is_lost: (n_features,), values that are
    missing, which cost something only if billed by call. Ranks go on from the largest.
    """
    group, spent = prices.group_idxs[asked], 0
    is_whole = group >= 0 and prices.is_bundle[group]
    n_asked = case.ranks.max()
    for idx in range(is_lost.shape[0]):
        is_with = is_whole and prices.group_idxs[idx] == group
        if not (idx == asked or is_with) or case.is_known[idx]:
            continue
        n_asked += 1
        case.ranks[idx] = n_asked
        case.is_open[idx], case.is_known[idx] = False, True
        if not is_lost[idx] or prices.is_per_call[idx]:
            spent += prices.costs[idx]
            is_due = group >= 0 and not case.is_group_paid[group]
            spent += prices.fees[group] if is_due else 0
            case.is_group_paid[group] |= group >= 0
    return spent


@kernel
def play_by_tables(cases, tables, shop, budget, terms, out_ends):
    """Play a session of each case under a budget, and write where it ends.

    shop: the prices, and which features may be asked, (n_features,). A bundle is bought
    whole; `reveal_offer` prices missing values. `out_ends` begins with zeros.
    """
    prices, is_askable = shop
    n_rows, n_features = cases.coded.shape
    posterior = np.empty(tables.log_shares.shape[1])
    amounts = np.empty(n_features, np.int64)
    # The first question, then the second by the answer to the first: many cases are
    # asked the same. The last place is of all others, and keeps nothing.
    chosen = np.full(2 + 2 * tables.chances.shape[1], UNCHOSEN)
    for row in range(n_rows):
        # One place more: a feature of no group, -1, marks the last.
        is_group_paid = np.zeros(prices.fees.shape[0] + 1, np.bool_)
        is_known, is_open = np.zeros(n_features, np.bool_), is_askable.copy()
        case = Shopping(is_open, is_known, is_group_paid, out_ends.ranks[row])
        logs, coded, way = out_ends.logs[row], cases.coded[row], cases.ways[row]
        spent, asked, place = 0, terms.first, 0
        while True:
            part = compute_case_log_chances(coded, is_known, way, tables, logs)
            price_features(prices, is_group_paid, amounts)
            if asked == NONE or amounts[asked] > budget:
                asked = chosen[place]
            if asked == UNCHOSEN:
                normalise_logs(logs, posterior)
                offers = Offers(is_open, amounts, budget - spent)
                asked, _, _ = choose_look(posterior, part, offers, tables, terms)
                chosen[place], chosen[NONE] = asked, UNCHOSEN
            if asked == NONE:
                break
            spent += reveal_offer(asked, case, prices, cases.is_lost[row])
            place = place_answer(asked, place, cases, row, prices)
            asked = NONE
        out_ends.spent[row], out_ends.parts[row] = spent, part


@kernel
def place_answer(asked, place, cases, row, prices):
    """Return the place of what is asked after the first answer, else -1.

    It is that of the answer's cell and charge. After a bundle, which has several cells,
    and after other answers there is none.
    """
    group, cell = prices.group_idxs[asked], cases.coded[row, asked]
    if place != 0 or cell < 0 or (group >= 0 and prices.is_bundle[group]):
        return NONE
    return 1 + 2 * cell + cases.is_lost[row, asked]
