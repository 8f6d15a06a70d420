"""Test error on sets of several classes, beside scikit-learn's AdaBoost.

The same rows in training and test, the same rounds and the same learner; nothing is
tuned. Products have no peer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from benchmarks.bench.children import in_child
from benchmarks.bench.scale import SEED, Scale
from benchmarks.data import load
from core.arrays import FloatArray
from core.session.curves import evaluate
from core.table.binning import bin_values
from core.table.dataset import Dataset
from core.training.algorithms import make_ensemble
from core.training.boosting import boost, initial_weights
from core.training.params import BoostParams, LearnerName

SETS = ("vehicle", "glass", "splice", "led")
LEARNERS: tuple[LearnerName, ...] = ("stump", "tree", "product")
TEST_SHARE = 0.3
LEAVES, FACTORS = 8, 3
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Split:
    training: Dataset
    testing: Dataset
    seed: int


def measure_accuracy(scale: Scale) -> dict[str, Any]:
    result: dict[str, Any] = {
        "rounds": scale.error_rounds,
        "splits": scale.error_splits,
        "test_share": TEST_SHARE,
        "leaves": LEAVES,
        "factors": FACTORS,
        "sets": {},
    }
    for name in SETS:
        result["sets"][name] = in_child(run_set, name, scale)
    return result


def run_set(name: str, scale: Scale) -> dict[str, Any]:
    table = load(name, is_two_class=False)
    shuffle = StratifiedShuffleSplit(
        scale.error_splits, test_size=TEST_SHARE, random_state=SEED
    )
    splits = []
    for seed, (rows, others) in enumerate(shuffle.split(table.values, table.targets)):
        training = table.training(rows)
        splits.append(Split(training, table.testing(others, training), seed))
    result: dict[str, Any] = {
        "classes": len(table.classes),
        "features": table.n_features,
        "training_rows": splits[0].training.n_samples,
        "test_rows": splits[0].testing.n_samples,
        "learners": {},
    }
    ratio = result["test_rows"] / result["training_rows"]
    for learner in LEARNERS:
        ours = [our_error(split, learner, scale.error_rounds) for split in splits]
        entry: dict[str, Any] = {"askless": interval(ours, ratio)}
        if learner != "product":
            theirs = [
                peer_error(split, learner, scale.error_rounds) for split in splits
            ]
            entry["adaboost"] = interval(theirs, ratio)
            entry["difference"] = interval(np.subtract(ours, theirs), ratio)
        result["learners"][learner] = entry
        print(f"accuracy: {name}, {learner}", flush=True)
    return result


def our_error(split: Split, learner: LearnerName, rounds: int) -> float:
    training = split.training
    params = BoostParams(
        "adaboost", rounds=rounds, learner=learner, leaves=LEAVES, factors=FACTORS
    )
    made = boost(
        bin_values(training), initial_weights(training), training.catalogue, params
    )
    ensemble = make_ensemble(training, params, list(made))
    return 100 * evaluate(ensemble, split.testing, (None,)).errors[0]


def peer_error(split: Split, learner: LearnerName, rounds: int) -> float:
    size = {"max_depth": 1} if learner == "stump" else {"max_leaf_nodes": LEAVES}
    model = AdaBoostClassifier(
        DecisionTreeClassifier(**size), n_estimators=rounds, random_state=split.seed
    )
    training, testing = one_hot(split.training, split.testing)
    model.fit(training, split.training.targets)
    is_wrong = model.predict(testing) != split.testing.targets
    return 100 * float(is_wrong.mean())


def one_hot(training: Dataset, testing: Dataset) -> tuple[FloatArray, FloatArray]:
    """Categories as one column each of 0 and 1, those seen in training."""
    features = training.catalogue.features
    is_category = np.array([one.type == "category" for one in features])
    if not is_category.any():
        return training.values, testing.values
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder.fit(training.values[:, is_category])
    both = [
        np.hstack(
            [
                rows.values[:, ~is_category],
                encoder.transform(rows.values[:, is_category]),
            ]
        )
        for rows in (training, testing)
    ]
    return both[0], both[1]


def interval(figures: Sequence[float] | FloatArray, ratio: float) -> dict[str, float]:
    """Mean over the splits, and half the width of its 95 % interval.

    Student's t, the variance enlarged for splits that share rows (Nadeau and Bengio
    2003): 1/n becomes 1/n + test rows/training rows.
    """
    values = np.asarray(figures)
    scale = values.std(ddof=1) * np.sqrt(1 / values.size + ratio)
    quantile = stats.t.ppf((1 + CONFIDENCE) / 2, values.size - 1)
    return {
        "mean": round(float(values.mean()), 2),
        "half_width": round(float(quantile * scale), 2),
    }
