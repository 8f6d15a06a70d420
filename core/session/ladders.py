"""Where a case stands on a ladder of panels: what predicts, and what may be bought."""

import numpy as np

from core import kernels
from core.arrays import FloatArray, IntArray
from core.model.ensemble import Ensemble
from core.model.panels import PanelLadder, to_chances
from core.model.routes import MAIN, Route
from core.model.stopping import expect_costs
from core.model.votes import TIE
from core.session.position import Position
from core.session.walks import Standing

# The policy that follows a route; rules for going on know the main panels alone.
ROUTED = "panels"


def ladder_of(ensemble: Ensemble) -> PanelLadder:
    """Return the panels of an ensemble that has some."""
    assert ensemble.panels is not None, "the policy needs them"
    return ensemble.panels


def find_predictor(position: Position) -> int:
    """Return the panel that predicts from what is known."""
    if "predictor" not in position.kept:
        status = position.case.status
        ladder = ladder_of(position.ensemble)
        is_known, is_gone = status == kernels.KNOWN, status == kernels.GONE
        found = ladder.find_panel(is_known, is_gone, find_part(position))
        position.kept["predictor"] = found
    number: int = position.kept["predictor"]
    return number


def route_of(position: Position) -> Route | None:
    """Return the route that is in force; other policies know the main panels alone."""
    route, state = ladder_of(position.ensemble).route, position.state
    if route is None or state.policy != ROUTED:
        return None
    return route if route.is_in_force(state.budget) else None


def find_part(position: Position) -> int:
    """Return the part whose panels a case is asked; `MAIN` before its root is known."""
    route = route_of(position)
    return MAIN if route is None else route.find_part(position.case.values)


def find_roots(position: Position) -> list[int]:
    """Return the features of the root, open ones first, where it is to be asked now."""
    route = route_of(position)
    if route is None:
        return []
    roots = list(route.split.feature_idxs)
    statuses = position.case.status[roots]
    is_open = statuses == kernels.OPEN
    is_lost = ~is_open & (statuses != kernels.KNOWN)
    if is_lost.any() or not is_open.any():
        return []
    still = [idx for idx, its_open in zip(roots, is_open, strict=True) if its_open]
    return still if position.prices[still[0]] <= position.remaining else []


def choose_by_part(position: Position) -> list[int]:
    """Return for each part the panel to buy, the root's price included."""
    route = route_of(position)
    assert route is not None, "parts are of a route"
    parts = np.unique(route.parts[route.parts != MAIN]).tolist()
    return [int(np.argmin(np.isinf(price_rests(position, one)))) for one in parts]


def find_logits(position: Position) -> FloatArray:
    """Return the log odds by the panel that predicts; (n_outputs,)."""
    if "logits" not in position.kept:
        ladder = ladder_of(position.ensemble)
        panel = ladder.panels[find_predictor(position)]
        values = position.case.values[None, :]
        position.kept["logits"] = panel.logits(values, ladder.starts)[0]
    logits: FloatArray = position.kept["logits"]
    return logits


def find_left(errors: FloatArray, now: int, then: int) -> float:
    """Return what share of the error a panel leaves of another's, at most all."""
    return float(min(errors[then] / errors[now], 1.0)) if errors[now] > 0 else 1.0


def find_risk(position: Position) -> float:
    """Return the error cost to be expected of what is known."""
    chances = to_chances(find_logits(position))
    return float(expect_costs(chances, position.ensemble.error_costs))


def find_open(position: Position, number: int) -> list[int]:
    """Return the features of a panel that have no answer yet, in its order."""
    status = position.case.status
    panel = ladder_of(position.ensemble).panels[number]
    return [idx for idx in panel.feature_idxs if status[idx] == kernels.OPEN]


def price_rests(position: Position, part: int | None = None) -> FloatArray:
    """Price of what is open of each panel of a part, in micro-units; (n_panels,).

    Infinity of panels of other parts, where what remains doesn't pay it, and where a
    panel can't do without a feature that came back without a value. Without a part it
    is the one that the case is in.
    """
    part = find_part(position) if part is None else part
    if f"rests of {part}" in position.kept:
        rests: FloatArray = position.kept[f"rests of {part}"]
        return rests
    ladder, catalogue = ladder_of(position.ensemble), position.ensemble.catalogue
    n_read, status = ladder.n_read, position.case.status[: ladder.n_read]
    is_open = ladder.members & (status == kernels.OPEN)
    amounts = is_open @ catalogue.costs[:n_read]
    for group_idx in np.flatnonzero(~position.case.is_group_paid).tolist():
        its_members = catalogue.group_idxs[:n_read] == group_idx
        amounts += catalogue.fees[group_idx] * is_open[:, its_members].any(axis=1)
    is_out = (ladder.needs & (status == kernels.GONE)).any(axis=1)
    is_out |= ~ladder.is_for(part) | (amounts > position.remaining)
    rests = position.kept[f"rests of {part}"] = np.where(is_out, np.inf, amounts)
    return rests


def stand(ensemble: Ensemble, logits: FloatArray, numbers: IntArray) -> Standing:
    """Return where sessions stand; (..., n_outputs) and (...), the panels used.

    The share known is that of what the best panel of its part gains on the class
    shares.
    """
    gains, best = ladder_of(ensemble).gains
    chances = to_chances(logits)
    first = 1 if logits.shape[-1] == 1 else 0
    return Standing(
        margins=2.0 * chances[..., first:] - 1.0,
        known_shares=(gains / np.maximum(best, TIE))[numbers],
        scores=logits,
        marks=numbers,
    )
