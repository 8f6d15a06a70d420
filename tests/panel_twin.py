"""Sessions on panels as their naive twin reads them."""

import math

from askless.core.model.ensemble import Ensemble
from askless.core.session.state import State
from tests import naive_panels as naive

STATUSES = {None: "open", "known": "known", "value": "known", "ordered": "coming"}


def naive_status(ensemble: Ensemble, state: State) -> list[str]:
    """Whether each feature is open, known, to come or gone, for the twin.

    What is missing as training saw it is known.
    """
    status = [STATUSES.get(outcome, "gone") for outcome in state.outcomes]
    lacking = set().union(*(panel.may_lack for panel in ensemble.panels.panels))
    for idx, outcome in enumerate(state.outcomes):
        if outcome == "unavailable" and idx in lacking:
            status[idx] = "known"
        if idx in state.known and not math.isnan(state.values[idx]):
            status[idx] = "known"
    return status


def naive_panels(ensemble: Ensemble) -> list[dict]:
    """Panels as the twin knows them."""
    return [
        {"order": list(panel.feature_idxs), "loss": panel.loss, "rises": panel.rises}
        for panel in ensemble.panels.panels
    ]


def naive_choice(ensemble: Ensemble, state: State) -> list[int]:
    """What the twin would still buy."""
    catalogue = ensemble.catalogue
    groups = {
        group.name: group.fee if group.price is None else group.price
        for group in catalogue.groups
    }
    features = [(feature.cost, feature.group) for feature in catalogue.features]
    bundles = {group.name for group in catalogue.groups if group.price is not None}
    charged = {catalogue.features[charge.feature_idx].group for charge in state.charges}
    return naive.choose(
        naive_panels(ensemble),
        (features, groups, bundles),
        charged - {None},
        naive_status(ensemble, state),
        state.remaining,
    )


def naive_known(ensemble: Ensemble, state: State) -> set[int]:
    """Features that the twin takes as known."""
    status = naive_status(ensemble, state)
    return {idx for idx, standing in enumerate(status) if standing == "known"}
