"""Replay cases from their logs: a policy is asked anew, and the log answers.

The answer to a question that is not in the log is never guessed: the replay ends there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from askless.core.catalogue.catalogue import UNSEEN, Catalogue, Feature
from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from askless.core.session.answers import list_revealed
from askless.core.session.state import Aim, Answer, Forecast, State, StopRule
from askless.core.table.cells import category_code


@dataclass(frozen=True, slots=True)
class AnswerLog:
    """What is known of a case, by the features of one catalogue."""

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
        """What was charged, in micro-units, by the prices of the ensemble."""
        return self.states[-1].spent

    @property
    def forecast(self) -> Forecast:
        """What is predicted where the replay ended."""
        return machine.forecast(self.ensemble, self.states[-1])


def log_case(state: State) -> AnswerLog:
    """Return what a session knows of its case.

    A value that was corrected counts as corrected, one known at the start too. What was
    ordered and has not come stays ordered.
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

    Features are matched by name. Those that the other catalogue lacks, or has with
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


def replay(ensemble: Ensemble, case: AnswerLog, terms: ReplayTerms) -> Replay:
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
