"""The questions of a session as a tree: which answers lead to which question."""

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from askless.core.arrays import FloatArray, evenly_spaced
from askless.core.model.ensemble import Ensemble
from askless.core.model.values import list_cuts, middle_values, possible_values
from askless.core.session import machine
from askless.core.session.policies import POLICIES
from askless.core.session.state import Answer, Forecast, Question, State, StopReason

# Values of a number that are tried; between two that differ the border is searched.
N_TRIED = 17
# Places that are distinguished on a number without cuts.
N_PLACES = 129
# Answers lead the same way if these agree: the next feature; where nothing more is
# asked, why, and the label.
Key = tuple[int | None, StopReason | None, int | None]


@dataclass(frozen=True, slots=True)
class FlowBounds:
    """How large a flow may get."""

    #: questions, one after the other, from the first whose answers part
    depth: int = 3
    n_nodes: int = 60


@dataclass(frozen=True, slots=True)
class FlowAnswers:
    """Answers to one question that lead the same way."""

    #: of a number: above the first, up to the second; infinite at the ends
    ranges: tuple[tuple[float, float], ...] = ()
    #: of a category its codes, of a boolean 0 and 1
    codes: tuple[int, ...] = ()
    #: whether no answer leads there too
    has_none: bool = False
    #: the class that `chances` are of: the label where nothing more is asked
    class_idx: int = 0
    #: least and greatest chance of that class after one of these; (low, high)
    chances: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class FlowNode:
    """The state of a session after some answers."""

    #: what leads here from the node before; None at the start
    answers: FlowAnswers | None
    #: None where nothing is asked any more
    question: Question | None
    stop_reason: StopReason | None
    #: in micro-units
    spent: int
    forecast: Forecast
    #: empty at an end, and where a question's answers are not followed any more
    children: tuple["FlowNode", ...] = ()

    @property
    def goes_on(self) -> bool:
        """Whether the session goes on beyond this node of the flow."""
        return self.question is not None and not self.children


def compute_flow(
    ensemble: Ensemble, budget: int | None, bounds: FlowBounds | None = None
) -> FlowNode:
    """Return the tree of a session's questions: what is asked after which answers.

    Answers lead the same way where the next question is the same, or if there is none,
    the reason and the label. Of two classes the chances on the way are of the positive
    one, of several of the label before the question. The tree below several such
    answers is computed for the answer of median chance. In a bundle only the first
    feature's answers are distinguished; the others are typical values. The tree grows
    level by level, until the next question's answers might be too many.

    Parameters
    ----------
    budget : int or None
        In micro-units; None: unlimited. Policy, seed and stop rule are those that
        `machine.start` has by itself.
    """
    bounds = bounds or FlowBounds()
    finder = Finder(ensemble)
    root = Draft(machine.start(ensemble, budget), None)
    waiting, n_nodes = deque([(root, 0)]), 1
    while waiting:
        draft, depth = waiting.popleft()
        question = question_to_ask(ensemble, draft.state)
        if question is None or depth >= bounds.depth or n_nodes >= bounds.n_nodes:
            continue
        draft.children = finder.follow(draft.state, question)
        n_nodes += len(draft.children)
        below = depth + 1 if depth or len(draft.children) > 1 else 0
        waiting += [(child, below) for child in draft.children]
    return to_node(ensemble, root)


@dataclass(slots=True)
class Draft:
    """A node whose children are not complete yet."""

    state: State
    answers: FlowAnswers | None
    children: list["Draft"] = field(default_factory=list)


def to_node(ensemble: Ensemble, draft: Draft) -> FlowNode:
    """Return a draft and all below it as nodes."""
    state = draft.state
    return FlowNode(
        answers=draft.answers,
        question=question_to_ask(ensemble, state),
        stop_reason=state.stop_reason,
        spent=state.spent,
        forecast=machine.forecast(ensemble, state),
        children=tuple(to_node(ensemble, child) for child in draft.children),
    )


def question_to_ask(ensemble: Ensemble, state: State) -> Question | None:
    """Return the next question; None where the session advises to stop."""
    if state.stop_reason is not None:
        return None
    return machine.next_question(ensemble, state)


