"""Replay a closed case with champion and challenger.

The challenger asks nobody. Losses are compared given the same answers, spends where
each model's questions are all answered in the log.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from askless.core.catalogue.catalogue import Catalogue
from askless.core.errors import OverBudgetError
from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from askless.core.session.state import Forecast, State
from askless.core.simulation.replays import (
    AnswerLog,
    ReplayTerms,
    log_case,
    match_case,
    replay,
)


class Rivals(NamedTuple):
    """A champion, and the challenger that plays silently beside it."""

    champion: Ensemble
    challenger: Ensemble


@dataclass(frozen=True)
class ClosedCase:
    """The closed session of a case, by the catalogue of its model, and its outcome."""

    catalogue: Catalogue
    state: State
    #: the true class's label
    label: str
    #: categories that training did not see, by feature
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SilentPlay:
    """What champion and challenger, in this order, come to on one case."""

    #: each in [0, 1]: 1 for the dearest error, without error costs for any
    losses: tuple[float, float]
    #: in micro-units; None: one of them asks for what the log has no answer to
    spends: tuple[int, int] | None


def play_silently(rivals: Rivals, case: ClosedCase) -> SilentPlay:
    """Play both models on a case from its logged answers.

    Notes
    -----
    The losses are those of both models' labels given *all* that was learnt of the case.
    So each case has them, and they are paired. The answers were chosen by the champion,
    or by whoever led the case: that favours the champion, if anybody. What the
    challenger would have learnt by other questions does not count for it.

    The spends are those of both models' own sessions under the budget of the case. They
    are known only where the log has all their answers (`replay`), so on cases on which
    the two ask alike. There are none for a case with an aim or a certified stop, which
    a model must be certified for.
    """
    known = [by_catalogue(case, rival.catalogue) for rival in rivals]
    forecasts = [
        forecast_known(ensemble, logged_case, case.state)
        for ensemble, logged_case in zip(rivals, known, strict=True)
    ]
    first, other = (
        loss_of(rivals, ensemble, forecast, case.label)
        for ensemble, forecast in zip(rivals, forecasts, strict=True)
    )
    return SilentPlay((first, other), compare_spends(rivals, known, case.state))


def by_catalogue(case: ClosedCase, catalogue: Catalogue) -> AnswerLog:
    """Return what is known of a case by the features of a model."""
    return match_case(log_case(case.state), case.catalogue, catalogue, case.texts)


def forecast_known(ensemble: Ensemble, case: AnswerLog, state: State) -> Forecast:
    """Return what a model predicts from all that is known of a case, in any order.

    Its prices may be others than the case's. Where its budget does not pay for all that
    is known, the budget does not count.
    """
    # Values first: in a bundle they pay for those that came without one.
    answers = sorted(case.answers.values(), key=lambda answer: answer.value is None)
    terms = state.seed, case.known
    policy = ensemble.policy_at(state.budget)
    try:
        begun = machine.start(ensemble, state.budget, *terms, policy)
        answered = machine.observe(ensemble, begun, answers, is_insistent=True)
    except OverBudgetError:
        begun = machine.start(ensemble, None, *terms, policy)
        answered = machine.observe(ensemble, begun, answers, is_insistent=True)
    return machine.forecast(ensemble, answered)


def loss_of(
    rivals: Rivals, ensemble: Ensemble, forecast: Forecast, label: str
) -> float:
    """Return the loss of a forecast, by the champion's error costs if it has any.

    1 is the cost of the dearest error. A label that the champion does not know costs
    as much.
    """
    predicted = ensemble.classes[forecast.label].label
    if predicted == label:
        return 0.0
    costs = rivals.champion.error_costs
    labels = [class_label.label for class_label in rivals.champion.classes]
    if costs is None or predicted not in labels or label not in labels:
        return 1.0
    cost = costs[labels.index(label)][labels.index(predicted)]
    return float(cost / np.max(costs))


def compare_spends(
    rivals: Rivals, known: list[AnswerLog], state: State
) -> tuple[int, int] | None:
    """Return what both models' own sessions cost; None where the log lacks an answer.

    Each model asks by the policy that it prefers at the budget of the case.
    """
    if state.aim is not None or state.stop.disagreement is not None:
        return None
    terms = ReplayTerms(state.budget, None, state.seed, state.stream, state.stop)
    played = [
        replay(ensemble, logged_case, terms)
        for ensemble, logged_case in zip(rivals, known, strict=True)
    ]
    if not all(replayed.is_supported for replayed in played):
        return None
    return played[0].spent, played[1].spent
