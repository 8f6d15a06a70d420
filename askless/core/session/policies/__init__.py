"""List the policies, which choose the next feature: one file each, and `POLICIES`."""

from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.session.policies.adaptive import Adaptive
from askless.core.session.policies.cascade import CascadePolicy
from askless.core.session.policies.ordered import Ordered
from askless.core.session.policies.panels import PanelPolicy
from askless.core.session.policies.sample import Sample
from askless.core.session.policies.sample_reyzin import ReyzinSample
from askless.core.session.policies.worth import WorthPolicy
from askless.core.session.policy import Policy
from askless.core.session.spending import compute_limit
from askless.core.session.state import Aim, Spend

POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Ordered(),
        Sample(),
        ReyzinSample(),
        CascadePolicy(),
        PanelPolicy(),
        Adaptive(),
        WorthPolicy(),
    )
}


def list_serving_policies(ensemble: Ensemble) -> list[str]:
    """Return the policies that sessions of an ensemble may ask by."""
    return [name for name, policy in POLICIES.items() if policy.serves(ensemble)]


def check_policy(name: str, ensemble: Ensemble, where: str) -> str:
    """Return the policy's name; raise `RefusedError` if it can't serve the ensemble.

    `where` names the field in the refusal.
    """
    policies = list_serving_policies(ensemble)
    if name in policies:
        return name
    rule = f"must be one of {', '.join(policies)} for this model"
    raise RefusedError([Refusal(where, rule, repr(name))])


def default_policy(
    ensemble: Ensemble, budget: int | None, aim: Aim | None, spend: Spend = "worthwhile"
) -> str:
    """Return the policy to use where the caller names none.

    With an aim it is the first policy that takes aims; without one, or where no policy
    does, the policy preferred at what is spent of the budget.
    """
    if aim is not None:
        for name in list_serving_policies(ensemble):
            if POLICIES[name].look_ahead(ensemble, None) is not None:
                return name
    return ensemble.policy_at(compute_limit(ensemble, budget, aim, spend))