class Finder:
    """Plays answers to the questions of one ensemble."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble
        self.middles = middle_values(ensemble)
        self.cuts = [np.unique(cuts) for cuts in list_cuts(ensemble)]

    def answer(self, state: State, question: Question, value: float) -> State:
        """Return the state after an answer, `unavailable` if the value is NaN.

        The other members of a bundle are answered with middle values.
        """
        idx = question.feature_idx
        if math.isnan(value):
            answers = [Answer(idx, "unavailable")]
        else:
            answers = [Answer(idx, "value", value)] + [
                Answer(other, "value", self.middles[other])
                for other in question.feature_idxs
                if other != idx
            ]
        return machine.observe(self.ensemble, state, answers)

    def key_of(self, state: State) -> Key:
        """Return the key of a state: answers with the same key lead the same way."""
        asked = state.next_feature_idx if state.stop_reason is None else None
        label = machine.forecast(self.ensemble, state).label
        return asked, state.stop_reason, label if asked is None else None

    def follow(self, state: State, question: Question) -> list[Draft]:
        """Return the nodes after a question's answers, the last one without a value."""
        feature = self.ensemble.catalogue.features[question.feature_idx]
        ways: dict[Key, list[tuple[State, float]]] = {}
        for value in self.list_trial_answers(state, question).tolist():
            after = self.answer(state, question, value)
            ways.setdefault(self.key_of(after), []).append((after, value))
        ranges: dict[Key, list[tuple[float, float]]] = {}
        if feature.type == "number":
            ranges = self.part(state, question, ways)
        drafts, usual = [], 1
        if self.ensemble.n_outputs > 1:
            usual = machine.forecast(self.ensemble, state).label
        for key, tried in ways.items():
            values = [value for _, value in tried if not math.isnan(value)]
            class_idx = usual if key[2] is None else key[2]
            chances = [self.chance_of(after, class_idx) for after, _ in tried]
            drafts.append(
                Draft(
                    self.state_of_median_chance(tried, chances),
                    FlowAnswers(
                        ranges=tuple(ranges.get(key, ())),
                        codes=() if ranges else tuple(int(value) for value in values),
                        has_none=len(values) < len(tried),
                        class_idx=class_idx,
                        chances=(min(chances), max(chances)),
                    ),
                )
            )
        return drafts

    def chance_of(self, state: State, class_idx: int) -> float:
        """Return the chance of a class where a session stands."""
        return machine.forecast(self.ensemble, state).probabilities[class_idx]

    def state_of_median_chance(
        self, states: list[tuple[State, float]], chances: list[float]
    ) -> State:
        """Return the state of median chance after one of the values tried.

        `chances` has one for each of `states`. No answer counts only if it is the only
        one tried.
        """
        # NaN, which stands for no answer, differs from itself.
        places = [place for place, (_, value) in enumerate(states) if value == value]
        order = sorted(places or range(len(states)), key=lambda place: chances[place])
        return states[order[(len(order) - 1) // 2]][0]

    def places(self, state: State, question: Question) -> tuple[FloatArray, FloatArray]:
        """Return values that may lead different ways, and the borders between them."""
        idx, has_votes = question.feature_idx, POLICIES[state.policy].has_votes
        values = possible_values(self.ensemble, idx, has_votes=has_votes)
        # Hypotheses tell values apart at their cuts only, with one value between two.
        if has_votes and self.cuts[idx].size == values.size - 1:
            return values, self.cuts[idx]
        if self.ensemble.catalogue.features[idx].type == "number" and values.size > 1:
            values = np.linspace(values[0], values[-1], N_PLACES)
        return values, (values[1:] + values[:-1]) / 2

    def list_trial_answers(self, state: State, question: Question) -> FloatArray:
        """Return the answers that are tried, no answer last."""
        values, _ = self.places(state, question)
        if self.ensemble.catalogue.features[question.feature_idx].type == "number":
            values = values[evenly_spaced(values.size, N_TRIED)]
        return np.append(values, np.nan)

    def part(
        self,
        state: State,
        question: Question,
        ways: dict[Key, list[tuple[State, float]]],
    ) -> dict[Key, list[tuple[float, float]]]:
        """Return the ranges of a number by where they lead.

        `ways` are the values tried. Between two that lead different ways the border is
        found by bisection.
        """
        values, borders = self.places(state, question)
        keys = {value: key for key, pairs in ways.items() for _, value in pairs}
        tried = sorted(value for value in keys if not math.isnan(value))
        ranges: dict[Key, list[tuple[float, float]]] = {}
        start = -math.inf
        for value, following in zip(tried, [*tried[1:], math.inf], strict=True):
            key = keys[value]
            if math.isinf(following):
                ranges.setdefault(key, []).append((start, math.inf))
            elif keys[following] != key:
                low, high = np.searchsorted(values, (value, following)).tolist()
                while high - low > 1:
                    middle = (low + high) // 2
                    after = self.answer(state, question, float(values[middle]))
                    is_same = self.key_of(after) == key
                    low, high = (middle, high) if is_same else (low, middle)
                end = float(borders[low])
                ranges.setdefault(key, []).append((start, end))
                start = end
        return ranges
