"""Replay closed cases from their logs: one policy, or champion and challenger.

The answer to a question that is not in the log is never guessed: the replay ends there.
The challenger asks nobody. Losses are compared given the same answers, spends where
each model's questions are all answered in the log.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from askless.core.catalogue.catalogue import UNSEEN, Catalogue, Feature
from askless.core.errors import OverBudgetError
from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from askless.core.session.answers import list_revealed
from askless.core.session.state import Aim, Answer, Forecast, State, StopRule
from askless.core.table.texts.categories import category_code


@dataclass(frozen=True, slots=True)
class AnswerLog:
    """Hold what is known of a case, by the features of one catalogue."""

    #: values known at the start, as in `Dataset.values`
    known: Mapping[int, float]
    #: the last answer to each feature that was asked or volunteered, with all that the
    #: feature was charged
    answers: Mapping[int, Answer]


@dataclass(frozen=True, slots=True)
class ReplayTerms:
    """Terms under which a case is replayed; all as in `machine.start`."""

    #: in micro-units; None: unlimited
    budget: int | None
    policy: str | None = None
    seed: int = 0
    stream: int = 0
    stop: StopRule | None = None
    aim: Aim | None = None


@dataclass(frozen=True)
class Replay:
    """How far a policy came with the answers of a log."""

    ensemble: Ensemble
    #: the session at its start, and after each question that the log answered
    states: tuple[State, ...]
    #: the feature of each of these questions, in order; a bundle's first one
    asked: tuple[int, ...]
    #: the feature that was to be asked next and is not in the log; None: the replay
    #: came to its end
    lacking: int | None

    @property
    def is_supported(self) -> bool:
        """Whether the log has all answers that the policy asks for."""
        return self.lacking is None

    @property
    def spent(self) -> int:
        """Return the charges at the prices of the ensemble, in micro-units."""
        return self.states[-1].spent

    @property
    def forecast(self) -> Forecast:
        """Return the prediction where the replay ended."""
        return machine.forecast(self.ensemble, self.states[-1])


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
    Each case then has both losses, and they are paired. The answers were chosen by the
    champion, or by whoever led the case: that favours the champion, if anybody. Answers
    to other questions of the challenger don't count for it.

    The spends are those of both models' own sessions under the budget of the case. They
    are known only where the log has all their answers (`replay_case`), so on cases on
    which the two ask alike. There are none for a case with an aim or a certified stop,
    which a model must be certified for.
    """
    log = log_case(case.state)
    known = [
        match_case(log, case.catalogue, rival.catalogue, case.texts) for rival in rivals
    ]
    forecasts = [
        forecast_known(ensemble, logged_case, case.state)
        for ensemble, logged_case in zip(rivals, known, strict=True)
    ]
    first, other = (
        compute_loss(rivals, ensemble, forecast, case.label)
        for ensemble, forecast in zip(rivals, forecasts, strict=True)
    )
    return SilentPlay((first, other), compare_spends(rivals, known, case.state))


def forecast_known(ensemble: Ensemble, case: AnswerLog, state: State) -> Forecast:
    """Return a model's forecast from all known values of a case.

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


def compute_loss(
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
    """Return the spends of both models' own sessions; None where an answer is lacking.

    Each model asks by the policy that it prefers at the budget of the case.
    """
    if state.aim is not None or state.stop.disagreement is not None:
        return None
    terms = ReplayTerms(state.budget, None, state.seed, state.stream, state.stop)
    played = [
        replay_case(ensemble, logged_case, terms)
        for ensemble, logged_case in zip(rivals, known, strict=True)
    ]
    if not all(replayed.is_supported for replayed in played):
        return None
    return played[0].spent, played[1].spent


def log_case(state: State) -> AnswerLog:
    """Return a session's log of answers.

    A value that was corrected counts as corrected, one known at the start too. Pending
    results stay ordered.
    """
    known = {idx: state.values[idx] for idx in state.known}
    charged = dict.fromkeys(range(len(state.outcomes)), 0)
    for answer in state.history:
        charged[answer.feature_idx] += answer.charged
    answers = {}
    for idx, outcome in enumerate(state.outcomes):
        if outcome is None or outcome == "known" or idx in known:
            continue
        value = state.values[idx] if outcome == "value" else None
        answers[idx] = Answer(idx, outcome, value, charged[idx])
    return AnswerLog(known, answers)


def match_case(
    case: AnswerLog,
    source: Catalogue,
    target: Catalogue,
    texts: Mapping[str, str] | None = None,
) -> AnswerLog:
    """Return the log of a case by the features of another catalogue.

    Features are matched by name. Features that the other catalogue lacks, or has with
    another type, are left out.

    Parameters
    ----------
    source, target : Catalogue
        The one that the case is logged by, and the other.
    texts : mapping of str to str, optional
        Category texts, by feature, that `source` has no code for.
    """
    places = {}
    for idx, feature in enumerate(source.features):
        place = target.feature_idxs.get(feature.name)
        if place is not None and target.features[place].type == feature.type:
            places[idx] = place

    def translate(idx: int, value: float) -> float:
        feature = source.features[idx]
        text = (texts or {}).get(feature.name)
        return translate_value(feature, target.features[places[idx]], value, text)

    known = {
        places[idx]: translate(idx, value)
        for idx, value in case.known.items()
        if idx in places
    }
    answers = {}
    for idx, answer in case.answers.items():
        if idx in places:
            value = None if answer.value is None else translate(idx, answer.value)
            answers[places[idx]] = replace(answer, feature_idx=places[idx], value=value)
    return AnswerLog(known, answers)


def translate_value(
    feature: Feature, other: Feature, value: float, text: str | None
) -> float:
    """Return a value of one feature as a value of another of the same type.

    Codes of categories differ between catalogues. `text` is that of an unseen one;
    without it an unseen category stays unseen.
    """
    if feature.type != "category":
        return value
    if value != UNSEEN:
        text = feature.categories[int(value)]
    return UNSEEN if text is None else category_code(other, text)


def replay_case(ensemble: Ensemble, case: AnswerLog, terms: ReplayTerms) -> Replay:
    """Play a session on the logged answers of a case, up to its end.

    The end is the first advice to stop, or that nothing is left to ask. A question is
    given its logged outcome, whatever it is: what was refused is refused again. The
    members of a bundle are answered together; all of them must be in the log.

    Parameters
    ----------
    ensemble : Ensemble
        It charges by its own catalogue: a case at other prices needs an ensemble at
        these prices.
    case : AnswerLog
        By the features of this ensemble (`match_case`).
    """
    state = machine.start(
        ensemble,
        terms.budget,
        terms.seed,
        case.known,
        terms.policy,
        terms.stop,
        terms.stream,
        aim=terms.aim,
    )
    states: list[State] = [state]
    asked: list[int] = []
    while state.stop_reason is None and state.next_feature_idx is not None:
        feature_idx = state.next_feature_idx
        revealed = list_revealed(ensemble.catalogue, state, feature_idx)
        lacking = [idx for idx in revealed if idx not in case.answers]
        if lacking:
            return Replay(ensemble, tuple(states), tuple(asked), lacking[0])
        # Members with a value come first: they are charged, and missing ones are not.
        answers = sorted(
            (case.answers[idx] for idx in revealed),
            key=lambda answer: answer.value is None,
        )
        state = machine.observe(ensemble, state, answers)
        states.append(state)
        asked.append(feature_idx)
    return Replay(ensemble, tuple(states), tuple(asked), None)
