"""Small ensembles of any hypotheses."""

import math

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.session import machine
from tests import twins
from tests.sessions import NEVER, answer_from_row, observe
from tests.small import ensemble_of

NAN = math.nan


def plain(hypotheses, n_classes=3, costs=None, **fields):
    """An ensemble on number features of cost 1 (micro-unit)."""
    n_features = 1 + max(
        f for hypothesis in hypotheses for f in hypothesis.feature_idxs
    )
    costs = costs or [1] * n_features
    features = (Feature(f"f{i}", cost=cost) for i, cost in enumerate(costs))
    return ensemble_of(hypotheses, Catalogue(tuple(features)), n_classes, **fields)


def as_row(values) -> list:
    """A row as the naive functions take it."""
    return [None if value != value else value for value in values]


def play(ensemble, values, budget, policy, seed, stream):
    """Answer a session as a row does, to its end; the state and the order asked."""
    state = machine.start(ensemble, budget, seed, {}, policy, NEVER, stream)
    return answer_from_row(ensemble, state, values)


# Certainty, by brute force.


def answers_to(ensemble, state, idx):
    """Every state that an answer about a feature can lead to."""
    for value in twins.all_options(ensemble)[idx]:
        if value is None:
            yield observe(ensemble, state, idx, "unavailable")
        else:
            yield observe(ensemble, state, idx, "value", value)


def later_states(ensemble, state):
    """Every state that a session can still come to, this one included.

    Pending results (the rest of a bundle) come back first.
    """
    yield state
    following = state.pending or (state.next_feature_idx,)
    if following[0] is not None:
        for after in answers_to(ensemble, state, following[0]):
            yield from later_states(ensemble, after)


def said(ensemble, state):
    forecast = machine.forecast(ensemble, state)
    return forecast.vote, forecast.label
