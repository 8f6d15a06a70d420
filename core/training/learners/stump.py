"""The stump that the rule buys."""

from core.model.hypotheses import Stump
from core.table.binning import Binned
from core.training.feature_sampling import FeatureSampling
from core.training.histograms import Candidates
from core.training.learners.choice import Found, Scorer, choose
from core.training.params import BoostParams
from core.training.weights import Weights


def find_stump(
    weights: Weights,
    roots: Candidates,
    sampling: FeatureSampling,
    scorer: Scorer,
    params: BoostParams,
) -> Found | None:
    """Return the stump that the rule buys; None where there is none."""
    del sampling, params
    position, _ = choose(roots, scorer)
    if position < 0:
        return None
    return Found(
        make_stump(weights.binned, roots, position),
        float(roots.edges[position]),
        float(roots.presents[position]),
        (int(roots.cuts[position]),),
    )


def make_stump(binned: Binned, candidates: Candidates, position: int) -> Stump:
    """Return a candidate in the units of its feature, with its best votes."""
    feature_idx = int(candidates.feature_idxs[position])
    return Stump(
        feature_idx=feature_idx,
        cut=float(binned.cuts[feature_idx][candidates.cuts[position]]),
        votes=tuple(candidates.votes[position].tolist()),
        is_category=bool(binned.is_category[feature_idx]),
    )
