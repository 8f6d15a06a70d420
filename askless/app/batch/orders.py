"""Read the orders of jobs from JSON, and check them against a model."""

from typing import Any

from askless.app.batch.curves import budgets_of_curve, check_threshold
from askless.app.batch.measuring import EvaluateOrder
from askless.app.batch.predicting import PredictOrder
from askless.app.documents.http import jobs as bodies
from askless.app.documents.http.terms import AimWish
from askless.app.documents.shape import read_shape
from askless.core.catalogue.prices import from_micros
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Model
from askless.core.session.aims import check_aim
from askless.core.session.policies import check_policy
from askless.core.session.state import Aim, StopRule
from askless.core.simulation.blocks import Conditions
from askless.core.table.spec import TableSpec


def parse_predict_order(raw: Any, stored: Model) -> PredictOrder:
    """Read an order to predict; refuse one that the model can't serve."""
    return build_predict_order(read_shape(bodies.PredictOrder, raw, ""), stored)


def build_predict_order(request: bodies.PredictOrder, stored: Model) -> PredictOrder:
    """Build an order to predict; refuse one that the model can't serve."""
    ensemble = stored.ensemble
    if (request.budgets is None) == (request.budget_from is None):
        rule = "must be given, or else budget_from, and not both"
        raise RefusedError([Refusal("budgets", rule)])
    policy = check_policy_name(request.policy, ensemble)
    return PredictOrder(
        limits=list(dict.fromkeys(request.budgets or [])),
        budget_from=request.budget_from,
        keep=tuple(dict.fromkeys(request.keep)),
        policy=policy,
        seed=request.seed,
        aim=check_order_aim(request.aim, ensemble, policy, "aim"),
        curve=None if request.exact_budget else stored.curve,
        spend="all" if request.exact_budget else request.spend,
        accept_unseen=request.accept_unseen,
    )


def parse_evaluate_order(raw: Any, stored: Model) -> EvaluateOrder:
    """Read an order to evaluate; refuse one that the model can't serve."""
    request = read_shape(bodies.EvaluateOrder, raw, "")
    ensemble = stored.ensemble
    check_threshold(request.threshold, ensemble, "threshold")
    policy = check_policy_name(request.policy, ensemble)
    aims = [
        check_order_aim(aim, ensemble, policy, f"aims[{place}]")
        for place, aim in enumerate(request.aims)
    ]
    limits = (
        budgets_of_curve(stored) if request.budgets is None else list(request.budgets)
    )
    refusals = []
    if aims:
        limits = [None] if request.budgets is None else limits
        if len(limits) > 1:
            refusals.append(Refusal("budgets", "must be one beside aims"))
        if request.disagreement is not None:
            refusals.append(Refusal("disagreement", "must be left out beside aims"))
    if refusals:
        raise RefusedError(refusals)
    early = None
    if request.disagreement is not None:
        early = StopRule(
            disagreement=request.disagreement, delta=request.delta, spend=request.spend
        )
    return EvaluateOrder(
        played=Conditions(
            # Each aim is played under the one budget.
            budgets=limits * len(aims) if aims else limits,
            policy=policy,
            seed=request.seed,
            aims=aims or None,
            spend=request.spend,
        ),
        table=TableSpec(
            stored.target, weight=request.weight, group_by=request.group_by
        ),
        threshold=request.threshold,
        aims=tuple(format_aim(aim) for aim in aims if aim is not None),
        early=early,
        has_lists=True,
        accept_unseen=request.accept_unseen,
    )


def check_policy_name(name: str | None, ensemble: Ensemble) -> str | None:
    """Check the name of a policy; None stands for the model's own."""
    return None if name is None else check_policy(name, ensemble, "policy")


def check_order_aim(
    wish: AimWish | None, ensemble: Ensemble, policy: str | None, where: str
) -> Aim | None:
    """Return a requested aim, checked against a model; None if none is requested."""
    if wish is None:
        return None
    return check_aim(wish.to(Aim), ensemble, policy, where)


def format_aim(aim: Aim) -> str:
    """Return an aim as the command line takes it."""
    if aim.wanted_error is not None:
        return f"wanted_error={aim.wanted_error:g}"
    amounts = {"mean_budget": aim.mean_budget, "error_price": aim.error_price}
    # An aim names exactly one of its parts.
    (text,) = (
        f"{name}={from_micros(value):g}"
        for name, value in amounts.items()
        if value is not None
    )
    return text
