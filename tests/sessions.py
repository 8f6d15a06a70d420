"""Small ensembles, and sessions on them answer by answer; for all tests of sessions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.kernels.sessions.draws import draw_hypothesis
from askless.core.model.ensemble import Ensemble
from askless.core.model.hypotheses import Stump
from askless.core.session import machine
from askless.core.session.policies import POLICIES
from askless.core.session.position import Position
from askless.core.session.state import Answer, Outcome, State, StopRule
from askless.core.table.dataset import ClassLabel
from tests.small import ensemble_of

CLASSES = (ClassLabel("0", "no"), ClassLabel("1", "yes"))
FEE = Group("blood", fee=20)
BUNDLE = Group("echo", price=90)
NEVER = StopRule(certain=False)


def small_ensemble(
    costs: Sequence[int],
    hypotheses: Sequence[tuple[int, float]] | None = None,
    members: Mapping[int, Group] | None = None,
    **fields: Any,
) -> Ensemble:
    """One number feature per cost; hypotheses are (feature, signed alpha), cut at 0.5.

    By default one hypothesis of alpha 1 for each feature.
    """
    members = members or {}
    if hypotheses is None:
        hypotheses = [(idx, 1.0) for idx in range(len(costs))]
    features = tuple(
        Feature(
            f"f{idx}", cost=cost, group=members[idx].name if idx in members else None
        )
        for idx, cost in enumerate(costs)
    )
    stumps = [Stump(idx, 0.5, (1 if alpha > 0 else -1,)) for idx, alpha in hypotheses]
    catalogue = Catalogue(features, tuple(dict.fromkeys(members.values())))
    fields = {"alphas": tuple(abs(alpha) for _, alpha in hypotheses)} | fields
    return ensemble_of(stumps, catalogue, **fields)


def bill_by_call(ensemble: Ensemble, per_call: Iterable[int]) -> Ensemble:
    """The ensemble where some features, and the bundles that they are of, miss."""
    catalogue, per_call = ensemble.catalogue, {*per_call}
    bundles = {
        catalogue.features[idx].group for idx in per_call if catalogue.is_bundled[idx]
    }
    features = tuple(
        replace(feature, billing="per_call")
        if feature.group in bundles or idx in per_call
        else feature
        for idx, feature in enumerate(catalogue.features)
    )
    groups = tuple(
        replace(group, billing="per_call") if group.name in bundles else group
        for group in catalogue.groups
    )
    billed = replace(catalogue, features=features, groups=groups)
    return replace(ensemble, catalogue=billed)


def begun(
    costs: Sequence[int],
    hypotheses: Sequence[tuple[int, float]] | None = None,
    members: Mapping[int, Group] | None = None,
    budget: int | None = 100,
    **options: Any,
) -> tuple[Ensemble, State]:
    """A small ensemble, and a session of it that has just begun."""
    ensemble = small_ensemble(costs, hypotheses, members)
    return ensemble, machine.start(ensemble, budget, **options)


def draw_many(ensemble: Ensemble, numbers: FloatArray) -> IntArray:
    """Hypotheses drawn with probability alpha/sum(alpha), with replacement."""
    return np.array(
        [draw_hypothesis(number, ensemble.alpha_sums) for number in numbers]
    )


def observe(
    ensemble: Ensemble,
    state: State,
    feature_idx: int,
    outcome: Outcome,
    value: float | None = None,
) -> State:
    """Give one answer, of use or not."""
    answers = [Answer(feature_idx, outcome, value)]
    return machine.observe(ensemble, state, answers, is_insistent=True)


def observe_all(ensemble: Ensemble, state: State, *answers: tuple) -> State:
    """Give answers one by one, each as (feature, outcome) with a value or none."""
    for answer in answers:
        state = observe(ensemble, state, *answer)
    return state


def observe_value(
    ensemble: Ensemble, state: State, feature_idx: int, value: float | None
) -> State:
    """Answer with a value, or `unavailable` where it is missing."""
    if value is None or math.isnan(value):
        return observe(ensemble, state, feature_idx, "unavailable")
    return observe(ensemble, state, feature_idx, "value", value)


def is_certain(ensemble: Ensemble, state: State) -> bool:
    return POLICIES[state.policy].is_certain(Position.of(ensemble, state))


def answer_from_row(
    ensemble: Ensemble, state: State, row: Sequence[float]
) -> tuple[State, list[int]]:
    """Answer from a row what is worth it; the last state, and the features asked.

    A bundle is revealed whole: members that are there pay, the missing ones don't.
    """
    asked: list[int] = []
    while (question := machine.next_question(ensemble, state)) is not None:
        if state.stop_reason == "not_worth_it":
            break
        revealed = sorted(question.feature_idxs)
        asked += revealed
        answers = [
            Answer(idx, "unavailable")
            if math.isnan(row[idx])
            else Answer(idx, "value", float(row[idx]))
            for idx in sorted(revealed, key=lambda idx: math.isnan(row[idx]))
        ]
        state = machine.observe(ensemble, state, answers)
    return state, asked


BLOOD = {0: FEE, 1: FEE}


ECHO = dict.fromkeys(range(3), BUNDLE)


def charged(state: State) -> dict[int, int]:
    return {charge.feature_idx: charge.amount for charge in state.charges}
