"""The policy `adaptive`: buy only what saves more error than it costs."""

from typing import NamedTuple

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.ladder.blends import to_chances
from askless.core.model.ladder.stopping import (
    Stopping,
    StoppingRule,
    least_expected_costs,
)
from askless.core.model.votes import TIE
from askless.core.session.answers import list_revealed, take_answer
from askless.core.session.ladders import (
    choose_known_panel,
    has_hidden_feature,
    ladder_of,
    list_open_features,
    mark_judged,
    predict_by,
    price_open_features,
    price_purchases,
    price_wait,
)
from askless.core.session.policies.panels import PanelPolicy
from askless.core.session.policies.sample import draw_blocks, uniforms
from askless.core.session.policy import Outlook, PlanLeft, Step
from askless.core.session.position import Position, cached_once
from askless.core.session.rows.logits import LogitCache
from askless.core.session.rows.walks import SimulatedRows
from askless.core.session.state import Aim, Answer


class Way(NamedTuple):
    """A panel to go on to, and when that is worth its price."""

    panel: int
    #: the expected error cost above which the panel is worth its price
    threshold: float


class Mixture(NamedTuple):
    """A rule, and the share of sessions that follows the next rule instead."""

    rule: int
    share: float


class Adaptive(PanelPolicy):
    """Follow the rule that training learned for an aim.

    A rule has a target panel for each panel; a case goes on to it if the case's
    expected error cost is above a threshold. A mean budget or a wanted error between
    those of two rules is met by a mixture: each session follows one of the two, by its
    seed. Without an aim it is the rule that spends most, so that all that saves any
    error is bought. Rules are not learned for refusals. A case with an
    aim is judged without its hidden features: `panels` would buy all that helps,
    whatever its aim. A case without an aim goes on as by `panels`.
    """

    name = "adaptive"
    asks_alike = False

    def serves(self, ensemble: Ensemble) -> bool:
        """Return whether the ensemble has panels with rules."""
        return ensemble.panels is not None and ensemble.panels.stopping is not None

    def look_ahead(self, ensemble: Ensemble, aim: Aim | None) -> Outlook:
        """Return the mean spend and error of an aim; None: the rule that errs least."""
        stopping = rules_of(ensemble)
        number, share = choose_mixture(stopping, aim)
        # Without a share there may be no next rule.
        rule, other = stopping.rules[number], stopping.rules[number + (share > 0)]
        return Outlook(
            spend=(1.0 - share) * rule.spend + share * other.spend,
            error=(1.0 - share) * rule.error + share * other.error,
        )

    def choose_next(self, position: Position) -> Step:
        """Return the first open feature of the panel to go on to."""
        step = super().choose_next(position)
        if step.feature_idx is None or has_left_rules(position):
            return step
        way = choose_way(position)
        if way is not None and compute_rule_risk(position) > way.threshold:
            return step
        # Advice to stop, with the feature that would be asked if one goes on.
        return Step(step.feature_idx, "not_worth_it")

    def list_open(self, position: Position) -> list[int]:
        """Return the open features of the panel to go on to.

        A rule is followed even where a missing value already tells more than its panel
        is expected to: it was learned with that case among its rows.
        """
        way = choose_way(position)
        if way is None:
            return super().list_open(position)
        return list_open_features(position, way.panel) or super().list_open(position)

    def choose_panel(self, position: Position) -> int:
        """Return the panel to go on to, worth it or not."""
        way = choose_way(position)
        return super().choose_panel(position) if way is None else way.panel

    def plan_left(self, position: Position) -> PlanLeft:
        """Return the purchases up to the next panel, and up to the last of the rule.

        Where the rule's panels can't all be bought, a case goes on by others.
        """
        near, idxs = super().plan_left(position), list_reachable_features(position)
        most, spend = price_purchases(
            position, list({*self.list_askable(position), *idxs})
        )
        if spend > position.remaining:
            most, spend = price_purchases(position, self.list_bought(position))
        return PlanLeft(near.least, max(most, near.most), max(spend, near.spend))

    def list_bought(self, position: Position) -> list[int]:
        """Return what the session buys if it goes on wherever it may.

        Where it goes on to hangs on which features are known, not on their values.
        """
        catalogue, idxs = position.ensemble.catalogue, list[int]()
        while choose_way(position) is not None and self.list_askable(position):
            state = position.state
            revealed = list_revealed(catalogue, state, self.list_askable(position)[0])
            for idx in revealed:
                state = take_answer(catalogue, state, Answer(idx, "value", 0.0))
            idxs += revealed
            position = Position.of(position.ensemble, state)
        return idxs

    def is_outside_rules(self, position: Position) -> bool:
        """Return whether a case that rules don't fit goes on without them."""
        return has_left_rules(position)

    def group_rows(
        self, ensemble: Ensemble, simulated: SimulatedRows, column: int
    ) -> list[IntArray]:
        """Return the rows of each of the two rules that are mixed."""
        aim = simulated.aims[column] if simulated.aims else None
        mixture = choose_mixture(rules_of(ensemble), aim)
        picks = np.full(len(simulated.streams), mixture.rule)
        if mixture.share > 0:
            everyone = np.ones(picks.size, np.bool_)
            drawn = draw_blocks(simulated.seed, simulated.streams, lambda: everyone)
            picks += next(drawn)[:, 0] < mixture.share
        return [np.flatnonzero(picks == pick) for pick in np.unique(picks)]

    def split_asked(
        self, position: Position, row_idxs: IntArray, cache: LogitCache
    ) -> tuple[int | None, BoolArray]:
        """Return the next feature at a position, and which rows are asked for it."""
        if has_left_rules(position):
            return super().split_asked(position, row_idxs, cache)
        nobody = np.zeros(row_idxs.size, np.bool_)
        way = choose_way(position)
        if way is None or not list_open_features(position, way.panel):
            return None, nobody
        judge, is_judged = choose_known_panel(position), mark_judged(position)
        logits = cache.predict_by(judge, is_judged, row_idxs)
        costs = position.ensemble.error_costs
        goes_on = least_expected_costs(to_chances(logits), costs) > way.threshold
        return list_open_features(position, way.panel)[0], goes_on


