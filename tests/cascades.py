"""Small attentional cascades."""

import math
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.model.ensemble import Cascade, Ensemble, Stage
from askless.core.model.hypotheses import Stump
from askless.core.model.votes import hypothesis_votes
from askless.core.session import machine
from askless.core.session.state import StopRule
from askless.core.table.dataset import Dataset
from askless.core.training.algorithms import make_ensemble
from askless.core.training.cascade import grow_cascade
from askless.core.training.params import BoostParams
from tests import strategies
from tests.sessions import observe
from tests.small import ensemble_of, make_dataset

MICROS = 1_000_000


def params_of(**more) -> BoostParams:
    rates = {"stages": 3, "detection": 0.9, "false_alarm": 0.6}
    return BoostParams("cascade", **({"rounds": 30} | rates | more))


def rare(seed=0, n_samples=500, share=0.3, gap=1.0, **more) -> Dataset:
    """A cheap feature tells the rare class badly, dearer ones better."""
    random = np.random.default_rng(seed)
    targets = (random.random(n_samples) < share).astype(np.int64)
    values = random.normal(size=(n_samples, 4)) + gap * np.outer(
        targets, [1, 1.5, 2, 2]
    )
    costs = (0.5, 2, 5, 9)
    catalogue = Catalogue(
        tuple(
            Feature(f"f{idx}", cost=int(cost * MICROS))
            for idx, cost in enumerate(costs)
        )
    )
    return make_dataset(values, targets, 2, catalogue=catalogue, **more)


def grown(dataset: Dataset, **more) -> Ensemble:
    params = params_of(**more)
    return make_ensemble(dataset, params, list(grow_cascade(dataset, params)))


def play(ensemble: Ensemble, row, budget=None, **more):
    """Answer every question from a row; without advice to stop."""
    more = {"stop": StopRule(certain=False)} | more
    state = machine.start(ensemble, budget, **more)
    while state.next_feature_idx is not None:
        state = answer(ensemble, state, row)
    return state


def answer(ensemble: Ensemble, state, row):
    """Answer what is asked next; of a bundle all members, those there first."""
    asked = machine.next_question(ensemble, state).feature_idxs
    for idx in sorted(asked, key=lambda idx: math.isnan(row[idx])):
        if machine.is_closed(state):
            break
        if math.isnan(row[idx]):
            state = observe(ensemble, state, idx, "unavailable")
        else:
            state = observe(ensemble, state, idx, "value", float(row[idx]))
    return state


# How stages are made.


def judged(ensemble: Ensemble, values: np.ndarray) -> list[tuple[int, int]]:
    """`count_passed` of rows, and the stages that didn't reject each; by plain sums."""
    ends = []
    for row in values:
        code, start, n_survived = 0, 0, 0
        for stage in ensemble.cascade.stages:
            part = slice(start, stage.length)
            votes = [
                alpha * hypothesis_votes(hypothesis, row[None], 1)[0, 0]
                for hypothesis, alpha in zip(
                    ensemble.hypotheses[part], ensemble.alphas[part], strict=True
                )
            ]
            if any(votes) and sum(votes) < stage.threshold:
                code = -1 - n_survived
                break
            n_survived, start = n_survived + 1, stage.length
            code = n_survived if any(votes) else code
        ends.append((code, n_survived))
    return ends


def staged(hypotheses, alphas, lengths, thresholds, catalogue=None, **more) -> Ensemble:
    """Give a cascade by hand; its chances fall and rise by a tenth per stage."""
    stages = tuple(
        Stage(length, threshold, 1.0, 0.5, 0.2 + 0.1 * idx, 0.1 + 0.01 * idx)
        for idx, (length, threshold) in enumerate(zip(lengths, thresholds, strict=True))
    )
    plain = {"priors": (0.7, 0.3), "algorithm": "cascade", "policy": "cascade"}
    fields = {"alphas": tuple(alphas), "cascade": Cascade(stages, 0.9)} | plain | more
    return ensemble_of(hypotheses, catalogue, **fields)


@st.composite
def cascades(draw, kinds=strategies.hypotheses, max_hypotheses=5) -> Ensemble:
    """Give any cascade over any catalogue; votes are sums of eighths."""
    one = draw(
        strategies.ensembles(
            n_classes=2,
            policy="ordered",
            kinds=kinds,
            max_hypotheses=max_hypotheses,
            min_hypotheses=0,
        )
    )
    n_hypotheses = len(one.hypotheses)
    lengths = draw(st.sets(st.integers(1, max(n_hypotheses, 1))))
    lengths = sorted({*lengths, n_hypotheses}) if n_hypotheses else []
    chances = st.integers(1, 15).map(lambda k: k / 16)
    stages = tuple(
        Stage(
            length,
            # Never a sum of eighths: no vote is at a threshold.
            draw(st.integers(-16, 16)) / 8 + 1 / 16,
            draw(chances),
            draw(chances),
            draw(chances),
            draw(chances),
        )
        for length in lengths
    )
    return replace(
        one,
        algorithm="cascade",
        policy="cascade",
        cascade=Cascade(stages, draw(chances)),
    )


# Sessions.


def two_stages(**more) -> Ensemble:
    """Reject where f0 is low; then where f1 and f2 are."""
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(3)]
    return staged(stumps, (1.0, 1.0, 1.0), (1, 3), (0.0, -0.5), **more)
