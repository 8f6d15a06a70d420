"""Which feature to ask next: one file per policy, and the table `POLICIES`."""

from core.session.policies import cascade, ordered, sample

POLICIES = {
    "ordered": ordered.find_next,
    "sample": sample.find_next,
    "cascade": cascade.find_next,
}

__all__ = ["POLICIES"]
