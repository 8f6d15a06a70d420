"""Replay logged cases by a policy: what the log supports, bounds, an estimate.

A measured figure never guesses the answer to a question that is not in the log. Such a
case is unsupported: its spend and its loss lie between bounds. Beside them stands an
estimate, with answers of other cases.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue
from askless.core.model.ensemble import Ensemble
from askless.core.session.state import Aim
from askless.core.shadow.logs import (
    UNKNOWN,
    LoggedCases,
    charge_offers,
    hide_offers,
    label_known,
    price_offers,
)
from askless.core.simulation.outcomes import label_ends
from askless.core.simulation.simulate import simulate


@dataclass(frozen=True)
class ReplayedCases:
    """Cases as a policy plays them, lacking answers drawn from donors; (n_cases,)."""

    labels: IntArray
    #: (n_cases, n_offers), whether each vendor is asked
    is_asked: BoolArray
    #: in micro-units, as all amounts
    spent: IntArray
    #: whether the log has all answers: then nothing was drawn
    is_supported: BoolArray
    #: least and most that the case may cost, whatever the lacking answers are
    least: IntArray
    most: IntArray


def replay_cases(
    ensemble: Ensemble,
    aim: Aim | None,
    cases: LoggedCases,
    filled: FloatArray,
    dropped: int | None = None,
) -> ReplayedCases:
    """Play a session of each case.

    Parameters
    ----------
    filled : float64 array, shape (n_cases, n_features)
        The values of the cases, with answers of donors where nobody asked.
    dropped : int, optional
        An offer that comes back empty and charges nothing.

    Notes
    -----
    A session is the same up to the first question that the log has no answer to,
    whatever answers stand there. From there on it may ask nothing more, or all that is
    left, which gives the bounds of the spend.
    """
    catalogue = ensemble.catalogue
    prices = price_offers(catalogue)
    is_sold = np.broadcast_to(prices > 0, cases.orders.shape).copy()
    if dropped is not None:
        is_dropped = np.zeros_like(is_sold)
        is_dropped[:, dropped] = True
        filled = hide_offers(catalogue, filled, is_dropped)
        is_sold[:, dropped] = False
    walks = simulate(
        *(ensemble, filled, [None]),
        needs_ranks=True,
        streams=cases.numbers.tolist(),
        aims=[aim],
    )
    labels, _ = label_ends(ensemble, walks)
    ranks = rank_offers(catalogue, walks.ranks)
    is_asked = (ranks > 0) & is_sold
    is_lacking = is_asked & (cases.orders == 0)
    is_supported = ~is_lacking.any(axis=1)
    charges = np.where(is_asked, charge_offers(catalogue, filled), 0)
    # The rank of the first question without an answer; if there is none, beyond all.
    ends = np.where(is_lacking, ranks, ranks.max(initial=0) + 1).min(axis=1)
    is_before = is_asked & (ranks < ends[:, None])
    before = np.where(is_before, charges, 0).sum(axis=1)
    firsts = [offer[0] for offer in catalogue.offers]
    is_next = is_lacking & (ranks == ends[:, None])
    sure = np.where(is_next & catalogue.is_per_call[firsts], prices, 0).sum(axis=1)
    left = np.where(is_sold & ~is_before, prices, 0).sum(axis=1)
    return ReplayedCases(
        labels=labels,
        is_asked=is_asked,
        spent=charges.sum(axis=1),
        is_supported=is_supported,
        least=before + sure,
        most=np.where(is_supported, before, before + left),
    )


def rank_offers(catalogue: Catalogue, ranks: IntArray) -> IntArray:
    """Return the order in which offers are asked, 0: not at all; (n_cases, n_offers).

    `ranks` (n_cases, n_features) are as in `Walks`.
    """
    last = ranks.max(initial=0) + 1
    asked = np.where(ranks > 0, ranks, last)
    firsts = [asked[:, list(offer)].min(axis=1) for offer in catalogue.offers]
    columns = np.column_stack(firsts)
    return np.where(columns < last, columns, 0)


def cut_waterfall(
    ensemble: Ensemble, cases: LoggedCases, n_vendors: int
) -> tuple[IntArray, IntArray]:
    """Return labels and spends if each case had ended after so many vendors.

    The labels are those of our model, given the answers so far: the log does not say
    how the waterfall would have decided.
    """
    catalogue = ensemble.catalogue
    is_cut = cases.orders > n_vendors
    values = hide_offers(catalogue, cases.values, is_cut)
    is_bought = (cases.orders > 0) & ~is_cut
    charges = np.where(is_bought, charge_offers(catalogue, cases.values), 0)
    return label_known(ensemble, values), charges.sum(axis=1)


def charge_logged(catalogue: Catalogue, cases: LoggedCases) -> IntArray:
    """Return what each vendor charged in the log, (n_cases, n_offers).

    At the prices of the catalogue, each vendor once.
    """
    return np.where(cases.orders > 0, charge_offers(catalogue, cases.values), 0)


def split_saving(
    catalogue: Catalogue, cases: LoggedCases, replayed: ReplayedCases
) -> tuple[IntArray, IntArray]:
    """Return what stopping early and another order save on supported cases, (n_cases,).

    What we don't buy and the log bought after the last vendor that we buy is saved by
    stopping early. What it bought before that one is saved by the order: the vendor is
    passed over. Both are 0 for unsupported cases.
    """
    charges = charge_logged(catalogue, cases)
    is_ours = replayed.is_asked & (cases.orders > 0)
    last = np.where(is_ours, cases.orders, 0).max(axis=1)
    is_saved = ~replayed.is_asked & replayed.is_supported[:, None]
    saved = np.where(is_saved, charges, 0)
    is_after = cases.orders > last[:, None]
    early = np.where(is_after, saved, 0).sum(axis=1)
    return early, saved.sum(axis=1) - early


def make_losses(costs: FloatArray, cases: LoggedCases, labels: IntArray) -> FloatArray:
    """Return the loss of each label, NaN without an outcome; (n_cases,).

    `costs` (n_classes, n_classes): true class, then label.
    """
    is_known = (cases.outcomes != UNKNOWN) & (labels != UNKNOWN)
    losses: FloatArray = np.where(is_known, costs[cases.outcomes, labels], np.nan)
    return losses


def compare_labels(
    costs: FloatArray, cases: LoggedCases, replayed: ReplayedCases
) -> Mapping[str, FloatArray]:
    """Return errors and differences of each case, with bounds; (n_cases,) each.

    A label of an unsupported case may be any: so its loss lies between that of the best
    and of the worst one, and it may differ or not. Cases without a decision, or of
    losses without an outcome, have 0 throughout and don't count in `compared` and
    `judged`.
    """
    is_decided = cases.decisions != UNKNOWN
    ours = make_losses(costs, cases, replayed.labels)
    theirs = make_losses(costs, cases, cases.decisions)
    is_judged = ~np.isnan(theirs)
    lowest = costs[cases.outcomes].min(axis=1)
    highest = costs[cases.outcomes].max(axis=1)
    is_open = ~replayed.is_supported
    differs = is_decided & (replayed.labels != cases.decisions)
    gap = np.where(is_judged, ours - theirs, 0.0)
    may_worsen = is_judged & (highest > theirs)
    figures = {
        "compared": is_decided,
        "judged": is_judged,
        "loss_logged": np.where(is_judged, theirs, 0.0),
        "loss": np.where(is_judged, ours, 0.0),
        "loss_least": np.where(is_judged, np.where(is_open, lowest, ours), 0.0),
        "loss_most": np.where(is_judged, np.where(is_open, highest, ours), 0.0),
        "differs": differs,
        "differs_least": differs & ~is_open,
        "differs_most": np.where(is_open, is_decided, differs),
        "worse": gap > 0,
        "worse_least": (gap > 0) & ~is_open,
        "worse_most": np.where(is_open, may_worsen, gap > 0),
        "better": gap < 0,
    }
    return {name: np.asarray(column, np.float64) for name, column in figures.items()}
