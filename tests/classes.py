"""Small trainings of several classes."""

from dataclasses import replace

import numpy as np

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.model.hypotheses import Stump
from askless.core.training.params import BoostParams
from tests.small import ensemble_of

LEARNERS = ("stump", "tree", "product")


def params_of(learner="stump", rounds=8, **kwargs):
    return BoostParams(
        algorithm=kwargs.pop("algorithm", "adaboost_bt"),
        rounds=rounds,
        learner=learner,
        leaves=4,
        factors=2,
        **kwargs,
    )


def in_alphabet(dataset):
    """The dataset with the names of its three categories."""
    features = tuple(
        replace(feature, categories=tuple("abc") if feature.type == "category" else ())
        for feature in dataset.catalogue.features
    )
    return replace(dataset, catalogue=replace(dataset.catalogue, features=features))


def plain(n_classes=3, **fields):
    """Each feature, of cost 1 (micro-unit), has a stump for the class of its place."""
    features = (Feature(f"f{i}", cost=1) for i in range(n_classes))
    votes = 2 * np.eye(n_classes, dtype=int) - 1
    stumps = [Stump(i, 0.5, tuple(vote)) for i, vote in enumerate(votes.tolist())]
    return ensemble_of(stumps, Catalogue(tuple(features)), n_classes, **fields)