def has_left_rules(position: Position) -> bool:
    """Return whether a case goes on as by `panels`.

    It does if something came back without a value, which rules were not learned on,
    and no aim bounds what cases cost on average.
    """
    return position.state.aim is None and has_hidden_feature(position)


def rules_of(ensemble: Ensemble) -> Stopping:
    """Return the rules of an ensemble that has some."""
    stopping = ladder_of(ensemble).stopping
    assert stopping is not None, "the policy needs them"
    return stopping


def draw_rule(mixture: Mixture, seed: int, stream: int) -> int:
    """Return the position of the rule that a session follows; its seed decides."""
    is_mixed = mixture.share > 0
    is_next = is_mixed and uniforms(seed, stream).random() < mixture.share
    return mixture.rule + int(is_next)


def choose_mixture(stopping: Stopping, aim: Aim | None) -> Mixture:
    """Return the mixture of rules that sessions of an aim follow.

    Rules are sorted by ascending spend, hence by descending error.
    """
    spends = np.array([rule.spend for rule in stopping.rules])
    errors = np.array([rule.error for rule in stopping.rules])
    if aim is None:
        return Mixture(spends.size - 1, 0.0)
    if aim.error_price is not None:
        return Mixture(int(np.argmin(spends + aim.error_price * errors)), 0.0)
    if aim.mean_budget is not None:
        return mixture_of_mean(spends, aim.mean_budget)
    assert aim.wanted_error is not None, "an aim is one of three"
    # Errors descend along the rules, and `mixture_of_mean` wants ascending ones.
    return mixture_of_mean(-errors, -aim.wanted_error)


def mixture_of_mean(reached: FloatArray, target: float) -> Mixture:
    """Return the mixture of rules whose mean is `target`; `reached` ascends."""
    number = max(int(np.searchsorted(reached, target, "right")) - 1, 0)
    if number + 1 == reached.size:
        return Mixture(number, 0.0)
    step = reached[number + 1] - reached[number]
    return Mixture(number, float(max((target - reached[number]) / step, 0.0)))


@cached_once
def choose_way(position: Position) -> Way | None:
    """Return the panel to go on to, and the risk above which it is worth its price.

    It is the target of the session's rule. If the target costs more or less than when
    the rule was learned, its threshold moves accordingly; so it does where waiting for
    answers costs money. If the target can't be bought, it is the panel of least price
    plus mean error.
    """
    if has_left_rules(position):
        return None
    rule, stopping = rule_of_session(position), rules_of(position.ensemble)
    now, prices = choose_known_panel(position), price_open_features(position)
    target = int(rule.targets[now])
    if target == now:
        return None
    if np.isfinite(prices[target]):
        price = float(prices[target]) + price_wait(position, target)
        dearer = price - float(rule.prices[now])
        threshold = float(rule.thresholds[now]) + rule.rate * dearer
        return Way(target, threshold)
    return choose_cheapest_mixture(rule, stopping.errors, now, prices[:now])


def list_reachable_features(position: Position) -> list[int]:
    """Return the open features of the panels that the session's rule may go on to."""
    if has_left_rules(position):
        return []
    rule = rule_of_session(position)
    number, idxs = choose_known_panel(position), list[int]()
    while (target := int(rule.targets[number])) != number:
        idxs += list_open_features(position, target)
        number = target
    return idxs


def rule_of_session(position: Position) -> StoppingRule:
    """Return the rule that a session follows."""
    state, stopping = position.state, rules_of(position.ensemble)
    mixture = choose_mixture(stopping, state.aim)
    return stopping.rules[draw_rule(mixture, state.seed, state.stream)]


@cached_once
def compute_rule_risk(position: Position) -> float:
    """Return the expected error cost by the panel that rules judge by."""
    number, is_judged = choose_known_panel(position), mark_judged(position)
    chances = to_chances(predict_by(position, number, is_judged))
    return float(least_expected_costs(chances, position.ensemble.error_costs))


def choose_cheapest_mixture(
    rule: StoppingRule, errors: FloatArray, now: int, prices: FloatArray
) -> Way | None:
    """Return the panel of least price and mean error, or None if it errs no less.

    `now` is the number of the panel that predicts, `errors` (n_panels,) are the mean
    error costs of all panels; `prices` (now,) are of the panels preferred to it.
    """
    rate = max(rule.rate, TIE)
    target = int(np.argmin(rate * prices + errors[: prices.size]))
    if errors[target] >= errors[now] or np.isinf(prices[target]):
        return None
    left = float(errors[target] / errors[now])
    # Worth it once the error cost saved, risk * (1 - left), exceeds rate * price.
    return Way(target, rate * float(prices[target]) / (1.0 - left))
