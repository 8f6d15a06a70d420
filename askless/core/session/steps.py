"""Steps show how each answer changed the prediction, and how the next one may."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from typing import Literal

import numpy as np

from askless.core.arrays import IntArray, evenly_spaced, look_up
from askless.core.kernels import MAX_LOGIT
from askless.core.model.ensemble import Ensemble
from askless.core.model.values import possible_values
from askless.core.model.votes import TIE
from askless.core.session import machine
from askless.core.session.answers import take_answer
from askless.core.session.policies import POLICIES
from askless.core.session.position import Position
from askless.core.session.probability import decide_label
from askless.core.session.state import Answer, Charge, Outcome, State, StopRule

# Answers that are tried for how far the next one may move the prediction.
N_TRIED = 6


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """One answer, and the probability of each class before and after it."""

    feature_idx: int
    outcome: Outcome | Literal["known"]
    #: as in `Dataset.values`; None: it brought no value
    value: float | None
    before: tuple[float, ...]
    after: tuple[float, ...]

    def log_odds(self, class_idx: int) -> float:
        """Return by how much the log odds of a class rose; they add up over steps."""
        return to_log_odds(self.after[class_idx]) - to_log_odds(self.before[class_idx])


@dataclass(frozen=True, slots=True)
class Prospect:
    """A class's probability now, and after each answer that may come next.

    `low` and `high` are the least and the greatest of all these. `now` is one of them:
    an answer may also not come.
    """

    class_idx: int
    now: float
    low: float
    high: float
    #: values that were tried, as in `Dataset.values`, ascending, each with the
    #: probability of the class after it
    answers: tuple[tuple[float, float], ...] = ()
    #: whether none of these answers changes the label
    keeps_label: bool = False


def to_log_odds(chance: float) -> float:
    """Return the log odds of a chance, at most `MAX_LOGIT` either way."""
    if chance <= 0.0 or chance >= 1.0:
        return math.copysign(MAX_LOGIT, chance - 0.5)
    return math.log(chance / (1.0 - chance))


def trace_answers(ensemble: Ensemble, state: State) -> list[AnswerStep]:
    """Return the effect of each answer on the prediction, in order of arrival.

    The session is played again under its budget of now. What an answer did depends on
    what was known before it: in another order the steps are others, and so is the
    share of each, but not their sum. Values known at the start come first, in the
    order of the catalogue; one that was corrected counts from its correction on.
    """
    if state.is_led and len(state.step_chances) == 1 + count_steps(state):
        known = [
            Answer(i, "value", state.values[i]) for i in list_unchanged_known(state)
        ]
        pairs = zip((*known, *state.history), pairwise(state.step_chances), strict=True)
        return [
            AnswerStep(
                answer.feature_idx,
                answer.outcome if place >= len(known) else "known",
                answer.value,
                *chances,
            )
            for place, (answer, chances) in enumerate(pairs)
        ]
    # Of a session that is led, the first steps may be kept.
    kept = state.step_chances if state.is_led else ()
    before = kept[0] if kept else find_chances(ensemble, reopen(state, ensemble, 0))
    steps: list[AnswerStep] = []
    for played, feature_idx, outcome in replay_steps(ensemble, state, len(kept) - 1):
        place = len(steps) + 1
        after = kept[place] if place < len(kept) else find_chances(ensemble, played)
        value = played.values[feature_idx]
        known_value = None if math.isnan(value) else value
        steps.append(AnswerStep(feature_idx, outcome, known_value, before, after))
        before = after
    return steps


def find_chances(ensemble: Ensemble, state: State) -> tuple[float, ...]:
    """Return the probability of each class now: the one kept, or a forecast."""
    if state.is_led and len(state.step_chances) == 1 + count_steps(state):
        return state.step_chances[-1]
    return machine.forecast(ensemble, state).probabilities


def count_steps(state: State) -> int:
    """Return how many steps a session has."""
    return len(list_unchanged_known(state)) + len(state.history)


def add_step_chances(ensemble: Ensemble, state: State) -> State:
    """Return the state with `step_chances` up to its last answer.

    If the session is led (`State.is_led`), its forecast now is what playing it again
    would give, so one missing step is appended; for more it is played again from the
    last that is kept. Any other session keeps no steps, since `trace_answers` plays it
    again each time.
    """
    n_steps = count_steps(state)
    if not state.is_led or len(state.step_chances) == 1 + n_steps:
        return state
    chances = state.step_chances
    if len(chances) == n_steps and not state.is_ended:
        chances = (*chances, machine.forecast(ensemble, state).probabilities)
    else:
        steps = trace_answers(ensemble, state)
        chances = (steps[0].before, *(step.after for step in steps))
    return Position.of(ensemble, state).decide(step_chances=chances)


def replay_steps(
    ensemble: Ensemble, state: State, n_kept: int
) -> Iterator[tuple[State, int, Outcome | Literal["known"]]]:
    """Yield a session after each value known at the start and each answer.

    During the first `n_kept` steps all values of these steps that were known at the
    start are known already.
    """
    known = list_unchanged_known(state)
    played = reopen(state, ensemble, min(max(n_kept, 0), len(known)))
    for place, feature_idx in enumerate(known, 1):
        if place > n_kept:
            played = reopen(state, ensemble, place)
        yield played, feature_idx, "known"
    for answer in state.history:
        played = apply_answer_to_prediction(
            ensemble, played, replace(answer, charged=0), state.charges
        )
        yield played, answer.feature_idx, answer.outcome


def apply_answer_to_prediction(
    ensemble: Ensemble, state: State, answer: Answer, standing: Sequence[Charge]
) -> State:
    """Return the state after an answer, as far as the prediction depends on it.

    `standing` are the session's charges that were not reversed; only these count
    towards the budget. If the policy has no votes, the prediction depends on what is
    known alone, so the next question is not decided.
    """
    after = take_answer(ensemble.catalogue, replace(state, budget=None), answer)
    charged = {(charge.feature_idx, charge.kind) for charge in after.charges}
    charges = tuple(
        charge for charge in standing if (charge.feature_idx, charge.kind) in charged
    )
    session = replace(after, budget=state.budget, charges=charges)
    has_votes = POLICIES[state.policy].has_votes
    return machine.decide_next_step(ensemble, session) if has_votes else session


def list_unchanged_known(state: State) -> list[int]:
    """Return the features known at the start whose value nobody has changed since."""
    answered = {answer.feature_idx for answer in state.history}
    return [idx for idx in state.known if idx not in answered]


def reopen(state: State, ensemble: Ensemble, n_known: int) -> State:
    """Open a session as another was opened, with the first of its known values."""
    opened = machine.start(
        ensemble,
        state.budget,
        state.seed,
        {idx: state.values[idx] for idx in list_unchanged_known(state)[:n_known]},
        state.policy,
        StopRule(certain=state.stop.certain, spend=state.stop.spend),
        state.stream,
        aim=state.aim,
    )
    return replace(opened, known=state.known)


def compute_prospect(
    ensemble: Ensemble, state: State, feature_idx: int
) -> Prospect | None:
    """Return the chances that one answer alone may lead to; None: it changes none.

    The probability is that of the second of two classes, else of the predicted class.
    Values are those that the model tells apart, of numbers some of them.
    """
    # As the forecast of now, it depends on the decision.
    key = "prospect", feature_idx, state.n_draws, state.is_decided
    compute = partial(try_answers, ensemble, state, feature_idx)
    return look_up(Position.of(ensemble, state).kept, key, compute)


def try_answers(ensemble: Ensemble, state: State, feature_idx: int) -> Prospect | None:
    """Return the result of `compute_prospect`, without its cache."""
    policy, position = POLICIES[state.policy], Position.of(ensemble, state)
    now = machine.forecast(ensemble, state).probabilities
    class_idx = reported_class(now)
    values = possible_values(ensemble, feature_idx, has_votes=policy.has_votes)
    if not values.size:
        return None
    values = values[choose_tried(values.size)]
    predicted = policy.predict_after(position, feature_idx, values)
    after = predicted[:, class_idx]
    if np.ptp(after) <= TIE:
        return None
    labels = decide_label(ensemble, np.vstack((now, predicted)))
    chance, chances = now[class_idx], after.tolist()
    ends = min(chance, *chances), max(chance, *chances)
    answers = zip(values.tolist(), chances, strict=True)
    keeps_label = bool((labels == labels[0]).all())
    return Prospect(class_idx, chance, *ends, tuple(answers), keeps_label)


@cache
def choose_tried(n_values: int) -> IntArray:
    """Return the positions of the values that are tried."""
    return evenly_spaced(n_values, N_TRIED)


def reported_class(chances: Sequence[float]) -> int:
    """Return the class to tell of: of two the second, of more the most probable."""
    return 1 if len(chances) == 2 else int(np.argmax(chances))
