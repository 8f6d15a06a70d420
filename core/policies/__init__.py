"""Which feature to ask next: one file per policy, and the table `POLICIES`."""

from core.policies import cascade, ordered, sampled

POLICIES = {
    "ordered": ordered.find_next,
    "sample": sampled.find_next,
    "cascade": cascade.find_next,
}

__all__ = ["POLICIES"]
