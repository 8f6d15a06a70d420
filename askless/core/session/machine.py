"""A session as a state machine: State -> State, pure.

Replayable from (ensemble, policy, budget, seed, known values, answers in order).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from askless.core.arrays import look_up
from askless.core.errors import ClosedError, Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.session.answers import (
    apply_answer,
    book_purchase,
    count_questions,
    is_already_taken,
    is_as_asked,
    list_revealed,
)
from askless.core.session.certificates import compute_label_set, make_certificate
from askless.core.session.explorations import (
    add_exploration,
    check_rate,
    compute_propensity,
    is_explored,
)
from askless.core.session.policies import POLICIES, default_policy
from askless.core.session.policy import Policy
from askless.core.session.position import Position
from askless.core.session.probability import compute_lead, decide_label
from askless.core.session.promises import make_question
from askless.core.session.rows.walks import Standing
from askless.core.session.state import (
    Aim,
    Answer,
    ChargeKind,
    Forecast,
    Outcome,
    Purchase,
    Question,
    State,
    StopReason,
    StopRule,
)
from askless.core.session.uses import refuse_useless


def make_forecast(ensemble: Ensemble, policy: Policy, standing: Standing) -> Forecast:
    """Return a policy's forecast from the current vote of one session.

    With nothing known or a tie the label is the majority class; with nothing known (for
    two classes also on a tie) the probabilities are the priors. `hoeffding_p` is
    exp(-N m^2/2) for N draws (Reyzin 2010, Corollary 3, one-sided), times K - 1 for K
    classes (union bound). For fixed N it bounds the chance of such a lead if the full
    vote pointed elsewhere; it is not a probability of error.
    """
    chances = policy.chances(ensemble, standing)
    lead, n_draws = compute_lead(standing.margins), policy.n_draws(standing)
    hoeffding_p = None
    if n_draws is not None:
        n_rivals = len(ensemble.classes) - 1
        hoeffding_p = min(1.0, n_rivals * math.exp(-n_draws * lead**2 / 2))
    return Forecast(
        label=int(decide_label(ensemble, chances)),
        vote=int(policy.votes(ensemble, standing)),
        probabilities=tuple(chances.tolist()),
        margin=lead,
        known_share=float(standing.known_shares),
        n_draws=n_draws,
        hoeffding_p=hoeffding_p,
    )


def start(
    ensemble: Ensemble,
    budget: int | None,
    seed: int = 0,
    known: Mapping[int, float] | None = None,
    policy: str | None = None,
    stop: StopRule | None = None,
    stream: int = 0,
    coverage: float | None = None,
    aim: Aim | None = None,
    explore: float = 0.0,
) -> State:
    """Open a session.

    Parameters
    ----------
    budget : int or None
        Most that may be charged, in micro-units; None: unlimited.
    seed, stream : int
        Key of the draws, 0 to 2**64 - 1. `evaluate` gives row i stream i.
    known : mapping of int to float, optional
        Values known beforehand by feature; free, and they pay no fee.
    policy : str, optional
        One of `POLICIES` that serves the ensemble; by default the one that it prefers
        at the budget, or with an aim the one that takes aims.
    aim : Aim, optional
        As `check_aim` lets it through.
    coverage : float, optional
        Least chance that the label set at the end has the true class, in (0, 1).
    explore : float
        Chance before each question that another one is asked, once a session at most;
        see `askless.core.session.explorations`.

    Raises
    ------
    RefusedError
        Where a stop is asked for by both `confidence` and `disagreement`, or `explore`
        is out of range.
    """
    if stop is not None and None not in (stop.confidence, stop.disagreement):
        rule = "must be left out where a confidence is given"
        raise RefusedError([Refusal("stop.disagreement", rule)])
    stop = stop or StopRule()
    values = [math.nan] * len(ensemble.catalogue.features)
    outcomes: list[Outcome | str | None] = [None] * len(values)
    for feature_idx, value in (known or {}).items():
        values[feature_idx] = value
        outcomes[feature_idx] = "known"
    state = State(
        policy=policy or default_policy(ensemble, budget, aim, stop.spend),
        budget=budget,
        seed=seed,
        stream=stream,
        stop=stop,
        outcomes=tuple(outcomes),  # type: ignore[arg-type]  # "known" is one of them
        values=tuple(values),
        known=tuple(sorted(known or {})),
        coverage=coverage,
        aim=aim,
        explore=check_rate(explore),
    )
    return decide_next_step(ensemble, state)


def observe(
    ensemble: Ensemble,
    state: State,
    answers: Sequence[Answer],
    *,
    is_insistent: bool = False,
) -> State:
    """Take answers, all or none, charge them in order, and find the next question.

    A feature is charged at most once, on its first `value` or `ordered`, at the price
    of that moment. If it is billed by call, its first `unavailable` before that is
    charged too: a miss, which pays for no later value. A feature known from the start
    is charged only on `ordered`, and its value counts until the result comes. The first
    charged member of a bundle pays its price; its members without an answer become
    `ordered` at 0. An answer that the session has already changes nothing. Any feature
    may be answered until somebody stops the session: to have nothing to ask is advice.

    Parameters
    ----------
    answers : sequence of Answer
        What each charges is found here. A value comes with the outcome `value` only;
        as in `Dataset.values`, `UNSEEN` for a category that training did not see.
    is_insistent : bool
        Whether an answer is charged although it can't change what is predicted.

    Raises
    ------
    UselessAnswerError
        An answer that can't change what is predicted would be charged.
    AnswerError
        A value without the outcome `value`, or the other way round; or no value for a
        feature that is known from the start.
    OverBudgetError, ClosedError
        A price exceeds what remains; the session takes no such answer any more.
    """
    catalogue, policy = ensemble.catalogue, POLICIES[state.policy]
    after, asked = state, state.next_feature_idx
    revealed = () if asked is None else list_revealed(catalogue, state, asked)
    for answer in answers:
        if is_already_taken(after, answer):
            continue
        is_new = after.outcomes[answer.feature_idx] is None
        if is_closed(state) or (state.is_ended and is_new):
            name = catalogue.features[answer.feature_idx].name
            raise ClosedError(f"{name}: the session takes no more answers")
        if is_new and after is not state and not state.is_ended:
            # Draws go on from answer to answer, as if each had come alone.
            n_draws = policy.count_draws(Position.of(ensemble, after))
            after = replace(after, n_draws=n_draws)
        chance = None
        if answer.feature_idx in revealed:
            # The other features of a bundle come with it: one purchase has one chance.
            chance, revealed = compute_propensity(ensemble, state), ()
        after = apply_answer(catalogue, after, replace(answer, propensity=chance))
    if after is state:
        return state
    if not is_insistent:
        refuse_useless(ensemble, state, after)
    return decide_after_answers(ensemble, state, after)


def take_purchase(ensemble: Ensemble, state: State, purchase: Purchase) -> State:
    """Take a purchase at the seller's amount, and decide the next step.

    The amount is not checked: the caller has reserved it from the budget (`hold`). No
    answer is refused, not even by an ended session. Without answers nothing becomes
    known, and the offer stays open.
    """
    catalogue, answers = ensemble.catalogue, list(purchase.answers)
    for place, answer in enumerate(answers):
        if answer.feature_idx == state.next_feature_idx:
            chance = compute_propensity(ensemble, state)
            answers[place] = replace(answer, propensity=chance)
    after = book_purchase(catalogue, state, replace(purchase, answers=tuple(answers)))
    return decide_after_answers(ensemble, state, after)


def hold(ensemble: Ensemble, state: State, amount: int) -> State:
    """Replace the held amount, in micro-units, and decide the next step anew."""
    return decide_next_step(ensemble, replace(state, held=amount))


def finish(state: State) -> State:
    """End a session for the reason of its advice to stop; an ended one stays."""
    if state.is_ended:
        return state
    reason = state.stop_reason or "plan_complete"
    return replace(state, next_feature_idx=None, stop_reason=reason, is_ended=True)


def change_budget(ensemble: Ensemble, state: State, budget: int | None) -> State:
    """Change the most that may be charged, and find the next question anew.

    Raises `RefusedError` where the budget is below what is spent, `ClosedError` where
    the session was stopped.
    """
    if state.is_ended:
        raise ClosedError("the session was stopped")
    if budget is not None and budget < state.spent + state.held:
        raise RefusedError([Refusal("budget", "must be at least what is spent")])
    # Answers so far were chosen under another budget.
    is_led = state.is_led and not state.history
    return decide_next_step(
        ensemble, replace(state, budget=budget, is_led=is_led, step_chances=())
    )


def reverse(
    ensemble: Ensemble,
    state: State,
    feature_idx: int,
    kind: ChargeKind = "charge",
    provider: str | None = None,
) -> State:
    """Reverse the last charge of a feature of a kind, by a provider; decide anew.

    If the feature is answered differently or ordered later, it is charged at the price
    of that time. A fee in the reversed charge is due again with the next charge of its
    group. Ended sessions allow this too. There must be such a charge.
    """
    charges = list(state.charges)
    *_, last = (
        place
        for place, charge in enumerate(charges)
        if (charge.feature_idx, charge.kind, charge.provider)
        == (feature_idx, kind, provider)
    )
    del charges[last]
    left = replace(state, charges=tuple(charges), is_led=False, step_chances=())
    return decide_next_step(ensemble, left)


def stop(state: State, reason: StopReason = "client_stopped") -> State:
    """End a session, by client, expiry or deadline, unless it has ended already."""
    assert reason in ("client_stopped", "expired", "out_of_time")
    if state.is_ended:
        return state
    return replace(state, next_feature_idx=None, stop_reason=reason, is_ended=True)


def is_closed(state: State) -> bool:
    """Whether a session is over: ended, and no result pending."""
    return state.is_ended and not state.pending


def decide_next_step(ensemble: Ensemble, state: State) -> State:
    """Return the state with the next question decided, and whether to advise a stop."""
    if state.is_ended:
        return state
    decided = apply_policy(ensemble, state)
    return add_exploration(ensemble, decided) if state.explore else decided


def decide_after_answers(ensemble: Ensemble, before: State, after: State) -> State:
    """Decide the next step, and whether the session is still led (`State.is_led`)."""
    is_led = before.is_led and is_as_asked(ensemble.catalogue, before, after)
    chances = before.step_chances if is_led else ()
    led = after.change(is_led=is_led, step_chances=chances)
    return decide_next_step(ensemble, led)


def apply_policy(ensemble: Ensemble, state: State) -> State:
    """Return the state with what the policy decides by itself, without exploration."""
    policy, position = POLICIES[state.policy], Position.of(ensemble, state)
    step = policy.choose_next(position)
    is_sure = state.stop.certain and policy.is_certain(position)
    changes: dict[str, object] = {
        "n_draws": step.n_draws,
        "next_feature_idx": step.feature_idx,
        "stop_reason": step.reason,
        "is_decided": is_sure or step.reason == "all_known",
    }
    if step.feature_idx is None:
        return position.decide(**changes)
    most = state.stop.max_questions
    if most is not None and count_questions(ensemble.catalogue, state.history) >= most:
        return position.decide(**changes | {"stop_reason": "max_questions"})
    if is_sure:
        return position.decide(**changes | {"stop_reason": "certain"})
    moved = position.decide(**changes)
    reason = choose_advice(ensemble, moved)
    # Through the position, which keeps the forecast that was just computed.
    return Position.of(ensemble, moved).decide(stop_reason=reason) if reason else moved


def choose_advice(ensemble: Ensemble, state: State) -> StopReason | None:
    """Return why a session with an open question may stop: confident or certified."""
    rule = state.stop
    if rule.confidence is None and rule.disagreement is None:
        return None
    current = forecast(ensemble, state)
    confidence = current.probabilities[current.label]
    if rule.confidence is not None:
        return "confident" if confidence >= rule.confidence else None
    is_met = make_certificate(ensemble, state).allows(confidence, state.spent)
    return "certified" if is_met and not state.pending else None


def forecast(ensemble: Ensemble, state: State) -> Forecast:
    """Return the forecast from what a session knows."""
    policy, position = POLICIES[state.policy], Position.of(ensemble, state)
    # It depends on the decision, in which positions of the same values may differ.
    word = f"forecast {state.n_draws} {state.is_decided}"
    if word not in position.kept:
        standing = policy.standing(position)
        position.kept[word] = make_forecast(ensemble, policy, standing)
    made: Forecast = position.kept[word]
    if state.coverage is None or state.pending:
        return made
    # The label set is for the end of a session only.
    if policy.choose_next(position).reason is None:
        return made
    label_set = compute_label_set(ensemble, state, made.probabilities, made.label)
    return replace(made, label_set=label_set)


def next_question(ensemble: Ensemble, state: State) -> Question | None:
    """Return the next question with its price; None where nothing is asked.

    After an advice to stop (`certain`, `confident`, `max_questions`, `not_worth_it`) it
    is what would be asked if one goes on.
    """
    feature_idx, policy = state.next_feature_idx, POLICIES[state.policy]
    if feature_idx is None:
        return None
    position, explores = Position.of(ensemble, state), is_explored(state)
    number = count_questions(ensemble.catalogue, state.history) + 1
    if explores:
        question = make_question(policy, position, number, explores=True)
        reason = apply_policy(ensemble, state).stop_reason
        return replace(question, policy_stop=reason)
    if not policy.asks_alike:
        return make_question(policy, position, number)
    make = partial(make_question, policy, position, number)
    return look_up(position.shared, (policy.name, feature_idx, number), make)
