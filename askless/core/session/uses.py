"""Decide whether a feature can still change the prediction."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from askless.core import kernels
from askless.core.arrays import look_up
from askless.core.errors import UselessAnswerError
from askless.core.model.ensemble import Ensemble
from askless.core.session.answers import take_answer
from askless.core.session.policies import POLICIES
from askless.core.session.position import Position
from askless.core.session.state import Answer, State


def refuse_useless(ensemble: Ensemble, before: State, after: State) -> None:
    """Raise `UselessAnswerError` for a new charge that can't change the prediction.

    New charges are those of `after` that `before` lacks. The feature asked is never
    refused, nor what is free. A bundle is useful if one member is. A miss is judged by
    what a value would have changed.
    """
    for charge in after.charges[len(before.charges) :]:
        idx = charge.feature_idx
        members = ensemble.catalogue.offer_of(idx)
        if before.next_feature_idx in members or not charge.amount:
            continue
        is_of_use = (
            can_use(ensemble, before, idx)
            if charge.kind == "miss"
            else is_any_of_use(ensemble, after, members)
        )
        if not is_of_use:
            raise UselessAnswerError(
                ensemble.catalogue.features[idx].name, charge.amount
            )


def can_use(ensemble: Ensemble, state: State, feature_idx: int) -> bool:
    """Return whether the answer of an open feature could change what is predicted.

    `observe` refuses to charge useless answers. The feature asked is always of use.
    """
    members = ensemble.catalogue.offer_of(feature_idx)
    if state.next_feature_idx in members:
        return True
    if not POLICIES[state.policy].asks_alike:
        return can_use_once_known(ensemble, state, feature_idx)
    key = state.policy, feature_idx, "use"
    decide = partial(can_use_once_known, ensemble, state, feature_idx)
    return look_up(Position.of(ensemble, state).shared, key, decide)


def can_use_once_known(ensemble: Ensemble, state: State, feature_idx: int) -> bool:
    """Return the result of `can_use` for a feature that is not asked."""
    members = ensemble.catalogue.offer_of(feature_idx)
    # Any value will do: what counts is that the feature is known.
    answer = Answer(feature_idx, "value", 0.0)
    # Without a budget, since the answer may be too dear; with it again for the policy.
    after = take_answer(ensemble.catalogue, replace(state, budget=None), answer)
    return is_any_of_use(ensemble, replace(after, budget=state.budget), members)


def is_any_of_use(ensemble: Ensemble, after: State, members: tuple[int, ...]) -> bool:
    """Return whether one of some features can change what is predicted."""
    policy, position = POLICIES[after.policy], Position.of(ensemble, after)
    return any(policy.can_use(position, member) for member in members)


class OpenFeatures(NamedTuple):
    """Open features that may be answered instead of the one asked, and the useless."""

    #: what the model reads and what remains pays, taken alone
    offered: list[int]
    #: what can't change the prediction
    useless: list[int]


def sort_open_features(ensemble: Ensemble, state: State) -> OpenFeatures:
    """Sort open features into those that are offered and those of no use.

    A useful feature that is too dear is in neither list; both are empty once a session
    has ended.
    """
    features = OpenFeatures([], [])
    is_affordable = Position.of(ensemble, state).beyond.is_affordable
    for idx, outcome in enumerate(state.outcomes):
        if outcome is not None or state.is_ended:
            continue
        if not ensemble.is_used[idx]:
            features.useless.append(idx)
        elif is_affordable[idx]:
            is_of_use = can_use(ensemble, state, idx)
            (features.offered if is_of_use else features.useless).append(idx)
    return features


def list_unanswered(ensemble: Ensemble, state: State) -> list[int]:
    """Return the features that the model reads and nobody has answered yet."""
    is_open = Position.of(ensemble, state).case.status == kernels.OPEN
    return [int(idx) for idx in np.flatnonzero(is_open & ensemble.is_used)]
