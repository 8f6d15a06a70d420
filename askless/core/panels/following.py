"""Play stopping rules on held-out rows feature by feature, as sessions do."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.catalogue.catalogue import NO_GROUP, Catalogue
from askless.core.model.ladder.panels import Panel


class Walkers(NamedTuple):
    """Rows with each panel's risks and losses; panels in the order of preference."""

    catalogue: Catalogue
    panels: Sequence[Panel]
    #: (n_rows, n_features), cells without a value: asked, and not charged
    is_missing: BoolArray
    #: (n_panels, n_rows), expected error cost
    risks: FloatArray
    #: (n_panels, n_rows), actual error cost
    losses: FloatArray


def follow_rule(
    walkers: Walkers, targets: IntArray, thresholds: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return each row's spend, in micro-units, and its error cost at the end.

    A row begins with nothing known. On the way to a panel it is judged by each panel
    that its features complete, and may end there; so it spends less than by jumps from
    panel to panel, as the rule was learned. `targets` and `thresholds` (n_panels,) are
    those of a rule.
    """
    n_rows = walkers.is_missing.shape[0]
    spends, losses = np.zeros(n_rows), np.zeros(n_rows)
    # Rows with the same known features go on together.
    open_ends = [(np.arange(n_rows), frozenset[int]())]
    while open_ends:
        rows, known = open_ends.pop()
        now = find_preferred_panel(walkers.panels, known)
        target = int(targets[now])
        goes_on = walkers.risks[now, rows] > thresholds[now]
        if target == now:
            goes_on[:] = False
        ends, rows = rows[~goes_on], rows[goes_on]
        losses[ends] = walkers.losses[now, ends]
        if not rows.size:
            continue
        target_idxs = walkers.panels[target].feature_idxs
        asked = next(idx for idx in target_idxs if idx not in known)
        revealed = reveal_with(walkers.catalogue, asked, known)
        spends[rows] += price_for_rows(walkers, rows, known, revealed)
        open_ends.append((rows, known.union(revealed)))
    return spends, losses


def find_preferred_panel(panels: Sequence[Panel], known: frozenset[int]) -> int:
    """Return the preferred panel whose features are all known."""
    return next(
        n for n, panel in enumerate(panels) if known.issuperset(panel.feature_idxs)
    )


def reveal_with(catalogue: Catalogue, asked: int, known: frozenset[int]) -> list[int]:
    """Return a feature, or all members of its bundle that are not known yet."""
    if not catalogue.is_bundled[asked]:
        return [asked]
    members = np.flatnonzero(catalogue.group_idxs == catalogue.group_idxs[asked])
    return [idx for idx in members.tolist() if idx not in known]


def price_for_rows(
    walkers: Walkers, rows: IntArray, known: frozenset[int], revealed: list[int]
) -> FloatArray:
    """Return each row's price of features that are revealed together; (n_rows,).

    In micro-units. Missing cells cost nothing; the group's fee is due with the first
    member that is there.
    """
    catalogue = walkers.catalogue
    is_there = ~walkers.is_missing[rows][:, revealed]
    costs = catalogue.costs[revealed].astype(np.float64)
    amounts: FloatArray = is_there.astype(np.float64) @ costs
    group = int(catalogue.group_idxs[revealed[0]])
    if group != NO_GROUP:
        members = [idx for idx in known if catalogue.group_idxs[idx] == group]
        is_paid = (~walkers.is_missing[rows][:, members]).any(axis=1)
        amounts += catalogue.fees[group] * (is_there.any(axis=1) & ~is_paid)
    return amounts
