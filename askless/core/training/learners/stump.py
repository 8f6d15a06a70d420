"""The learner `stump`: one feature, one cut."""

from dataclasses import dataclass
from typing import ClassVar

from askless.core.training.learner import (
    Choice,
    Learner,
    RoundSearch,
    choose_candidate,
    make_stump,
)
from askless.core.training.shards.histograms import Candidates


@dataclass(frozen=True)
class StumpLearner(Learner):
    """Buys the stump of best score."""

    name: ClassVar[str] = "stump"

    def fit(self, search: RoundSearch, roots: Candidates) -> Choice | None:
        """Return the stump that the rule buys."""
        position, _ = choose_candidate(roots, search.scorer)
        if position < 0:
            return None
        stump = make_stump(search.weights.binned, roots, position)
        edge, present = roots.edges[position], roots.presents[position]
        return Choice(stump, float(edge), float(present), (int(roots.cuts[position]),))
