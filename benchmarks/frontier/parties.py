"""Who takes part: a party is trained on a draw and returns its methods, measured.

`papers` brings the bar along, which is made of the papers' orders; `panels` a logistic
regression on its sets.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from askless.core.model.ensemble import Ensemble
from askless.core.panels.ladders import fit_ladder
from askless.core.simulation.simulate import class_probabilities, class_votes
from askless.core.simulation.simulate import simulate as simulate_sessions
from askless.core.training.algorithms import make_ensemble
from askless.core.training.params import BoostParams
from askless.core.work import run_to_end
from benchmarks.engine import train_ensemble
from benchmarks.frontier import answers, rivals
from benchmarks.frontier.draws import Draw, draw, load
from benchmarks.frontier.measures import Method, measure

ROUNDS = 400
RULES = ("adaboost_bt", "adaboost_bt_greedy", "adaboost_bt_smoothed", "speedboost")
BAR_RULES = {"adaboost_bt_greedy": "bar_greedy", "adaboost_bt_smoothed": "bar_smoothed"}
Methods = Iterator[tuple[str, Method]]

# Test rows whose sessions are walked at a time.
BLOCK = 1000


def play(party: str, protocol: str, title: str, number: int) -> dict[str, object]:
    """Train and measure a party on one draw of a set."""
    drawn = draw(load(title), protocol, number)
    return {
        "n_train": drawn.training.n_samples,
        "n_test": drawn.testing.n_samples,
        "n_features": len(drawn.training.catalogue.features),
        "methods": dict(PARTIES[party](drawn)),
    }


def play_papers(drawn: Draw) -> Methods:
    """The papers' rules, and LightGBM refit on what their orders can pay."""
    for rule in RULES:
        ensemble = train_ensemble(drawn.training, BoostParams(rule, rounds=ROUNDS))
        ends = simulate(ensemble, drawn)
        yield rule, {**ends, **answers.measure_votes(ensemble, drawn)}
        if rule in BAR_RULES:
            yield BAR_RULES[rule], play_bar(ensemble, drawn)


def play_bar(ensemble: Ensemble, drawn: Draw) -> Method:
    """LightGBM refit on what the order of an ensemble can pay."""
    read = [
        idx for hypothesis in ensemble.hypotheses for idx in hypothesis.feature_idxs
    ]
    order = list(dict.fromkeys(read))
    sets = rivals.find_prefixes(drawn, order)
    fit = rivals.tune_to(drawn, sets)
    ends = rivals.refit(drawn, sets, fit)
    return {**ends, **answers.measure_bar(drawn, order, fit)}


def play_panels(drawn: Draw) -> Methods:
    """Panels, and a ridge logistic regression on the same sets."""
    start = time.process_time()
    ladder = run_to_end(fit_ladder(drawn.training))
    seconds = round(time.process_time() - start, 2)
    params = BoostParams("panels")
    ensemble = replace(make_ensemble(drawn.training, params, ()), panels=ladder)
    found = simulate(ensemble, drawn)
    after = answers.measure_panels(ensemble, drawn)
    yield "panels", {**found, **after, "seconds": seconds}
    # A filled table has no missing cells: all rows go the same way.
    row = drawn.testing.values[:1]
    ranks = [
        simulate_sessions(ensemble, row, [budget]).ranks[0] for budget in drawn.budgets
    ]
    sets = [tuple(np.flatnonzero(rank).tolist()) for rank in ranks]
    yield "logistic", rivals.refit(drawn, sets, rivals.fit_logistic)


def play_rivals(drawn: Draw) -> Methods:
    """LightGBM on sets chosen in other ways."""
    yield "forward", rivals.refit(drawn, rivals.find_forward(drawn))
    yield "cegb", rivals.play_cegb(drawn)
    yield "random", rivals.refit(drawn, rivals.find_random(drawn))


# Tables take a draw of a set that all of these have played.
PARTIES: dict[str, Callable[[Draw], Methods]] = {
    "papers": play_papers,
    "panels": play_panels,
    "rivals": play_rivals,
}


def simulate(ensemble: Ensemble, drawn: Draw) -> Method:
    """Play a session for every test row and budget; chances without a calibration."""
    spent, chances, votes = [], [], []
    for begin in range(0, drawn.testing.n_samples, BLOCK):
        values = drawn.testing.values[begin : begin + BLOCK]
        walks = simulate_sessions(ensemble, values, drawn.budgets)
        spent.append(walks.spent)
        chances.append(class_probabilities(ensemble, walks)[..., 1])
        votes.append(class_votes(ensemble, walks))
    return measure(
        np.concatenate(chances),
        drawn.testing.targets,
        np.concatenate(spent),
        drawn.budgets,
        np.concatenate(votes),
    )
