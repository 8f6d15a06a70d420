"""Which feature to ask next: one file per policy, and the table `POLICIES`."""

from core.model.ensemble import Ensemble
from core.session.policies.cascade import Staged
from core.session.policies.ordered import Ordered
from core.session.policies.sample import Sample
from core.session.policy import Policy

POLICIES: dict[str, Policy] = {
    policy.name: policy for policy in (Ordered(), Sample(), Staged())
}


def served_by(ensemble: Ensemble) -> list[str]:
    """Return the policies that sessions of an ensemble may ask by."""
    return [name for name, policy in POLICIES.items() if policy.serves(ensemble)]


__all__ = ["POLICIES", "served_by"]
