"""Exploration: now and then a session asks one feature more, drawn at random."""

from dataclasses import replace

import numpy as np

from askless.core import kernels
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.session.answers import count_questions
from askless.core.session.policies import POLICIES
from askless.core.session.policies.sample import Key
from askless.core.session.position import Position
from askless.core.session.state import Exploration, State

# The least and the greatest chance before each question.
RATES = 0.0, 0.5


def check_rate(rate: float) -> float:
    """Return a chance to explore; raise `RefusedError` where it is out of range."""
    least, most = RATES
    if not least <= rate <= most:
        rule = f"must be from {least:g} to {most:g}"
        raise RefusedError([Refusal("explore", rule, f"{rate:g}")])
    return float(rate)


def add_exploration(ensemble: Ensemble, decided: State) -> State:
    """Return the state with an exploratory question where one is drawn or open.

    `decided` is the state with what the policy decides by itself: its next question or
    its advice to stop. Before each question, and before the advice, another feature is
    asked with the chance `explore`: one draw for each number of questions answered, and
    at most one exploratory question a session. All purchases that are open and that
    what remains pays are equally likely, the policy's own question apart; a bundle is
    one purchase, and features that the model does not read are among them. The question
    stands until it has any answer, or can't be paid any more. It counts as a question,
    and none is put beyond `max_questions`.

    Notes
    -----
    With a probability above 0 before each question every affordable feature may be
    asked as long as it is affordable (positivity), also where the policy will spend the
    whole budget or stops early. Chances depend on the history alone (sequential
    ignorability; Robins 1986). Draws are numbered by the questions answered and made
    from Philox (`uniforms_at`): a session is replayed to the bit.
    """
    position, most = Position.of(ensemble, decided), decided.stop.max_questions
    n_questions = count_questions(ensemble.catalogue, decided.history)
    if most is not None and n_questions >= most:
        return decided
    if decided.explored_idx is None:
        drawn = draw_exploration(position, n_questions)
        if drawn is None:
            return decided
        decided = position.decide(explorations=(*decided.explorations, drawn))
        position = Position.of(ensemble, decided)
    asked = decided.explored_idx
    if asked is None or decided.outcomes[asked] is not None:
        return decided
    if not position.beyond.is_affordable[asked]:
        return decided
    return position.decide(next_feature_idx=asked, stop_reason=None)


def draw_exploration(position: Position, n_questions: int) -> Exploration | None:
    """Draw whether to explore, and what; None where there is nothing to draw.

    There is none where no other purchase is affordable, and where the draw for this
    number of questions was made already.
    """
    state, catalogue = position.state, position.ensemble.catalogue
    if state.explorations:
        before = state.history[: state.explorations[-1].n_answers]
        if count_questions(catalogue, before) == n_questions:
            return None
    policy_idx = state.next_feature_idx if state.stop_reason is None else None
    others = list_other_purchases(position, policy_idx)
    if not others:
        return None
    exploration = Exploration(len(state.history), len(others))
    generator = uniforms_at(state.seed, state.stream, n_questions)
    coin, pick = generator.random(2).tolist()
    if coin >= state.explore:
        return exploration
    return replace(exploration, feature_idx=others[int(pick * len(others))])


def uniforms_at(seed: int, stream: int, place: int) -> np.random.Generator:
    """Return a generator for one place of a second series of a session's numbers.

    It has the key of `uniforms` and the highest word of Philox' counter 1, where that
    of `uniforms` is 0: so no number is drawn twice, and each place is found at once.
    """
    counter = np.array([place, 0, 0, 1], np.uint64)
    return np.random.Generator(
        np.random.Philox(Key(seed, stream), counter=counter)  # type: ignore[arg-type]  # its stub knows one kind only
    )


def list_other_purchases(position: Position, policy_idx: int | None) -> list[int]:
    """Return the open features that what remains pays, one for each purchase.

    A bundle is its first open member. The policy's own question is left out.
    """
    catalogue = position.ensemble.catalogue
    # Exploration is free to buy what is not worth it.
    is_affordable = position.beyond.is_affordable
    is_open = (position.case.status == kernels.OPEN) & is_affordable
    idxs: list[int] = []
    seen: set[int] = set()
    if policy_idx is not None:
        seen.update(catalogue.offer_of(policy_idx))
    for idx in np.flatnonzero(is_open).tolist():
        if idx not in seen:
            idxs.append(idx)
            seen.update(catalogue.offer_of(idx))
    return idxs


def is_explored(state: State) -> bool:
    """Return whether the question that is asked next was drawn by exploration."""
    return state.explored_idx is not None and (
        state.explored_idx == state.next_feature_idx
    )


def compute_propensity(ensemble: Ensemble, state: State) -> float | None:
    """Return the chance with which a session's present question is asked.

    For an exploratory question it is the chance given the policy's own question.
    None: there is no question, or the policy doesn't know the chance.
    """
    if state.next_feature_idx is None:
        return None
    drawn = state.explorations[-1] if state.explorations else None
    if drawn is not None and is_explored(state):
        return state.explore / drawn.n_open
    position = Position.of(ensemble, state)
    chance = POLICIES[state.policy].propensity(position, state.next_feature_idx)
    if chance is None or drawn is None or drawn.feature_idx is not None:
        return chance
    n_then, n_now = (
        count_questions(ensemble.catalogue, state.history[:stop])
        for stop in (drawn.n_answers, len(state.history))
    )
    return chance * (1.0 - state.explore) if n_then == n_now else chance
