"""What is predicted after every answer of a session under the largest budget.

A filled table has no missing cells, so that rules ask every row the same: one row says
what is known when, and all rows are predicted at once.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from askless.core import kernels
from askless.core.arrays import FloatArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.ladder.blends import to_chances
from askless.core.session.policies import POLICIES
from askless.core.session.policies.panels import PanelPolicy
from askless.core.session.position import Position
from askless.core.session.rows.logits import LogitCache
from askless.core.session.rows.walks import SimulatedRows, open_session
from askless.core.simulation.simulate import class_probabilities, simulate
from benchmarks.frontier import rivals
from benchmarks.frontier.draws import Draw
from benchmarks.frontier.measures import Method, find_losses

# Refits of the bar; where there are more answers, to every so manieth.
MOST_REFITS = 25


def measure_answers(chances: FloatArray, drawn: Draw, n_answers: int) -> Method:
    """Measure log-loss after each answer; chances (n_rows, n_predictions).

    What is said before the first answer doesn't count, unless there is none.
    """
    return tell(find_losses(chances, drawn.testing.targets), n_answers)


def tell(losses: FloatArray, n_answers: float) -> Method:
    loss = round(float(losses.mean()), 6)
    return {"answer_log_loss": loss, "n_answers": round(n_answers, 2)}


def measure_panels(ensemble: Ensemble, drawn: Draw) -> Method:
    """Measure what panels say after each answer; rows may part by what is known."""
    simulated, policy = make_cases(drawn), PanelPolicy()
    cache = LogitCache.share(ensemble, simulated.values)
    losses, counts = np.zeros((2, simulated.values.shape[0]))
    for branch, is_end in policy.follow(ensemble, simulated, 0, cache):
        if branch.n_steps == 0 and not is_end:
            continue
        rows, position = branch.row_idxs, Position.of(ensemble, branch.state)
        chances = to_chances(cache.predict(position, rows))[:, 1:]
        losses[rows] += find_losses(chances, drawn.testing.targets[rows])[:, 0]
        counts[rows] += branch.n_steps > 0
    return tell(losses / np.maximum(counts, 1), float(counts.mean()))


def measure_votes(ensemble: Ensemble, drawn: Draw) -> Method:
    """Measure what the vote of stumps says after each answer, by the plain link."""
    return measure_answers(*drop_first(follow_votes(ensemble, drawn), drawn))


def drop_first(chances: FloatArray, drawn: Draw) -> tuple[FloatArray, Draw, int]:
    """Drop what is said before the first answer, where there is one."""
    n_answers = chances.shape[1] - 1
    return chances[:, min(1, n_answers) :], drawn, n_answers


def make_cases(drawn: Draw) -> SimulatedRows:
    values, budgets = drawn.testing.values, np.array(drawn.budgets[-1:], np.int64)
    return SimulatedRows(values, budgets, seed=0, streams=range(values.shape[0]))


def follow_votes(ensemble: Ensemble, drawn: Draw) -> FloatArray:
    """Chances of the positive class before and after answers; (n_rows, 1 + n_answers).

    After an answer the hypotheses of the plan vote whose features are known.
    """
    simulated, policy = make_cases(drawn), POLICIES["ordered"]
    state = open_session(ensemble, simulated, policy.name, 0, 0)
    ranks = np.zeros(simulated.values.shape[1], np.int64)
    columns = []
    for position in policy.steps(ensemble, state, simulated.values[0], ranks):
        is_known = position.case.status == kernels.KNOWN
        plan = zip(ensemble.hypotheses, ensemble.alphas, strict=True)
        voting = [
            (one, alpha)
            for place, (one, alpha) in enumerate(plan)
            if place < position.plan.length and is_known[list(one.feature_idxs)].all()
        ]
        columns.append(say(ensemble, voting, simulated.values))
    return np.column_stack(columns)


def say(
    ensemble: Ensemble, voting: Sequence[tuple[object, float]], values: FloatArray
) -> FloatArray:
    """Chances of the positive class by the vote of some hypotheses; (n_rows,)."""
    if not voting:
        return np.full(values.shape[0], ensemble.priors[1])
    hypotheses, alphas = zip(*voting, strict=True)
    part = replace(ensemble, hypotheses=hypotheses, alphas=alphas)
    chances: FloatArray = class_probabilities(part, simulate(part, values, [None]))[
        :, 0, 1
    ]
    return chances


def measure_bar(drawn: Draw, order: Sequence[int], fit: rivals.Fit | None) -> Method:
    """Measure LightGBM refit after each purchase in an order."""
    steps = rivals.find_steps(drawn, order)
    n_answers = len(steps) - 1
    if n_answers > MOST_REFITS:
        places = np.linspace(1, n_answers, MOST_REFITS).round().astype(int)
        steps = [steps[place] for place in places]
    elif n_answers:
        steps = steps[1:]
    chances = rivals.predict_sets(drawn, steps, fit)
    return measure_answers(chances, drawn, n_answers)
