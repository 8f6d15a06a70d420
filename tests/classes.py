"""Small trainings of several classes."""

from dataclasses import replace

from core.model.ensemble import Ensemble
from core.model.hypotheses import Stump
from core.table.catalogue import Catalogue, Feature
from core.training.params import BoostParams
from tests import strategies_classes as made

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
        replace(one, categories=tuple("abc") if one.type == "category" else ())
        for one in dataset.catalogue.features
    )
    return replace(dataset, catalogue=replace(dataset.catalogue, features=features))


# Forecasts.


def plain(n_classes=3, priors=None, **kwargs):
    """Three features, each with a stump for the class of its position."""
    return Ensemble(
        catalogue=Catalogue(tuple(Feature(f"f{i}", cost=1) for i in range(n_classes))),
        classes=made.classes_of(n_classes),
        hypotheses=tuple(
            Stump(i, 0.5, tuple(1 if c == i else -1 for c in range(n_classes)))
            for i in range(n_classes)
        ),
        alphas=(1.0,) * n_classes,
        priors=priors or (1 / n_classes,) * n_classes,
        algorithm="adaboost_bt",
        policy="ordered",
        **kwargs,
    )
