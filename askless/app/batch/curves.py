"""Compute error curves of rows in memory, and write curves as JSON."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from askless.app.documents.http import models as bodies
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Curve, Model
from askless.core.pipeline.budgets import list_usual_budgets
from askless.core.session import machine
from askless.core.session.policies import default_policy
from askless.core.session.position import Position
from askless.core.session.promises import choose_measured_errors
from askless.core.session.spending import compute_limit
from askless.core.session.state import StopRule
from askless.core.simulation.blocks import Conditions
from askless.core.simulation.curves import Endings, make_curve, simulate_rows
from askless.core.simulation.early import EarlyPoint
from askless.core.simulation.figures import compute_figures
from askless.core.table.dataset import Dataset


def budgets_of_curve(stored: Model) -> list[int | None]:
    """Return the budgets of a model's curve; without a curve, the usual ones."""
    if stored.curve is not None:
        return list(stored.curve.budgets)
    return list(list_usual_budgets(stored.ensemble))


def check_threshold(threshold: float | None, ensemble: Ensemble, where: str) -> None:
    """Refuse a decision threshold for more than two classes."""
    if threshold is not None and ensemble.n_outputs > 1:
        rule = "must be left out: it parts two classes, and the model has more"
        raise RefusedError([Refusal(where, rule)])


def measure_rows(
    ensemble: Ensemble,
    dataset: Dataset,
    played: Conditions,
    threshold: float | None = None,
) -> Curve:
    """Return the curve of a table's rows, with its figures."""
    ends = play_conditions(ensemble, dataset, played)
    curve = make_curve(dataset, played.budgets, ends)
    assert ends.scored is not None, "models of files are of one class per row"
    thresholds = list_thresholds(ensemble, played)
    figures = compute_figures(ensemble, ends.scored, threshold, thresholds)
    return replace(curve, predictive=figures)


def play_conditions(
    ensemble: Ensemble, dataset: Dataset, played: Conditions
) -> Endings:
    """Play every row of a table as a session under each condition."""
    return simulate_rows(
        ensemble,
        dataset,
        played.budgets,
        played.policy,
        played.seed,
        aims=played.aims,
        has_figures=True,
        spend=played.spend,
    )


def list_policies(ensemble: Ensemble, played: Conditions) -> str:
    """Return the names of the policies that the conditions use, each once."""
    aims = played.aims or [None] * len(played.budgets)
    pairs = zip(played.budgets, aims, strict=True)
    policies = (
        played.policy or default_policy(ensemble, *pair, played.spend) for pair in pairs
    )
    return ", ".join(dict.fromkeys(policies))


def list_promised_errors(ensemble: Ensemble, played: Conditions) -> list[float | None]:
    """Return the final error that the first question promises; None: none.

    Where no question is asked it is the error now. All rows begin in the same state.
    """
    aims, promised = played.aims or [None] * len(played.budgets), list[float | None]()
    for budget, aim in zip(played.budgets, aims, strict=True):
        policy = played.policy or default_policy(ensemble, budget, aim, played.spend)
        stop = StopRule(certain=False, spend=played.spend)
        state = machine.start(ensemble, budget, policy=policy, stop=stop, aim=aim)
        question = machine.next_question(ensemble, state)
        if question is not None and state.stop_reason is None:
            promise = question.promise
            promised.append(None if promise is None else promise.error_at_end)
        else:
            limit = Position.of(ensemble, state).limit
            measured = choose_measured_errors(ensemble, policy, limit, aim)
            promised.append(None if measured is None else measured.rate_at(0))
    return promised


def list_thresholds(ensemble: Ensemble, played: Conditions) -> list[float | None]:
    """Return the curve's threshold of a rare class under each condition; None: none.

    It is that of what a session spends, since its chances are those of the curve there.
    """
    aims, thresholds = played.aims or [None] * len(played.budgets), list[float | None]()
    for budget, aim in zip(played.budgets, aims, strict=True):
        policy = played.policy or default_policy(ensemble, budget, aim, played.spend)
        limit = compute_limit(ensemble, budget, aim, played.spend, policy)
        measured = choose_measured_errors(ensemble, policy, limit, aim)
        thresholds.append(None if measured is None else measured.threshold_at(limit))
    return thresholds


def describe_asking(
    ensemble: Ensemble, played: Conditions, lists: Sequence[tuple[int, float]]
) -> dict[str, Any]:
    """Return who asks, what is promised, and how many lists of questions there are."""
    return {
        "policy": list_policies(ensemble, played),
        "promised_error": list_promised_errors(ensemble, played),
        "lists": [n_lists for n_lists, _ in lists],
        "commonest_list": [share for _, share in lists],
    }


def curve_json(
    curve: Curve, unit: str, aims: list[str], early: list[EarlyPoint] | None
) -> dict[str, Any]:
    """Return a curve as JSON, with its aims and early stops if it has any."""
    document = bodies.Curve.of(curve, unit=unit).model_dump(exclude={"unit"})
    document |= {"aims": aims} if aims else {}
    if early is not None:
        document["early"] = [
            bodies.EarlyPoint.of(
                point, threshold=point.certificate.threshold
            ).model_dump()
            for point in early
        ]
    return document
