"""A learner that is no part of the program: what its two classes must say."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from askless.core.model.hypotheses import Hypothesis, Stump
from askless.core.training.learner import Choice, Learner, choose_candidate, make_stump


@dataclass(frozen=True, slots=True)
class Agreement(Hypothesis):
    """Two stumps: it votes what both say, and abstains where they differ."""

    stumps: tuple[Stump, Stump] = field()

    def write_nodes(self, paths) -> None:
        first, second = self.stumps
        if first.votes == second.votes:
            end = paths.add_votes(first.votes)
            targets = (~end, ~0), (~0, ~(end + 1))
        else:
            end = paths.add_votes(first.votes)
            targets = (~0, ~end), (~(end + 1), ~0)
        root = len(paths.nodes)
        first.write_node(paths, (root + 1, root + 2), 0)
        for pair in targets:
            second.write_node(paths, pair, 0)

    def votes_on(self, binned, codes):
        one, other = (
            stump.votes_on(binned, (code,))
            for stump, code in zip(self.stumps, codes, strict=True)
        )
        return np.where(one == other, one, np.int8(0))


@dataclass(frozen=True)
class AgreementLearner(Learner):
    """Joins the two best stumps; of two classes, and of tables without gaps.

    Then h = (h1 + h2) / 2, and so is its edge.
    """

    name: ClassVar[str] = "agreement"

    def fit(self, search, roots) -> Choice | None:
        best, _ = choose_candidate(roots, search.scorer)
        if best < 0:
            return None
        edges = roots.edges.copy()
        edges[best] = -1.0
        both = best, int(edges.argmax())
        stumps = tuple(make_stump(search.weights.binned, roots, one) for one in both)
        codes = tuple(int(roots.cuts[one]) for one in both)
        edge = float(roots.edges[list(both)].mean())
        return Choice(Agreement(stumps), edge, 1.0, codes)
