"""Certify early stops and label sets from sessions on rows set aside."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from askless.core.model.certificates import (
    N_STRATA,
    Certification,
    Counts,
    EarlyRule,
    Level,
)
from askless.core.model.ensemble import Ensemble
from askless.core.session.position import Position
from askless.core.session.state import State

# The least and the greatest coverage of label sets that a session may request.
COVERAGES = 0.5, 0.999

# Outcomes that sessions on rows set aside never have.
HIDDEN = frozenset({"refused", "unknown"})

Lack = Literal[
    "no_rows",
    "other_policy",
    "small_budget",
    "known_values",
    "other_answers",
    "hidden_answers",
    "too_few_rows",
    "not_shown",
]


@dataclass(frozen=True, slots=True)
class Stratum:
    """Sessions on rows set aside that stopped within a range of spend."""

    #: in micro-units; the stratum ends where the next one begins
    least_spend: int
    #: whether a session may stop early here
    is_open: bool
    n_samples: int
    n_differing: int


@dataclass(frozen=True, slots=True)
class Certificate:
    """When a session may stop early, or why it never does; money in micro-units."""

    lack: Lack | None
    #: budget under which rows set aside were played
    budget: int | None = None
    #: least probability of the label; None: there is no early stop
    threshold: float | None = None
    n_samples: int = 0
    strata: tuple[Stratum, ...] = ()
    #: mean spends on rows set aside, with early stops and without
    mean_spend: int | None = None
    mean_spend_whole: int | None = None

    def allows(self, confidence: float, spent: int) -> bool:
        """Return whether a session may stop with such a label, at such a spend."""
        if self.threshold is None or confidence < self.threshold:
            return False
        # The last stratum that begins at or below the spend.
        reached = [stratum for stratum in self.strata if stratum.least_spend <= spent]
        return reached[-1].is_open


def make_certificate(ensemble: Ensemble, state: State) -> Certificate:
    """Return the certificate that a session requests.

    Notes
    -----
    With probability 1 - delta over the rows set aside, at most a share alpha of future
    sessions stop with another label than they would end with. This holds in each
    stratum of spend, and so for all. Rows and sessions must be exchangeable, and the
    session must be played as those were: nothing known beforehand, only asked
    features answered, and no answer refused or unknown.

    Learn then test (Angelopoulos, Bates, Candes, Jordan and Lei 2021) with their split
    fixed sequence testing: rows of the folds order the rules, and rows set aside test
    them in this order, up to the first that fails. The hypothesis that a rule errs too
    often in some open stratum is tested by the largest of the strata's exact binomial
    p-values (Berger 1982), which needs no correction for several strata. The passing
    rule that spends least is used.
    """
    alpha, delta = state.stop.disagreement, state.stop.delta
    assert alpha is not None, "a certificate is asked for"
    level, lack = choose_level(ensemble, state)
    if level is None:
        return Certificate(lack)
    certification = ensemble.certification
    assert certification is not None, "it has the level"
    n_samples = certification.n_samples
    place = choose_rule(certification, level, alpha, delta)
    if place is None:
        # Even without a single differing row the p-value would exceed delta.
        is_small = (1.0 - alpha) ** n_samples > delta
        lack = "too_few_rows" if is_small else "not_shown"
        return Certificate(lack, level.budget, n_samples=n_samples)
    rule, counts = certification.rules[place], level.counts[place]
    strata = zip(
        (0, *level.bounds),
        rule.opens,
        counts[:N_STRATA],
        counts[N_STRATA:],
        strict=True,
    )
    return Certificate(
        lack=None,
        budget=level.budget,
        threshold=rule.threshold,
        n_samples=n_samples,
        strata=tuple(Stratum(*stratum) for stratum in strata),
        mean_spend=level.mean_spends[place],
        mean_spend_whole=level.mean_spend,
    )


def choose_level(
    ensemble: Ensemble, state: State
) -> tuple[Level, None] | tuple[None, Lack]:
    """Return the level that a session is comparable with, or why there is none.

    It is the level of the largest budget that is not above what the session spends.
    """
    certification = ensemble.certification
    if certification is None:
        return None, "no_rows"
    if state.known:
        return None, "known_values"
    # Rows set aside were played without exploration.
    if not state.is_led or state.explored_idx is not None:
        return None, "other_answers"
    if HIDDEN.intersection(state.outcomes):
        return None, "hidden_answers"
    limit = Position.of(ensemble, state).limit
    most = math.inf if limit is None else limit
    within = [
        level
        for level in certification.levels
        if (math.inf if level.budget is None else level.budget) <= most
    ]
    if not within:
        return None, "small_budget"
    is_same = within[-1].policy == state.policy and state.aim is None
    return (within[-1], None) if is_same else (None, "other_policy")


@lru_cache(maxsize=256)
def choose_rule(
    certification: Certification, level: Level, alpha: float, delta: float
) -> int | None:
    """Return the position of the rule to stop by; None where no rule passes."""
    if certification.n_guide == 0:
        return None
    scale = certification.n_samples / certification.n_guide
    passed: list[int] = []
    guide = level.guide, level.guide_spends
    for place in order_rules(certification.rules, *guide, scale, alpha):
        opens = certification.rules[place].opens
        if compute_p_value(level.counts[place], opens, alpha) > delta:
            break
        passed.append(place)
    return min(passed, key=lambda place: level.mean_spends[place], default=None)


@lru_cache(maxsize=256)
def order_rules(
    rules: tuple[EarlyRule, ...],
    guide: Counts,
    guide_spends: tuple[int, ...],
    scale: float,
    alpha: float,
) -> list[int]:
    """Return the positions of rules, the likeliest to pass first.

    A rule that spends no less on the guide than a likelier one is left out, since each
    further test may fail and end the sequence.
    """
    expected = [
        compute_p_value(scale_counts(counts, scale), rule.opens, alpha)
        for counts, rule in zip(guide, rules, strict=True)
    ]
    ordered: list[int] = []
    for place in np.lexsort((guide_spends, expected)).tolist():
        if not ordered or guide_spends[place] < guide_spends[ordered[-1]]:
            ordered.append(place)
    return ordered


def scale_counts(counts: tuple[int, ...], scale: float) -> tuple[int, ...]:
    """Return cautious estimates of the counts on rows set aside from the guide's.

    `scale` is the number of rows set aside per row of the guide. Half a differing row
    is added, and what differs is rounded up.
    """
    sizes = [math.floor(scale * count) for count in counts[:N_STRATA]]
    pairs = zip(counts[:N_STRATA], counts[N_STRATA:], sizes, strict=True)
    differing = (math.ceil((d + 0.5) / (n + 1.0) * size) for n, d, size in pairs)
    return (*sizes, *differing)


def compute_p_value(
    counts: tuple[int, ...], opens: tuple[bool, ...], alpha: float
) -> float:
    """Return the p-value of "the rule errs too often in some open stratum".

    In a closed stratum no session stops early, so it needs no test.
    """
    pairs = zip(opens, counts[:N_STRATA], counts[N_STRATA:], strict=True)
    return max(binomial_tail(d, n, alpha) for is_open, n, d in pairs if is_open)


def binomial_tail(n_hits: int, n_trials: int, chance: float) -> float:
    """Return the binomial chance of at most `n_hits` hits; 1 without trials."""
    # Then every outcome has so few hits, also if there are no trials.
    if n_hits >= n_trials:
        return 1.0
    hits = np.arange(n_hits + 1)
    steps = np.log((n_trials - hits[:-1]) / hits[1:])
    choices = np.concatenate(([0.0], np.cumsum(steps)))
    logs = choices + hits * math.log(chance) + (n_trials - hits) * math.log1p(-chance)
    return min(1.0, float(np.exp(logs).sum()))


def compute_label_set(
    ensemble: Ensemble, state: State, probabilities: tuple[float, ...], label: int
) -> tuple[int, ...] | None:
    """Return a set of classes that has the true one with the requested coverage.

    None where the session is not comparable with those on rows set aside.
    `probabilities` and `label` are those of its end.

    Notes
    -----
    Split conformal prediction with the score 1 - p of the true class (Vovk, Gammerman
    and Shafer 2005; Sadinle, Lei and Wasserman 2019): at least ceil((n + 1) coverage)
    of n rows set aside had a true class of this probability. The coverage is the mean
    over rows set aside and cases, not that of each class. The label is always in it.
    """
    level, _ = choose_level(ensemble, state)
    if level is None or state.coverage is None:
        return None
    certification = ensemble.certification
    assert certification is not None, "it has the level"
    n_needed = math.ceil((certification.n_samples + 1) * state.coverage)
    pairs = zip(certification.chances, level.n_covered, strict=True)
    least = max((chance for chance, n in pairs if n >= n_needed), default=0.0)
    return tuple(
        idx
        for idx, chance in enumerate(probabilities)
        if chance >= least or idx == label
    )
