"""Every algorithm that trains an ensemble, with the policy that asks for it."""

from __future__ import annotations

from core.baselines import BASELINES
from core.rules import RULES
from core.types import PolicyName

ALGORITHMS: dict[str, PolicyName] = {
    **{name: rule.policy for name, rule in RULES.items()},
    "cascade": "cascade",
    **{name: baseline.policy for name, baseline in BASELINES.items()},
}
